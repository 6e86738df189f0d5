import assert from 'node:assert/strict';
import { rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { readProcesses, withDescendants } from '../../host/processes.ts';
import type { MachineShape } from '../command.ts';
import { findImage } from '../image.ts';
import { copyImage, imagesDir, newDataDir } from '../../../testing/microvm.ts';
import { bootOnce } from './check.ts';

/** The probe runs as it does with KVM, but on an accelerator that works everywhere. */
describe('a probe of the accelerator', () => {
  const folder = newDataDir();
  after(() => rmSync(folder, { recursive: true }));
  const shapeOf = async (images: string): Promise<MachineShape> => {
    const image = await findImage(images);
    return { qemuPath: '/usr/bin/qemu-system-x86_64', image, accelerator: 'tcg', memoryMb: 256, cpus: 1, kvmGroup: null };
  };
  const leavesNothing = async (work: () => Promise<void>): Promise<void> => {
    const count = (): number => withDescendants(new Set([process.pid]), readProcesses()).length;
    const before = count();
    await work();
    assert.equal(count(), before);
  };

  it('a probe of the accelerator succeeds when the init of a guest has printed its word', async () => {
    await leavesNothing(async () => assert.equal(await bootOnce(await shapeOf(imagesDir), 60_000), null));
  });

  it('a probe of the accelerator reports a guest that does not start in time', async () => {
    await leavesNothing(async () =>
      assert.match((await bootOnce(await shapeOf(imagesDir), 300)) ?? '', /a guest had not started after 0[.]3 s/),
    );
  });

  it('a probe of the accelerator reports the output of a QEMU that does not start at all', async () => {
    const spoilt = copyImage(folder);
    const kernel = join(spoilt.folder, 'kernel');
    const { size } = statSync(kernel);
    unlinkSync(kernel);
    writeFileSync(kernel, Buffer.alloc(size), { mode: 0o644 });
    await leavesNothing(async () =>
      assert.match((await bootOnce(await shapeOf(spoilt.imagesDir), 10_000)) ?? '', /QEMU ended at once: .*kernel/),
    );
  });
});

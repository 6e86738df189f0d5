import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { guestProtocol } from '@berth/contract/guest';
import { ImageUnusableError, findImage } from './image.ts';

const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
const digest = 'a'.repeat(64);

function manifest(overrides: object = {}): object {
  return {
    id: 'one',
    protocol: guestProtocol,
    architecture,
    created_at: '2026-11-21T00:00:00.000Z',
    kernel_version: '6.1.0',
    chromium_version: '156.0',
    node_version: '24.0.0',
    packages: 200,
    bytes: { unpacked: 900, kernel: 10, initramfs: 20, root: 30, agent: 40 },
    sha256: { kernel: digest, initramfs: digest, root: digest, agent: digest },
    ...overrides,
  };
}

/** A folder of images with one in it, as the builder leaves it. */
function imagesWith(t: TestContext, content: object | string = manifest()): { imagesDir: string; folder: string } {
  const imagesDir = mkdtempSync(join(tmpdir(), 'images-'));
  t.after(() => rmSync(imagesDir, { recursive: true }));
  const folder = join(imagesDir, 'one');
  mkdirSync(folder);
  for (const [name, size] of Object.entries({ kernel: 10, initramfs: 20, 'root.erofs': 30, 'agent.erofs': 40 })) {
    writeFileSync(join(folder, name), Buffer.alloc(size));
    chmodSync(join(folder, name), 0o644);
  }
  writeFileSync(join(folder, 'image.json'), typeof content === 'string' ? content : JSON.stringify(content));
  symlinkSync('one', join(imagesDir, 'current'));
  return { imagesDir, folder };
}

const refusal = (says: RegExp) => (error: unknown) =>
  error instanceof ImageUnusableError && says.test(error.message) && error.message.endsWith('npm run image');

test('the image that `current` leads to is found', async (t) => {
  const { imagesDir, folder } = imagesWith(t);
  const image = await findImage(imagesDir);
  assert.deepEqual([image.id, image.folder, image.chromiumVersion, image.paths.root], ['one', folder, '156.0', join(folder, 'root.erofs')]);
});

test('a missing image is refused with how to build one', async (t) => {
  const { imagesDir } = imagesWith(t);
  await assert.rejects(findImage(join(imagesDir, 'nowhere')), refusal(/There is no image for virtual machines/));
});

test('an image with an invalid description is refused', async (t) => {
  await assert.rejects(findImage(imagesWith(t, 'half of a').imagesDir), refusal(/image[.]json is not one/));
  await assert.rejects(findImage(imagesWith(t, manifest({ bytes: { kernel: '10' } })).imagesDir), refusal(/image[.]json is not one/));
  await assert.rejects(findImage(imagesWith(t, manifest({ id: 'two' })).imagesDir), refusal(/it calls itself two/));
});

test('an image whose agent speaks another protocol, or that is for other processors, is refused', async (t) => {
  await assert.rejects(findImage(imagesWith(t, manifest({ protocol: guestProtocol + 1 })).imagesDir), refusal(/version 2 of the protocol/));
  await assert.rejects(findImage(imagesWith(t, manifest({ architecture: 'riscv64' })).imagesDir), refusal(/it is for riscv64/));
});

test('an image of which something is missing, cut off or closed to the machines is refused', async (t) => {
  const missing = imagesWith(t);
  rmSync(join(missing.folder, 'agent.erofs'));
  await assert.rejects(findImage(missing.imagesDir), refusal(/agent[.]erofs is missing/));
  const cutOff = imagesWith(t);
  truncateSync(join(cutOff.folder, 'root.erofs'), 29);
  await assert.rejects(findImage(cutOff.imagesDir), refusal(/root[.]erofs has 29 bytes instead of 30/));
  const closed = imagesWith(t);
  chmodSync(join(closed.folder, 'kernel'), 0o600);
  await assert.rejects(findImage(closed.imagesDir), refusal(/kernel can be read by its owner only/));
});

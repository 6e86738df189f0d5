import assert from 'node:assert/strict';
import { openSync, readFileSync, readdirSync, rmSync, writeSync, closeSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CdpClient, bootSignal, newVmSpec } from '../../../testing/runtime-suite.ts';
import type { Runtime } from '../../runtime.ts';
import { copyImage, firstBootMsMax, newDataDir, optionsFor, residueOf } from '../../../testing/microvm.ts';
import { createQemuRuntime, prepareTemplates } from '../qemu.ts';
import { createMemory, sealBytes } from './sealed-memory.ts';
import { TemplateStore } from './store.ts';
import { closeTemplate, type TemplateInfo } from './template.ts';
import { nightly } from '../../../../../tests/nightly.ts';

/** A template takes a minute and more to build under emulation. Which of them are used is proven by `templates.test.ts` and `store.test.ts`. */
describe('a template', nightly, () => {
  const dataDir = newDataDir();
  before(() => prepareTemplates(optionsFor(dataDir)));
  after(() => rmSync(dataDir, { recursive: true }));

  /** A runtime of its own image and templates, to be spoilt before. */
  const spoilt = async (spoil: (templates: string, info: TemplateInfo) => Promise<void> | void): Promise<Runtime> => {
    const { imagesDir, folder } = copyImage(dataDir);
    const templates = join(folder, 'templates');
    for (const key of readdirSync(templates)) {
      const { info } = JSON.parse(readFileSync(join(templates, key, 'template.json'), 'utf8')) as { info: TemplateInfo };
      if (info.kind === 'headless') await spoil(templates, info);
    }
    return createQemuRuntime(optionsFor(dataDir, { imagesDir }));
  };
  const stateOf = (runtime: Runtime) => runtime.templates().find(({ kind }) => kind === 'headless');
  const answers = async (runtime: Runtime): Promise<void> => {
    const spec = newVmSpec();
    const vm = await runtime.boot(spec, { signal: bootSignal(firstBootMsMax) });
    assert.match(String((await new CdpClient(vm.cdp).call('Browser.getVersion')).product), /Chrome\/\d+/);
    await vm.destroy();
    assert.deepEqual(residueOf(dataDir, spec.id), []);
  };

  it('a template that is damaged on disk is never cloned: a new one is built and reported', async () => {
    const runtime = await spoilt((templates, info) => flipByteOfMemory(templates, info));
    const notes = new Set<string>();
    const watch = setInterval(() => notes.add(stateOf(runtime)?.note ?? ''), 5);
    await answers(runtime);
    clearInterval(watch);
    assert.ok(
      [...notes].some((note) => /cannot be used: its memory is damaged; a template is being made/.test(note)),
      [...notes].join('\n'),
    );
    assert.deepEqual(stateOf(runtime), { kind: 'headless', method: 'clone', failures: 0, note: null });
    await runtime.close();
  });

  it('a template whose clones fail three times in a row is discarded: machines boot cold, with a warning', async () => {
    let templatesFolder = '';
    const runtime = await spoilt(async (templates, info) => {
      const memory = await createMemory(1024 ** 3);
      const broken = { info, memory: await memory.seal(), state: await sealBytes(Buffer.from('no state of any machine')) };
      await new TemplateStore(templates).save(broken, new Date());
      await closeTemplate(broken);
      templatesFolder = templates;
    });
    const saved = readdirSync(templatesFolder).length;
    await answers(runtime);
    const state = stateOf(runtime);
    assert.deepEqual([state?.method, state?.failures], ['cold', 3]);
    assert.match(
      runtime.warnings.join('\n'),
      /kind headless take longer to start: machines are booted without a template: its clones failed/,
    );
    assert.ok(existsSync(templatesFolder) && readdirSync(templatesFolder).length < saved);
    await runtime.close();
  });
});

function flipByteOfMemory(templates: string, { kind }: TemplateInfo): void {
  for (const key of readdirSync(templates)) {
    const description = JSON.parse(readFileSync(join(templates, key, 'template.json'), 'utf8')) as {
      info: TemplateInfo;
      memory: { extents: [number, number][] };
    };
    if (description.info.kind !== kind) continue;
    const file = openSync(join(templates, key, 'memory'), 'r+');
    writeSync(file, 'x', description.memory.extents.at(-1)?.[0] ?? 0);
    closeSync(file);
  }
}

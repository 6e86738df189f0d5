import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  mkdirSync,
  openSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createMemory, sealBytes } from './sealed-memory.ts';
import { TemplateStore, TemplateUnusableError } from './store.ts';
import { closeTemplate, templateKey, type Template, type TemplateInfo } from './template.ts';

const bytes = 64 * 1024 ** 2;
const info: TemplateInfo = { kind: 'headless', image: 'one', chromium: '156.0', qemu: 'QEMU 7.2.22', machine: 'q35', processor: null };
const now = new Date('2026-11-21T00:00:00.000Z');

/** Mostly zeros, with something at the start, at odd places, and at the very end. */
const filled: [number, number][] = [
  [0, 100],
  [70_000, 1],
  [5_000_000, 9_000_000],
  [bytes - 3, 3],
];

async function makeTemplate(of: TemplateInfo = info): Promise<Template> {
  const memory = await createMemory(bytes);
  for (const [position, length] of filled) {
    const content = randomFillSync(Buffer.alloc(length));
    // What is not a zero is stored, whatever the rest is.
    content[0] = 1;
    await memory.handle.write(content, 0, length, position);
  }
  return { info: of, memory: await memory.seal(), state: await sealBytes(Buffer.from('the state of some devices')) };
}

async function contentOf({ memory, state }: Template): Promise<Buffer[]> {
  const files = await Promise.all([memory.openAgain(), state.openAgain()]);
  const contents = await Promise.all(files.map((file) => file.readFile()));
  await Promise.all(files.map((file) => file.close()));
  return contents;
}

/** A store with one template in it, and the folder of that. */
async function storeWithOne(t: TestContext): Promise<{ store: TemplateStore; folder: string; templateFolder: string; content: Buffer[] }> {
  const folder = join(mkdtempSync(join(tmpdir(), 'templates-')), 'templates');
  t.after(() => rmSync(join(folder, '..'), { recursive: true }));
  const store = new TemplateStore(folder);
  const template = await makeTemplate();
  await store.save(template, now);
  const content = await contentOf(template);
  await closeTemplate(template);
  return { store, folder, templateFolder: join(folder, templateKey(info)), content };
}

test('a loaded template is to the byte what was saved, and sealed', async (t) => {
  const { store, content } = await storeWithOne(t);
  const loaded = await store.load(info, bytes);
  assert.ok(loaded);
  assert.deepEqual(await contentOf(loaded), content);
  await assert.rejects(loaded.memory.handle.write('x', 0), { code: 'EPERM' });
  await assert.rejects(loaded.state.handle.write('x', 0), { code: 'EPERM' });
  await closeTemplate(loaded);
});

test('zeros of a template take no disk and, once loaded, no memory', async (t) => {
  const { store, templateFolder } = await storeWithOne(t);
  assert.equal(statSync(join(templateFolder, 'memory')).size, bytes);
  assert.ok(statSync(join(templateFolder, 'memory')).blocks * 512 < 10_000_000);
  const loaded = await store.load(info, bytes);
  assert.ok(loaded);
  assert.ok((await loaded.memory.handle.stat()).blocks * 512 < 24_000_000);
  await closeTemplate(loaded);
});

test('loading a template that was never saved returns none', async (t) => {
  const { store } = await storeWithOne(t);
  assert.equal(await store.load({ ...info, kind: 'full_browser' }, bytes), undefined);
  assert.equal(await new TemplateStore('/nowhere').load(info, bytes), undefined);
});

test('a template that is damaged anywhere is not loaded', async (t) => {
  const damages: [RegExp, (templateFolder: string) => void][] = [
    [/memory is damaged/, (templateFolder) => flipByte(join(templateFolder, 'memory'), 6_000_000)],
    [/memory is damaged/, (templateFolder) => flipByte(join(templateFolder, 'memory'), bytes - 1)],
    [/state is damaged/, (templateFolder) => flipByte(join(templateFolder, 'state'), 3)],
    [/has 5 bytes instead of 25/, (templateFolder) => truncateSync(join(templateFolder, 'state'), 5)],
    [/bytes instead of/, (templateFolder) => truncateSync(join(templateFolder, 'memory'), bytes / 2)],
    [/a file of it is missing/, (templateFolder) => rmSync(join(templateFolder, 'memory'))],
    [/template[.]json is not one/, (templateFolder) => rmSync(join(templateFolder, 'template.json'))],
    [/template[.]json is not one/, (templateFolder) => truncateSync(join(templateFolder, 'template.json'), 100)],
    [/memory is damaged/, (templateFolder) => edit(templateFolder, (text) => text.replace('[[0,131072]', '[[65536,65536]'))],
    [/beyond its memory/, (templateFolder) => edit(templateFolder, (text) => text.replace('[[0,131072]', `[[0,${bytes * 2}]`))],
  ];
  for (const [says, damage] of damages) {
    const { store, templateFolder } = await storeWithOne(t);
    damage(templateFolder);
    await assert.rejects(store.load(info, bytes), (error) => error instanceof TemplateUnusableError && says.test(error.message));
  }
});

test('a template of another browser, or of another size, is not loaded', async (t) => {
  const { store, templateFolder } = await storeWithOne(t);
  edit(templateFolder, (text) => text.replace('156.0', '155.0'));
  await assert.rejects(
    store.load(info, bytes),
    (error) => error instanceof TemplateUnusableError && /chromium 155[.]0 instead of 156[.]0/.test(error.message),
  );
  edit(templateFolder, (text) => text.replace('155.0', '156.0'));
  await assert.rejects(store.load(info, bytes * 2), TemplateUnusableError);
});

test('a template takes the place of a damaged one', async (t) => {
  const { store, templateFolder, folder } = await storeWithOne(t);
  truncateSync(join(templateFolder, 'memory'), 1);
  const template = await makeTemplate();
  await store.save(template, now);
  const loaded = await store.load(info, bytes);
  assert.ok(loaded);
  assert.deepEqual(await contentOf(loaded), await contentOf(template));
  assert.deepEqual(readdirSync(folder), [templateKey(info)]);
  await closeTemplate(template);
  await closeTemplate(loaded);
});

test('old templates are removed as new ones come, and so is what a worker left half written', async (t) => {
  const { store, folder } = await storeWithOne(t);
  mkdirSync(join(folder, 'left.new'));
  utimesSync(join(folder, 'left.new'), 0, 0);
  mkdirSync(join(folder, 'young.new'));
  utimesSync(join(folder, 'young.new'), now, now);
  for (const machine of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    const template = await makeTemplate({ ...info, machine });
    await store.save(template, now);
    await closeTemplate(template);
  }
  const left = readdirSync(folder);
  assert.equal(left.length, 7);
  assert.ok(left.includes('young.new') && !left.includes('left.new'));
  assert.ok(left.includes(templateKey({ ...info, machine: 'g' })) && !left.includes(templateKey(info)));
});

function flipByte(path: string, position: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.from([(readFileSync(path)[position] ?? 0) ^ 1]), 0, 1, position);
  closeSync(file);
}

function edit(templateFolder: string, change: (text: string) => string): void {
  const path = join(templateFolder, 'template.json');
  const text = readFileSync(path, 'utf8');
  assert.notEqual(change(text), text);
  writeFileSync(path, change(text));
}

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { createMemory, sealBytes } from './sealed-memory.ts';
import { TemplateStore } from './store.ts';
import { templateKey, type Template, type TemplateInfo, type TemplateKind } from './template.ts';
import { Templates } from './templates.ts';

const memoryBytes = 1024 ** 2;
const noSignal = new AbortController().signal;
const infoOf = (kind: TemplateKind): TemplateInfo => ({
  kind,
  image: 'one',
  chromium: '156.0',
  qemu: 'QEMU',
  machine: 'q35',
  processor: null,
});

async function makeTemplate(info: TemplateInfo): Promise<Template> {
  const memory = await createMemory(memoryBytes);
  return { info, memory: await memory.seal(), state: await sealBytes(Buffer.from('state')) };
}

interface TemplatesUnderTest {
  templates: Templates;
  /** Kinds, in the order in which builds of them began. */
  builds: TemplateKind[];
  /** What builds do from now on, instead of making a template at once. */
  buildBy: (build: (info: TemplateInfo, options: { signal: AbortSignal }) => Promise<Template>) => void;
  folder: string;
  clock: ManualClock;
}

function openTemplates(t: TestContext, folder = mkdtempSync(join(tmpdir(), 'templates-'))): TemplatesUnderTest {
  let build: (info: TemplateInfo, options: { signal: AbortSignal }) => Promise<Template> = makeTemplate;
  const builds: TemplateKind[] = [];
  const clock = new ManualClock();
  const templates = new Templates({
    memoryBytes,
    info: infoOf,
    build: (info, options) => (builds.push(info.kind), build(info, options)),
    buildMsMax: 10_000,
    store: new TemplateStore(folder),
    clock,
    log: silentLog,
  });
  t.after(async () => {
    await templates.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { templates, builds, folder, clock, buildBy: (next) => (build = next) };
}

const leaseHeadless = (templates: Templates) => templates.lease('headless', noSignal);
const stateOf = (templates: Templates, kind: TemplateKind) => templates.states().find((state) => state.kind === kind);

/** Opens the breaker as three clones that fail in a row do. */
async function failThrice(templates: Templates): Promise<void> {
  for (let clone = 0; clone < 3; clone += 1) (await leaseHeadless(templates))?.failed();
}

test('a template is built once per kind, for all callers', async (t) => {
  const { templates, builds } = openTemplates(t);
  const leases = await Promise.all([leaseHeadless(templates), leaseHeadless(templates), templates.lease('shell', noSignal)]);
  assert.deepEqual(builds, ['headless']);
  assert.equal(new Set(leases.map((lease) => lease?.template)).size, 1);
  const headed = await templates.lease('full_browser', noSignal);
  assert.deepEqual(builds, ['headless', 'full_browser']);
  assert.notEqual(headed?.template, leases[0]?.template);
  for (const lease of [...leases, headed]) lease?.worked();
});

test('a template that this start has built is loaded by the next start', async (t) => {
  const first = openTemplates(t);
  await first.templates.prepareAll();
  assert.deepEqual(first.builds, ['headless', 'full_browser']);
  const second = openTemplates(t, first.folder);
  await second.templates.prepareAll();
  assert.deepEqual(second.builds, []);
  (await leaseHeadless(second.templates))?.worked();
});

test('a damaged template is not leased: a new one is built, reported and saved', async (t) => {
  const first = openTemplates(t);
  await first.templates.prepareAll();
  truncateSync(join(first.folder, templateKey(infoOf('headless')), 'memory'), 5);
  const second = openTemplates(t, first.folder);
  let note: string | null | undefined;
  second.buildBy((info) => ((note = stateOf(second.templates, 'headless')?.note), makeTemplate(info)));
  (await leaseHeadless(second.templates))?.worked();
  assert.match(note ?? '', /the template on disk cannot be used: .*bytes.*; a template is being made/);
  assert.equal(stateOf(second.templates, 'headless')?.note, null);
  const third = openTemplates(t, first.folder);
  await third.templates.prepareAll();
  assert.deepEqual(third.builds, []);
});

test('a caller that waits for a template can abort', async (t) => {
  const { templates, buildBy } = openTemplates(t);
  buildBy((_info, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))));
  const abort = new AbortController();
  const waiting = templates.lease('headless', abort.signal);
  const reason = new Error('called off');
  abort.abort(reason);
  await assert.rejects(waiting, reason);
  assert.equal(stateOf(templates, 'headless')?.note, 'a template is being made');
});

test('a failed template build is retried once, and machines then boot cold', async (t) => {
  const { templates, builds, buildBy } = openTemplates(t);
  buildBy(() => Promise.reject(new Error('the guest panics')));
  assert.equal(await leaseHeadless(templates), null);
  assert.deepEqual(builds, ['headless', 'headless']);
  assert.equal(stateOf(templates, 'headless')?.method, 'cold');
  assert.match(stateOf(templates, 'headless')?.note ?? '', /no template could be made/);
});

test('two failed clones change nothing, a third opens the circuit breaker and discards the template', async (t) => {
  const { templates, builds, folder } = openTemplates(t);
  for (let clone = 0; clone < 2; clone += 1) (await leaseHeadless(templates))?.failed();
  assert.equal(stateOf(templates, 'headless')?.method, 'clone');
  assert.equal(stateOf(templates, 'headless')?.failures, 2);
  (await leaseHeadless(templates))?.failed();
  assert.deepEqual(stateOf(templates, 'headless'), {
    kind: 'headless',
    method: 'cold',
    failures: 3,
    note: 'machines are booted without a template: its clones failed',
  });
  assert.equal(await leaseHeadless(templates), null);
  assert.equal(stateOf(templates, 'full_browser')?.method, 'clone');
  while (readdirSync(folder).length > 0) await new Promise(setImmediate);
  assert.deepEqual(builds, ['headless']);
});

test('a new template is built after a pause, verified by one clone at a time, and used after the first success', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { templates, builds } = openTemplates(t);
  await failThrice(templates);
  t.mock.timers.tick(30_000);
  await templates.settled();
  assert.deepEqual(builds, ['headless', 'headless']);
  assert.equal(stateOf(templates, 'headless')?.method, 'cold');
  const trial = await leaseHeadless(templates);
  assert.ok(trial);
  assert.equal(await leaseHeadless(templates), null);
  trial.worked();
  assert.deepEqual(stateOf(templates, 'headless'), { kind: 'headless', method: 'clone', failures: 0, note: null });
  const [one, two] = await Promise.all([leaseHeadless(templates), leaseHeadless(templates)]);
  one?.worked();
  two?.worked();
});

test('a new template is discarded when its first clone fails', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { templates, builds } = openTemplates(t);
  await failThrice(templates);
  t.mock.timers.tick(30_000);
  await templates.settled();
  (await leaseHeadless(templates))?.failed();
  assert.equal(await leaseHeadless(templates), null);
  assert.equal(stateOf(templates, 'headless')?.failures, 4);
  t.mock.timers.tick(59_000);
  await templates.settled();
  assert.equal(builds.length, 2);
  t.mock.timers.tick(1000);
  await templates.settled();
  assert.equal(builds.length, 3);
});

test('a clone of a discarded template does not affect its successor', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { templates } = openTemplates(t);
  const late = await Promise.all([leaseHeadless(templates), leaseHeadless(templates), leaseHeadless(templates)]);
  await failThrice(templates);
  t.mock.timers.tick(30_000);
  await templates.settled();
  for (const lease of late) lease?.failed();
  assert.equal(stateOf(templates, 'headless')?.failures, 3);
  assert.ok(await leaseHeadless(templates));
});

test('a template is closed after its last lease', async (t) => {
  const { templates } = openTemplates(t);
  const lease = await leaseHeadless(templates);
  await failThrice(templates);
  assert.ok((lease?.template.memory.handle.fd ?? -1) > 0);
  lease?.release();
  while ((lease?.template.memory.handle.fd ?? -1) > 0) await new Promise(setImmediate);
});

test('a template build is aborted when the service stops', async (t) => {
  const { templates, buildBy } = openTemplates(t);
  buildBy((_info, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))));
  const making = templates.prepareAll();
  await new Promise(setImmediate);
  await templates.close();
  await making;
});

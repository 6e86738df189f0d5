import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ManualClock } from '../../../lib/clock.ts';
import { silentLog } from '../../../lib/log.ts';
import { createMemory, sealBytes } from './sealed-memory.ts';
import { TemplateStore } from './store.ts';
import { templateKey } from './template.ts';
import type { Template, TemplateFacts, TemplateKind } from './template.ts';
import { Templates } from './templates.ts';

const memoryBytes = 1024 ** 2;
const noSignal = new AbortController().signal;
const factsOf = (kind: TemplateKind): TemplateFacts => ({
  kind,
  image: 'one',
  chromium: '156.0',
  qemu: 'QEMU',
  machine: 'q35',
  processor: null,
});

async function makeTemplate(facts: TemplateFacts): Promise<Template> {
  const memory = await createMemory(memoryBytes);
  return { facts, memory: await memory.seal(), state: await sealBytes(Buffer.from('state')) };
}

interface Shop {
  templates: Templates;
  /** Kinds, in the order in which builds of them began. */
  builds: TemplateKind[];
  /** What builds do from now on, instead of making a template at once. */
  buildBy: (build: (facts: TemplateFacts, options: { signal: AbortSignal }) => Promise<Template>) => void;
  folder: string;
  clock: ManualClock;
}

function openShop(t: TestContext, folder = mkdtempSync(join(tmpdir(), 'templates-'))): Shop {
  let build: (facts: TemplateFacts, options: { signal: AbortSignal }) => Promise<Template> = makeTemplate;
  const builds: TemplateKind[] = [];
  const clock = new ManualClock();
  const templates = new Templates({
    memoryBytes,
    facts: factsOf,
    build: (facts, options) => (builds.push(facts.kind), build(facts, options)),
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

const lend = (templates: Templates) => templates.lend('headless', noSignal);
const stateOf = (templates: Templates, kind: TemplateKind) => templates.states().find((state) => state.kind === kind);

/** Opens the breaker as three clones that fail in a row do. */
async function failThrice(templates: Templates): Promise<void> {
  for (let clone = 0; clone < 3; clone += 1) (await lend(templates))?.failed();
}

test('a template is built once for all who ask, and for each kind of its own', async (t) => {
  const { templates, builds } = openShop(t);
  const loans = await Promise.all([lend(templates), lend(templates), templates.lend('shell', noSignal)]);
  assert.deepEqual(builds, ['headless']);
  assert.equal(new Set(loans.map((loan) => loan?.template)).size, 1);
  const headed = await templates.lend('full_browser', noSignal);
  assert.deepEqual(builds, ['headless', 'full_browser']);
  assert.notEqual(headed?.template, loans[0]?.template);
  for (const loan of [...loans, headed]) loan?.worked();
});

test('the next start loads what this one has built', async (t) => {
  const first = openShop(t);
  await first.templates.makeAhead();
  assert.deepEqual(first.builds, ['headless', 'full_browser']);
  const second = openShop(t, first.folder);
  await second.templates.makeAhead();
  assert.deepEqual(second.builds, []);
  (await lend(second.templates))?.worked();
});

test('a damaged template is not lent: a new one is built, said, and kept', async (t) => {
  const first = openShop(t);
  await first.templates.makeAhead();
  truncateSync(join(first.folder, templateKey(factsOf('headless')), 'memory'), 5);
  const second = openShop(t, first.folder);
  let note: string | null | undefined;
  second.buildBy((facts) => ((note = stateOf(second.templates, 'headless')?.note), makeTemplate(facts)));
  (await lend(second.templates))?.worked();
  assert.match(note ?? '', /the template on disk cannot be used: .*bytes.*; a template is being made/);
  assert.equal(stateOf(second.templates, 'headless')?.note, null);
  const third = openShop(t, first.folder);
  await third.templates.makeAhead();
  assert.deepEqual(third.builds, []);
});

test('who waits for a template is let go when he is called off', async (t) => {
  const { templates, buildBy } = openShop(t);
  buildBy(
    (_facts, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  const abort = new AbortController();
  const waiting = templates.lend('headless', abort.signal);
  const reason = new Error('called off');
  abort.abort(reason);
  await assert.rejects(waiting, reason);
  assert.equal(stateOf(templates, 'headless')?.note, 'a template is being made');
});

test('a template that cannot be made is tried twice, and machines are booted without it', async (t) => {
  const { templates, builds, buildBy } = openShop(t);
  buildBy(() => Promise.reject(new Error('the guest panics')));
  assert.equal(await lend(templates), null);
  assert.deepEqual(builds, ['headless', 'headless']);
  assert.equal(stateOf(templates, 'headless')?.way, 'cold');
  assert.match(stateOf(templates, 'headless')?.note ?? '', /no template could be made/);
});

test('two clones that fail change nothing, and a third opens the breaker and throws the template away', async (t) => {
  const { templates, builds, folder } = openShop(t);
  for (let clone = 0; clone < 2; clone += 1) (await lend(templates))?.failed();
  assert.equal(stateOf(templates, 'headless')?.way, 'clone');
  assert.equal(stateOf(templates, 'headless')?.failures, 2);
  (await lend(templates))?.failed();
  assert.deepEqual(stateOf(templates, 'headless'), {
    kind: 'headless',
    way: 'cold',
    failures: 3,
    note: 'machines are booted without a template: its clones failed',
  });
  assert.equal(await lend(templates), null);
  assert.equal(stateOf(templates, 'full_browser')?.way, 'clone');
  while (readdirSync(folder).length > 0) await new Promise(setImmediate);
  assert.deepEqual(builds, ['headless']);
});

test('a new template is made after a pause, tried by one clone at a time, and trusted after the first good one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { templates, builds } = openShop(t);
  await failThrice(templates);
  t.mock.timers.tick(30_000);
  await templates.settled();
  assert.deepEqual(builds, ['headless', 'headless']);
  assert.equal(stateOf(templates, 'headless')?.way, 'cold');
  const trial = await lend(templates);
  assert.ok(trial);
  assert.equal(await lend(templates), null);
  trial.worked();
  assert.deepEqual(stateOf(templates, 'headless'), { kind: 'headless', way: 'clone', failures: 0, note: null });
  const [one, two] = await Promise.all([lend(templates), lend(templates)]);
  one?.worked();
  two?.worked();
});

test('a new template that is no better is thrown away by its first clone', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { templates, builds } = openShop(t);
  await failThrice(templates);
  t.mock.timers.tick(30_000);
  await templates.settled();
  (await lend(templates))?.failed();
  assert.equal(await lend(templates), null);
  assert.equal(stateOf(templates, 'headless')?.failures, 4);
  t.mock.timers.tick(59_000);
  await templates.settled();
  assert.equal(builds.length, 2);
  t.mock.timers.tick(1000);
  await templates.settled();
  assert.equal(builds.length, 3);
});

test('a clone of a template that is gone tells nothing of its successor', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { templates } = openShop(t);
  const late = await Promise.all([lend(templates), lend(templates), lend(templates)]);
  await failThrice(templates);
  t.mock.timers.tick(30_000);
  await templates.settled();
  for (const loan of late) loan?.failed();
  assert.equal(stateOf(templates, 'headless')?.failures, 3);
  assert.ok(await lend(templates));
});

test('a template is open as long as somebody clones it, and no longer', async (t) => {
  const { templates } = openShop(t);
  const loan = await lend(templates);
  await failThrice(templates);
  assert.ok((loan?.template.memory.handle.fd ?? -1) > 0);
  loan?.release();
  while ((loan?.template.memory.handle.fd ?? -1) > 0) await new Promise(setImmediate);
});

test('a build that is under way when the service stops is called off', async (t) => {
  const { templates, buildBy } = openShop(t);
  buildBy(
    (_facts, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  const making = templates.makeAhead();
  await new Promise(setImmediate);
  await templates.close();
  await making;
});

/**
 * Clicks, double clicks and text in pages that move what they are meant for, and those of a viewer of the live view in
 * a page and its frame of another site, while all processors are busy: none may be lost without an error.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread } from '../../figures.ts';
import { shiftingPages } from '../../shifting-pages.ts';
import { liveAddress, Viewer } from '../../view/viewer.ts';

const runsDefault = 100;
/** Processes that compute all the time, one for each processor. */
const busyLoops = 2;

const inFrame = { frame: ['iframe'] };
/** The actions of one page, and the title that it has when it has received them all. */
const tries: Record<string, { step: object; wanted: string }> = {
  double: { step: { type: 'click', count: 2 }, wanted: '2' },
  frame: { step: { type: 'click', ...inFrame }, wanted: '1' },
  field: { step: { type: 'type', text: 'received', ...inFrame }, wanted: 'received' },
};
const plainTry = { step: { type: 'click' }, wanted: '1' };

/** `received`: once and where it should; `refused`: an error; `lost`: ok and not received. */
type Outcome = 'received' | 'refused' | 'lost';

interface Line {
  name: string;
  outcomes: Record<Outcome, number>;
  ms: number[];
}

interface ActionsReply {
  results: { status: string; output?: unknown; duration_ms: number }[];
}

async function measure(berth: Berth, sessionId: string, url: string, line: Line): Promise<void> {
  const { step, wanted } = tries[line.name] ?? plainTry;
  const actions = [
    { type: 'navigate', url },
    { selectors: ['#target'], ...step },
    { type: 'evaluate', expression: 'new Promise((done) => setTimeout(() => done(document.title), 300))' },
  ];
  const reply = (await berth.post(`/v1/session/${sessionId}/actions`, { actions, stop_on_error: false })) as ActionsReply;
  const [, click, title] = reply.results;
  const isReceived = title?.output === wanted;
  line.outcomes[click?.status !== 'ok' ? 'refused' : isReceived ? 'received' : 'lost'] += 1;
  if (click?.status === 'ok') line.ms.push(click.duration_ms);
}

/** The places that a viewer presses, with the letter that is noted of each: `a` to `c` are buttons, `c` and the field `f` in the frame. */
const places = { a: [80, 60], b: [80, 220], c: [380, 60], f: [360, 210] } as const;
/** Two equal ones in turn are a double click; what is no place is typed. */
const inputs = ['a', 'c', 'b', 'c', 'c', 'f', 'x', 'y', 'a'] as const;
const noted = 'aAbBaA|cCcCcC2fxy';
/** Between the presses of a person who is in a hurry. */
const pauseMs = 40;

async function press(viewer: Viewer, place: keyof typeof places, clickCount: number): Promise<void> {
  const [x, y] = places[place];
  const mouse = { type: 'mouse', x, y, modifiers: 0 } as const;
  viewer.send({ ...mouse, action: 'move', button: 'none', buttons: 0, clicks: 0 });
  viewer.send({ ...mouse, action: 'down', button: 'left', buttons: 1, clicks: clickCount });
  viewer.send({ ...mouse, action: 'up', button: 'left', buttons: 0, clicks: clickCount });
  await sleep(pauseMs);
}

async function measureViewer(
  berth: Berth,
  sessionId: string,
  url: string,
  { viewer, line }: { viewer: Viewer; line: Line },
): Promise<void> {
  const run = async (actions: object[]): Promise<ActionsReply> =>
    (await berth.post(`/v1/session/${sessionId}/actions`, { actions })) as ActionsReply;
  const title = (expression: string): object => ({
    type: 'evaluate',
    expression: `(async () => { for (let turn = 0; turn < 100 && !(${expression}); turn++) await new Promise((done) => setTimeout(done, 50)); return document.title })()`,
  });
  await run([{ type: 'navigate', url }, title(`document.title === '|'`)]);
  for (const [index, input] of inputs.entries()) {
    if (input in places) await press(viewer, input as keyof typeof places, inputs[index - 1] === input ? 2 : 1);
    else
      for (const action of ['down', 'up'] as const)
        viewer.send({ type: 'key', action, key: input, code: `Key${input.toUpperCase()}`, modifiers: 0, repeat: false, location: 0 });
  }
  const { results } = await run([title(`document.title.length >= ${noted.length}`)]);
  const output = String(results[0]?.output);
  const lost = output === noted ? 0 : Math.max(1, inputs.length - output.replaceAll(/[^a-z]/g, '').length);
  if (lost > 0) process.stderr.write(`noted ${output}, ${viewer.failures.join(' ')}\n`);
  line.outcomes[viewer.failures.splice(0).length > 0 ? 'refused' : 'lost'] += lost;
  line.outcomes.received += inputs.length - lost;
}

export async function clicks(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  const lines = Object.keys(shiftingPages).map((name): Line => ({ name, outcomes: { received: 0, refused: 0, lost: 0 }, ms: [] }));
  const ofViewer: Line = { name: 'viewer', outcomes: { received: 0, refused: 0, lost: 0 }, ms: [] };
  if (bench.withBerth) {
    const environment = { BERTH_ALLOW_EVALUATE: 'true' };
    const others = bench.site.address.replace('127.0.0.1', 'localhost');
    const berth = await Berth.start(bench.stage, {
      chromium: bench.chromium,
      poolTarget: 0,
      allow: `${bench.site.address},${others}`,
      environment,
    });
    const { session_id: sessionId } = await berth.create();
    const viewer = await Viewer.open(await liveAddress(berth, sessionId, 'control'));
    for (let loop = 0; loop < busyLoops; loop += 1) bench.stage.start(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    for (let run = 0; run < runs; run += 1) {
      bench.reportProgress(`round ${run + 1} of ${runs}`);
      for (const line of lines.filter(({ name }) => bench.only.length === 0 || bench.only.includes(name)))
        await measure(berth, sessionId, `${bench.site.url}shifting/${line.name}`, line);
      await measureViewer(berth, sessionId, `${bench.site.url}shifting/pressed`, { viewer, line: ofViewer });
    }
    await viewer.close();
    await berth.stop();
  }
  lines.push(ofViewer);
  const sum = (outcome: Outcome): number => lines.reduce((total, { outcomes }) => total + outcomes[outcome], 0);
  const checks: Check[] = [{ what: 'clicks and texts lost without an error', measured: sum('lost'), target: 0, rule: 'at most', unit: '' }];
  return {
    name: 'clicks: and text in pages that move, and of a viewer, beside two busy loops',
    columns: ['page', 'n', 'received', 'refused', 'lost', 'step p50 / p95 / p99 ms'],
    rows: lines.map(({ name, outcomes: { received, refused, lost }, ms }) => [
      name,
      received + refused + lost,
      received,
      refused,
      lost,
      spread(ms),
    ]),
    checks: bench.withBerth ? checks : [],
    notes: [],
  };
}

/** Clicks, double clicks and text in pages that move what they are meant for, while all processors are busy: none may be lost without an error. */
import { Berth } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Check, type Section, spread } from '../figures.ts';
import { shiftingPages } from '../shifting-pages.ts';

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

export async function clicks(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  const lines = Object.keys(shiftingPages).map((name): Line => ({ name, outcomes: { received: 0, refused: 0, lost: 0 }, ms: [] }));
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
    for (let loop = 0; loop < busyLoops; loop += 1) bench.stage.start(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    for (let run = 0; run < runs; run += 1) {
      bench.reportProgress(`round ${run + 1} of ${runs}`);
      for (const line of lines) await measure(berth, sessionId, `${bench.site.url}shifting/${line.name}`, line);
    }
    await berth.stop();
  }
  const sum = (outcome: Outcome): number => lines.reduce((total, { outcomes }) => total + outcomes[outcome], 0);
  const checks: Check[] = [{ what: 'clicks and texts lost without an error', measured: sum('lost'), target: 0, rule: 'at most', unit: '' }];
  return {
    name: 'clicks: and text in pages that move, beside two busy loops',
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

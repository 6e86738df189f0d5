import { ada } from '../../../tests/shop/pages/account.ts';
import { compareReport, type KeyedReport, type Score } from '../../../tests/shop/compare-report.ts';
import { startShop } from '../../../tests/shop/shop.ts';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { largeHar } from '../../inspect/har.ts';
import { findLeaks, plantSecrets } from '../../inspect/secrets.ts';
import { memoryMb } from '../../proc.ts';

const runsDefault = 5;
const secretCount = 216;
/** Maximum claims that are listed, so that a miss can be looked into. */
const shownMax = 12;

type Report = KeyedReport & { status: string; job_id: string; duration_ms: number; redactions: object; error?: unknown };

const signIn = [
  { type: 'fill', selectors: ['#desk-email'], value: ada.email },
  { type: 'fill', selectors: ['#desk-password'], value: ada.password },
  { type: 'click', selectors: ['#desk-login button'] },
  { type: 'wait', text: 'All loaded.' },
  { type: 'click', selectors: ['#harbour'] },
  { type: 'wait', text: `Harbour: ${ada.email}` },
];

async function inspectDesk(berth: Berth, url: string): Promise<Report> {
  const report = (await berth.post('/v1/inspect', { url: `${url}/trade`, actions: signIn, timeout_ms: 60_000 })) as Report;
  if (report.status !== 'ok') throw new Error(`the inspection ended as ${report.status}: ${JSON.stringify(report.error)}`);
  return report;
}

const scoreChecks = (scores: readonly Score[]): Check[] =>
  scores.flatMap(({ claim, precision, recall }) => [
    { what: `${claim}: precision`, measured: precision, target: 0.95, rule: 'at least' as const, unit: '' as const },
    { what: `${claim}: recall`, measured: recall, target: 0.95, rule: 'at least' as const, unit: '' as const },
  ]);

const scoreNotes = (scores: readonly Score[]): string[] =>
  scores.flatMap(({ claim, wrong, missing }) => [
    ...wrong.slice(0, shownMax).map((each) => `${claim}, not in the key: ${each}`),
    ...missing.slice(0, shownMax).map((each) => `${claim}, missing: ${each}`),
  ]);

interface Timed {
  requests: number;
  samples: number[];
  peakMb: number;
}

async function timeReports(bench: Bench, berth: Berth, requests: number): Promise<Timed> {
  const har = largeHar(requests);
  const samples: number[] = [];
  let peakMb = 0;
  for (let run = 0; run < (bench.runs ?? runsDefault); run += 1) {
    const startedMs = performance.now();
    const report = (await berth.post('/v1/inspect', { har })) as Report;
    samples.push(performance.now() - startedMs);
    if (report.status !== 'ok') throw new Error(`the report of ${requests} requests ended as ${report.status}`);
    peakMb = Math.max(peakMb, memoryMb([berth.pid]));
  }
  return { requests, samples, peakMb };
}

async function leaksOf(berth: Berth): Promise<{ kinds: string[]; count: number }> {
  const { har, secrets } = plantSecrets(secretCount, 'inspect');
  const report = (await berth.post('/v1/inspect', { har, capture_bodies: 'samples', include: everything })) as Report;
  const page = await (await berth.get(`/v1/inspect/${report.job_id}/report.html`)).text();
  const job = await (await berth.get(`/v1/job/${report.job_id}`)).text();
  const leaked = findLeaks([JSON.stringify(report), page, job].join('\n'), secrets);
  return { kinds: leaked.map(({ kind }) => kind), count: secrets.length };
}

const everything = ['api', 'auth', 'assets', 'security', 'third_parties', 'cookies', 'seo', 'har', 'openapi', 'client'];

/** Inspections against the answer key of the fixture shop, secrets in reports, and the time that reports take. */
export async function inspections(bench: Bench): Promise<Section> {
  const shop = await startShop({ consent: false });
  bench.stage.onEnd(() => shop.close());
  const { port } = new URL(shop.url);
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 1, allow: `${shop.host},localhost:${port}` });
  const scores = compareReport(await inspectDesk(berth, shop.url), shop.host);
  bench.reportProgress('secrets');
  const leaks = await leaksOf(berth);
  bench.reportProgress('large captures');
  const idleMb = memoryMb([berth.pid]);
  const timed = [await timeReports(bench, berth, 300), await timeReports(bench, berth, 2000)];
  await berth.stop();
  return {
    name: 'inspect: reports against the answer key',
    columns: ['p50 / p95 / p99', 'n', 'report ms', 'worker MB'],
    rows: timed.map(({ requests, samples, peakMb }) => [`${requests} requests`, samples.length, spread(samples), peakMb]),
    checks: [
      ...scoreChecks(scores),
      { what: `secrets of ${leaks.count} in the output`, measured: leaks.kinds.length, target: 0, rule: 'at most', unit: '' },
      ...timed.map(({ requests, samples }) => ({
        what: `report of ${requests} requests: p50`,
        measured: summarize(samples).p50 / 1000,
        target: requests === 300 ? 1.5 : 6,
        rule: 'at most' as const,
        unit: 's' as const,
      })),
      { what: 'memory for 2000 requests', measured: (timed[1]?.peakMb ?? Number.NaN) - idleMb, target: 300, rule: 'at most', unit: 'MB' },
    ],
    notes: [...scoreNotes(scores), ...leaks.kinds.slice(0, shownMax).map((kind) => `in the output: ${kind}`)],
  };
}

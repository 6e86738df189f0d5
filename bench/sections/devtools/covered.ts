import { chromium, type BrowserContext } from 'playwright-core';
import { Berth, type BerthSession } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { destroyRaw, launchRaw } from '../../peers/raw-browser.ts';
import { longRows } from '../../site.ts';

const runsDefault = 40;
const rowsApart = 13;

/** How long calls took on a tab in front and on one behind it; null: failed. */
interface Line {
  name: string;
  front: (number | null)[];
  behind: (number | null)[];
}

/** Given a row of the page, each time on another screen. */
type Call = (row: number) => Promise<unknown>;

const succeeded = (samples: readonly (number | null)[]): number[] => samples.filter((each) => each !== null);

async function timed(call: () => Promise<unknown>): Promise<number | null> {
  const started = performance.now();
  return call().then(
    () => performance.now() - started,
    () => null,
  );
}

/** Behind without a pause: a covered page is drawn three times before it has to wait. */
async function measure(name: string, runs: number, calls: { front: Call; behind: Call }): Promise<Line> {
  const line: Line = { name, front: [], behind: [] };
  for (let run = 0; run < runs; run += 1) line.front.push(await timed(() => calls.front((run * rowsApart) % longRows)));
  for (let run = 0; run < runs; run += 1) line.behind.push(await timed(() => calls.behind((run * rowsApart) % longRows)));
  return line;
}

/** Playwright's click on two tabs of one window. */
async function clicks(context: BrowserContext, url: string): Promise<{ front: Call; behind: Call }> {
  const [behind, front] = [await context.newPage(), await context.newPage()];
  for (const page of [behind, front]) await page.goto(url);
  await front.bringToFront();
  const on =
    (page: typeof front): Call =>
    (row) =>
      page.locator('p').nth(row).click({ timeout: 20_000 });
  return { front: on(front), behind: on(behind) };
}

/** Calls of the API on two tabs of a session of their own. */
async function overHttp(
  berth: Berth,
  url: string,
): Promise<{ session: BerthSession; on: (call: (tab: string) => Call) => { front: Call; behind: Call } }> {
  const session = await berth.create();
  const open = async (): Promise<string> =>
    ((await berth.post(`/v1/session/${session.session_id}/tabs`, { url })) as { tab_id: string }).tab_id;
  const [behind, front] = [await open(), await open()];
  return { session, on: (call) => ({ front: call(front), behind: call(behind) }) };
}

async function measureBerth(bench: Bench, berth: Berth, runs: number): Promise<Line[]> {
  const driven = await berth.create();
  const browser = await chromium.connectOverCDP(driven.cdp_url, { headers: berth.authorization });
  const [context] = browser.contexts();
  if (!context) throw new Error('the session has no browser context');
  const lines = [await measure('Playwright click', runs, await clicks(context, bench.site.longUrl))];
  await browser.close();
  await berth.delete(driven.session_id);
  const { session, on } = await overHttp(berth, bench.site.longUrl);
  const path = `/v1/session/${session.session_id}`;
  const click = on(
    (tab) => (row) =>
      berth.post(`${path}/actions`, { tab_id: tab, actions: [{ type: 'click', selectors: [`p:nth-of-type(${row + 1})`] }] }),
  );
  lines.push(await measure('click over HTTP', runs, click));
  const screenshot = on((tab) => () => berth.post(`${path}/screenshot`, { tab_id: tab, full_page: true }));
  lines.push(await measure('full page over HTTP', runs, screenshot));
  await berth.delete(session.session_id);
  return lines;
}

function checksOf({ name, front, behind }: Line): Check[] {
  const ratio = summarize(succeeded(behind)).p50 / summarize(succeeded(front)).p50;
  const success = (100 * (succeeded(front).length + succeeded(behind).length)) / (front.length + behind.length);
  return [
    { what: `${name}, behind: p50 of in front`, measured: ratio, target: 1.5, rule: 'at most', unit: '×' },
    { what: `${name}: success`, measured: success, target: 100, rule: 'at least', unit: '%' },
  ];
}

/** Tabs that are driven while another one of their window covers them, beside those in front. */
export async function covered(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  bench.reportProgress('a plain browser');
  const raw = await launchRaw(bench.stage, bench.chromium);
  const plain = await chromium.connectOverCDP(raw.url);
  const context = plain.contexts()[0] ?? (await plain.newContext());
  const lines = [await measure('plain browser: Playwright click', runs, await clicks(context, bench.site.longUrl))];
  await plain.close();
  await destroyRaw(bench.stage, raw);
  const own: Line[] = [];
  if (bench.withBerth) {
    bench.reportProgress('sessions');
    const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
    own.push(...(await measureBerth(bench, berth, runs)));
    await berth.stop();
  }
  return {
    name: 'covered: tabs behind another one',
    columns: ['p50 / p95 / p99', 'n', 'in front ms', 'behind ms'],
    rows: [...lines, ...own].map(({ name, front, behind }) => [name, front.length, spread(succeeded(front)), spread(succeeded(behind))]),
    checks: own.flatMap(checksOf),
    notes: [],
  };
}

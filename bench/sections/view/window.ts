import type { VncTokenResponse } from '@berth/contract';
import { type Browser, chromium as playwright } from 'playwright-core';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { waitForIdleCpu } from '../../proc.ts';
import { launchRaw } from '../../peers/raw-browser.ts';
import { timeToPicture } from '../../view/rfb.ts';
import { countsOf } from './counts.ts';

const paintTimeoutMs = 15_000;
const targetMs = 1000;

interface Line {
  name: string;
  ms: number[];
  failures: string[];
}

const createLink = async (berth: Berth, sessionId: string): Promise<VncTokenResponse> =>
  (await berth.post(`/v1/session/${sessionId}/vnc-token`, {})) as VncTokenResponse;

const socketOf = (berth: Berth, { session_id: sessionId, token }: VncTokenResponse): string =>
  `${berth.url.replace(/^http/, 'ws')}/v1/session/${sessionId}/vnc/websockify?token=${token}`;

/** Samples columns of the canvas on each animation frame until they have more than one colour. */
const paintedScript = `new Promise((resolve) => {
  const isPainted = (canvas) => {
    const brush = canvas.width > 1 && canvas.getContext('2d');
    if (!brush) return false;
    const colours = new Set();
    for (const share of [0.1, 0.5, 0.9]) {
      const { data } = brush.getImageData(Math.floor(canvas.width * share), 0, 1, canvas.height);
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 0) colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    }
    return colours.size > 1;
  };
  const check = () => [...document.querySelectorAll('canvas')].some(isPainted) ? resolve(true) : requestAnimationFrame(check);
  check();
})`;

/** Opens the link in a browser with an empty cache. */
async function timeToPaint(browser: Browser, { url }: VncTokenResponse): Promise<number> {
  if (url === null) throw new Error('the link has no URL');
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(paintTimeoutMs);
    const started = performance.now();
    await page.goto(url, { waitUntil: 'commit' });
    await page.waitForSelector('canvas', { state: 'attached' });
    await page.evaluate(paintedScript);
    return performance.now() - started;
  } finally {
    await context.close();
  }
}

async function repeat(line: Line, runs: number, run: () => Promise<number>): Promise<void> {
  // The first run is a warm-up.
  for (let i = 0; i <= runs; i += 1) {
    await waitForIdleCpu(1000);
    try {
      const ms = await run();
      if (i > 0) line.ms.push(ms);
    } catch (error) {
      line.failures.push(error instanceof Error ? error.message : String(error));
    }
  }
}

function checksOf({ name, ms, failures }: Line): Check[] {
  return [
    { what: `${name}: first picture p95`, measured: summarize(ms).p95, target: targetMs, rule: 'at most', unit: 'ms' },
    { what: `${name}: failed`, measured: failures.length, target: 0, rule: 'at most', unit: '' },
  ];
}

async function measure(bench: Bench, berth: Berth): Promise<Line[]> {
  const { session_id: sessionId } = await berth.create({ kind: 'full_browser' });
  await berth.navigate(sessionId, bench.site.url);
  const { windows, windowPages } = countsOf(bench.runs);
  const [bare, page]: [Line, Line] = [
    { name: 'bare RFB client, uncompressed', ms: [], failures: [] },
    { name: 'noVNC in Chromium', ms: [], failures: [] },
  ];
  bench.reportProgress('the window, by a bare client');
  await repeat(bare, windows, async () => {
    const started = performance.now();
    const address = socketOf(berth, await createLink(berth, sessionId));
    const linkMs = performance.now() - started;
    return linkMs + (await timeToPicture(address));
  });
  bench.reportProgress('the window, by its page');
  const raw = await launchRaw(bench.stage, bench.chromium);
  const browser = await playwright.connectOverCDP(raw.url);
  await repeat(page, windowPages, async () => timeToPaint(browser, await createLink(berth, sessionId)));
  await browser.close();
  return [bare, page];
}

/** The window of a full browser, from the token request (for the page: from its opening) until it is painted. */
export async function window(bench: Bench): Promise<Section> {
  const name = 'view: the whole window over VNC';
  const columns = ['p50 / p95 / p99', 'n', 'ok %', 'ms'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const lines = await measure(bench, berth);
  await berth.stop();
  return {
    name,
    columns,
    rows: lines.map(({ name: line, ms, failures }) => [
      line,
      ms.length + failures.length,
      (100 * ms.length) / (ms.length + failures.length),
      spread(ms),
    ]),
    checks: lines.flatMap(checksOf),
    notes: lines.flatMap(({ name: line, failures }) =>
      failures.length > 0 ? [`${line} failed ${failures.length} times, first: ${failures[0]}`] : [],
    ),
  };
}

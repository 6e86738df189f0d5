/** Flows that watch and check pages. */
import { boundedList, boundedString } from '@berth/contract';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { NavigationError, PageError, StepError } from '@berth/devtools';
import { isUnsafeLink } from '@berth/reading';
import type { TextReply, Vitals } from '@berth/page-scripts/read/site/documents.ts';
import { defineFlow, type FlowStep } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url, literal, selectorsInput } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';

/** What one link may take. */
const openMsMax = 30_000;

const final_url = z.string().describe('URL of the page.');

const CheckedLink = z.object({
  url: z.string().describe('URL of the link.'),
  text: z.string().describe('Text of the link.'),
  status_code: z.int().nullable().describe('HTTP status; null if there was no response.'),
});

export const checkLinks = defineFlow({
  name: 'check_links',
  title: 'Check links',
  description: 'Requests the links of a page, but for those that sign out, delete or change something, and returns the broken ones.',
  version: '2',
  category: 'monitoring',
  inputs: z.strictObject({
    url: Url,
    max_links: z.int().min(1).max(500).default(100).describe('Maximum number of links to check, 1 to 500. Default: 100.'),
    external: z.boolean().default(false).describe('Whether to open links of other origins, too. Default: `false`.'),
  }),
  output: z.object({
    broken: z.array(CheckedLink).describe('Links without a response, or with a status of 400 and above.'),
    checked: z.int().describe('Number of links that were requested.'),
    skipped: z.int().describe('Number of links that were not, with the unsafe ones.'),
    unsafe: z.int().describe('Number of links that were left alone because they sign out, delete or change something, such as `/logout`.'),
    final_url,
  }),
  example: { url: 'https://example.com/' },
  run: async (run, { url, max_links: max, external }) => {
    await run.open(url);
    const page = run.url();
    const { vars } = await run.run([{ type: 'links', save_as: 'links' }]);
    const all = new Map<string, string>();
    for (const link of vars['links'] as { url: string; text: string }[])
      if (/^https?:/.test(link.url)) all.set(link.url.replace(/#.*$/s, ''), link.text);
    const safe = [...all].filter(([address]) => !isUnsafeLink(address));
    const { origin } = new URL(page);
    const isOwn = ([address]: [string, string]): boolean => new URL(address).origin === origin;
    const own = safe.filter(isOwn).slice(0, max);
    const others = external ? safe.filter((link) => !isOwn(link)).slice(0, max - own.length) : [];
    const broken: z.infer<typeof CheckedLink>[] = [];
    let checked = 0;
    const note = ([url, text]: [string, string], status: number | null): void => {
      checked += 1;
      if (status === null || status >= 400) broken.push({ url, text, status_code: status });
    };
    for (const link of own) {
      if (run.isNearEnd(2)) break;
      const status = await requestOwn(run, link[0]);
      // It may redirect to a site that lets no script read it. Opened at last, because the page is left then.
      if (status === null) others.unshift(link);
      else note(link, status);
    }
    for (const link of others) {
      if (run.isNearEnd(2)) break;
      note(link, await openOther(run, link[0]));
    }
    return { broken, checked, skipped: all.size - checked, unsafe: all.size - safe.length, final_url: page };
  },
});

async function requestOwn(run: FlowRun, url: string): Promise<number | null> {
  const { status } = await run.act('request', () => run.call<TextReply>(flowScripts.fetchText, [url, 0, 'GET']));
  return status === 0 ? null : status;
}

/** Scripts of a page read no status of another origin: the browser opens it. A file is as good an answer as a page. */
function openOther(run: FlowRun, url: string): Promise<number | null> {
  return run.act('navigate', async () => {
    const timeoutMs = Math.max(1, Math.min(openMsMax, run.leftMs));
    try {
      return (await run.navigate({ url, waitUntil: 'commit', timeoutMs })).statusCode;
    } catch (error) {
      if (error instanceof NavigationError) return error.reason === 'download' ? 200 : null;
      if (error instanceof StepError || error instanceof PageError) return null;
      throw error;
    }
  });
}

const Assertion = z
  .strictObject({
    selectors: selectorsInput('An element that must be visible:').optional(),
    text: boundedString(1, 500).optional().describe('Text that the page must show.'),
    status_code: z.int().min(100).max(599).optional().describe('HTTP status that the page must have.'),
    url: boundedString(1, 500).optional().describe('Text that the URL must contain.'),
    max_load_ms: z.int().min(1).max(300_000).optional().describe('Maximum time until the page has loaded, in milliseconds.'),
  })
  .check(({ value, issues }) => {
    if (Object.values(value).every((part) => part === undefined))
      issues.push({
        code: 'custom',
        message: 'One of selectors, text, status_code, url, max_load_ms is required',
        input: value,
        params: { type: 'missing' },
      });
  });
type Assertion = z.infer<typeof Assertion>;

export const healthCheck = defineFlow({
  name: 'health_check',
  title: 'Check the health of a page',
  description: 'Opens a page and checks its status, its time to load, and what it shows.',
  version: '1',
  category: 'monitoring',
  inputs: z.strictObject({
    url: Url,
    assertions: boundedList(Assertion, 20)
      .min(1)
      .default([{ status_code: 200 }])
      .describe('What must hold, 1 to 20. Default: the status 200.'),
    wait_ms: z
      .int()
      .min(1)
      .max(30_000)
      .default(5000)
      .describe('How long to wait for each element or text, in milliseconds, 1 to 30000. Default: 5000.'),
  }),
  output: z.object({
    passed: z.boolean().describe('Whether everything holds.'),
    checks: z
      .array(
        z.object({
          passed: z.boolean().describe('Whether it holds.'),
          message: z.string().describe('What was expected, and what was there.'),
        }),
      )
      .describe('One for each assertion.'),
    status_code: z.int().nullable().describe('HTTP status of the page.'),
    load_ms: z.int().describe('Time until the page had loaded, in milliseconds.'),
    final_url,
  }),
  example: { url: 'https://example.com/', assertions: [{ status_code: 200 }, { text: 'Example' }] },
  run: async (run, { url, assertions, wait_ms: waitMs }) => {
    const { results } = await run.run([{ type: 'navigate', url: '{{inputs.url}}' }], { url });
    const loadMs = results[0]?.duration_ms ?? 0;
    const status = (results[0]?.output as { status_code: number | null } | undefined)?.status_code ?? null;
    const checks = [];
    for (const assertion of assertions) checks.push(await check(run, assertion, { status, loadMs, waitMs }));
    return { passed: checks.every(({ passed }) => passed), checks, status_code: status, load_ms: loadMs, final_url: run.url() };
  },
});

interface Loaded {
  status: number | null;
  loadMs: number;
  waitMs: number;
}

async function check(run: FlowRun, assertion: Assertion, { status, loadMs, waitMs }: Loaded) {
  const { selectors, text, status_code: expected, url, max_load_ms: loadMsMax } = assertion;
  const problems: string[] = [];
  if (expected !== undefined && status !== expected) problems.push(`The status is ${status} and not ${expected}.`);
  if (loadMsMax !== undefined && loadMs > loadMsMax) problems.push(`The page took ${loadMs} ms and not at most ${loadMsMax}.`);
  if (url !== undefined && !run.url().includes(url)) problems.push(`The URL does not contain ${url}.`);
  const steps: FlowStep[] = [
    ...(selectors ? [{ type: 'assert', selectors: literal(selectors), timeout_ms: waitMs, optional: true }] : []),
    ...(text === undefined ? [] : [{ type: 'wait', text: literal(text), timeout_ms: waitMs, optional: true }]),
  ];
  if (steps.length > 0)
    for (const { status: result, error } of (await run.run(steps)).results)
      if (result !== 'ok') problems.push(error?.message ?? 'Not there.');
  return { passed: problems.length === 0, message: problems.length === 0 ? 'As expected.' : problems.join(' ') };
}

export const webVitals = defineFlow({
  name: 'web_vitals',
  title: 'Measure Web Vitals',
  description: 'Loads a page several times and returns the medians of its Web Vitals.',
  version: '1',
  category: 'monitoring',
  inputs: z.strictObject({
    url: Url,
    runs: z.int().min(1).max(5).default(1).describe('How often to load the page, 1 to 5. Default: 1.'),
  }),
  output: z.object({
    lcp_ms: z.number().nullable().describe('Largest Contentful Paint in milliseconds; null if the browser reported none.'),
    cls: z.number().describe('Cumulative Layout Shift.'),
    tbt_ms: z.number().describe('Total Blocking Time in milliseconds.'),
    ttfb_ms: z.number().describe('Time to the first byte in milliseconds.'),
    dcl_ms: z.number().describe('Time to `DOMContentLoaded` in milliseconds.'),
    load_ms: z.number().describe('Time to the load event in milliseconds.'),
    requests: z.number().describe('Number of requests.'),
    bytes: z.number().describe('Bytes on the wire.'),
    final_url,
  }),
  example: { url: 'https://example.com/', runs: 1 },
  run: async (run, { url, runs }) => {
    const measured: Vitals[] = [];
    for (let n = 0; n < runs; n += 1) {
      await run.open(url);
      measured.push(await run.act('read_vitals', () => run.call<Vitals>(flowScripts.readVitals)));
    }
    const median = (name: keyof Vitals): number => medianOf(measured.map((vitals) => vitals[name] ?? 0));
    return {
      lcp_ms: measured.every(({ lcp_ms }) => lcp_ms === null) ? null : median('lcp_ms'),
      ...{ cls: median('cls'), tbt_ms: median('tbt_ms'), ttfb_ms: median('ttfb_ms'), dcl_ms: median('dcl_ms') },
      ...{ load_ms: median('load_ms'), requests: median('requests'), bytes: median('bytes'), final_url: run.url() },
    };
  },
});

const medianOf = (values: number[]): number => values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)] ?? 0;

const textCharsMax = 200_000;
const Baseline = z
  .strictObject({
    hash: boundedString(64, 64).describe('SHA-256 of the text.'),
    text: boundedString(0, textCharsMax).describe('Content that was watched, as Markdown.'),
  })
  .describe('State of the page: send it with the next run.');

export const monitorChange = defineFlow({
  name: 'monitor_change',
  title: 'Watch a page for changes',
  description:
    'Compares the content of a page, or of a part of it, with that of an earlier run, and returns the lines of Markdown that differ.',
  version: '1',
  category: 'monitoring',
  inputs: z.strictObject({
    url: Url,
    selectors: selectorsInput('The part to watch. Default: the whole page.').optional(),
    ignore: boundedList(boundedString(1, 500), 20)
      .default([])
      .describe('Lines that contain one of these texts are left out. Default: none.'),
    baseline: Baseline.optional().describe('`baseline` of an earlier run. Default: none, the first run.'),
  }),
  output: z.object({
    changed: z.boolean().describe('Whether the text differs; false in the first run.'),
    added: z.array(z.string()).describe('Lines that are new.'),
    removed: z.array(z.string()).describe('Lines that are no longer there.'),
    baseline: Baseline,
    final_url,
  }),
  example: { url: 'https://example.com/', selectors: ['h1'] },
  run: async (run, { url, selectors, ignore, baseline }) => {
    await run.open(url);
    const { vars } = await run.run([{ type: 'markdown', ...(selectors ? { selectors: literal(selectors) } : {}), save_as: 'text' }]);
    const lines = String(vars['text'])
      .split('\n')
      .map((line) => line.replace(/\s+/g, ' ').trim())
      .filter((line) => line !== '' && !ignore.some((part) => line.includes(part)));
    const text = lines.join('\n').slice(0, textCharsMax).toWellFormed();
    const hash = createHash('sha256').update(text).digest('hex');
    const changed = baseline !== undefined && baseline.hash !== hash;
    const difference = changed ? diffLines(baseline.text.split('\n'), text.split('\n')) : { added: [], removed: [] };
    return { changed, ...difference, baseline: { hash, text }, final_url: run.url() };
  },
});

const linesMax = 500;

/** Lines of one text that the other does not have, or not as often. In time linear in the lines. */
export function diffLines(before: readonly string[], after: readonly string[]): { added: string[]; removed: string[] } {
  const counts = new Map<string, number>();
  for (const line of before) counts.set(line, (counts.get(line) ?? 0) + 1);
  const added: string[] = [];
  for (const line of after) {
    const count = counts.get(line) ?? 0;
    if (count > 0) counts.set(line, count - 1);
    else if (added.length < linesMax) added.push(line);
  }
  const removed: string[] = [];
  for (const line of before) {
    const count = counts.get(line) ?? 0;
    if (count === 0 || removed.length >= linesMax) continue;
    counts.set(line, count - 1);
    removed.push(line);
  }
  return { added, removed };
}

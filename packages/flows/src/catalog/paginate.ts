import { createHash } from 'node:crypto';
import { boundedRecord, boundedString } from '@berth/contract';
import { z } from 'zod';
import { nextTurn } from '@berth/lib/turns/turn-budget.ts';
import type { NextPage, PageWords } from '@berth/page-scripts/read/pagination.ts';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { FieldSpec, Url, literal, selectorsInput, toStepField } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';
import { moreWords, nextPageWords, nextWords, previousWords } from '../read/words.ts';

const item = z.strictObject({
  selectors: selectorsInput('The items:'),
  fields: boundedRecord(boundedString(1, 64), FieldSpec, 50)
    .optional()
    .describe('Values of each item, by name. Default: its text and first link.'),
});

const nextMsMax = 3000;
const itemsMax = 10_000;
const words = { next: nextWords, nextPage: nextPageWords, more: moreWords, previous: previousWords } satisfies PageWords;
/** Pauses between readings of a list that a script draws after a click: 8 seconds in all, as a visitor would wait. */
const itemPausesMs = [0, 250, 500, 750, 1000, 1500, 2000, 2000];
/** Pauses between searches for the next page, which a script may draw after its list, or enable again. */
const nextPausesMs = [0, 300, 700];
/** A click, two readings of the list, and one to spare. */
const stepsPerPage = 5;

const inputs = z.strictObject({
  url: Url,
  item,
  next: selectorsInput(
    'The link or button to the next page. Default: found by `rel=next`, the usual labels in 22 languages, symbols such as `›`, the number after the current page, or a button that loads more.',
  ).optional(),
  page_param: boundedString(1, 50)
    .optional()
    .describe('Query parameter with the number of the page, from 1, where pages are addressed by one. Default: none.'),
  max_pages: z.int().min(1).max(50).default(10).describe('Maximum number of pages, 1 to 50. Default: 10.'),
  stop_when_repeat: z.boolean().default(true).describe('Whether to stop at a page that has only known items. Default: `true`.'),
});
type Inputs = z.infer<typeof inputs>;

export const stopReasons = ['no_next', 'max_pages', 'repeat', 'empty', 'budget'] as const;

export const paginate = defineFlow({
  name: 'paginate',
  title: 'Collect items of several pages',
  description: 'Reads the items of a list, follows it to its next pages, and returns all items without duplicates.',
  version: '2',
  category: 'extraction',
  inputs,
  output: z.object({
    items: z.array(z.record(z.string(), z.unknown())).describe('Items of all pages, each once, at most 10000.'),
    pages: z.int().describe('Number of pages that were read.'),
    stop_reason: z
      .enum(stopReasons)
      .describe(
        'Why it ended: no next page, `max_pages`, a page of known items only, a page without items, or the budget of time, steps or output.',
      ),
    final_url: z.string().describe('URL of the last page.'),
  }),
  example: { url: 'https://example.com/', item: { selectors: ['li'] }, max_pages: 2 },
  run: async (run, request) => {
    await run.open(request.url);
    const known = new Set<string>();
    const opened = new Set([withoutHash(run.url())]);
    const items: Record<string, unknown>[] = [];
    const end = (pages: number, stop_reason: (typeof stopReasons)[number]) => ({ items, pages, stop_reason, final_url: run.url() });
    for (let pages = 1, reachedBy: ReachedBy = 'opened'; ; pages += 1) {
      const isFirst = pages === 1;
      const { rows, fresh } = await readFresh(run, request, { known, isFirst, isDrawn: reachedBy === 'clicked' });
      for (const { row, chars } of fresh) {
        if (items.length >= itemsMax) run.warn('limit_reached');
        if (items.length >= itemsMax || !run.collect(chars)) return end(pages, 'budget');
        items.push(row);
      }
      if (rows.length === 0) return end(pages, 'empty');
      if (fresh.length === 0 && request.stop_when_repeat) return end(pages - 1, 'repeat');
      if (pages >= request.max_pages) return end(pages, 'max_pages');
      if (run.isNearEnd(stepsPerPage)) return end(pages, 'budget');
      reachedBy = await openNext(run, request, { page: pages + 1, opened });
      if (reachedBy === null) return end(pages, 'no_next');
    }
  },
});

/** How the next page was reached: null when there is none. */
type ReachedBy = 'opened' | 'clicked' | null;

/** Reads the list until it has an unknown row and stays the same: a script may draw it at any time after a click. */
async function readFresh(run: FlowRun, request: Inputs, page: { known: Set<string>; isFirst: boolean; isDrawn: boolean }) {
  let rows = await readItems(run, request, page.isFirst);
  let fresh = await withoutKnown(rows, page.known);
  for (const pauseMs of page.isDrawn ? itemPausesMs : []) {
    if (run.isNearEnd(1)) break;
    await run.sleep(pauseMs);
    const again = await readItems(run, request, false);
    const isSame = again.length === rows.length;
    rows = again;
    fresh = await withoutKnown(rows, page.known);
    if (fresh.length > 0 && isSame) break;
  }
  for (const { hash } of fresh) page.known.add(hash);
  return { rows, fresh };
}

/** Rows between two pauses for other work: one may have a hundred kilobytes. */
const rowsAtOnce = 100;

/** The rows that are not known by their hash. */
async function withoutKnown(rows: readonly Record<string, unknown>[], known: ReadonlySet<string>) {
  const fresh: { row: Record<string, unknown>; hash: string; chars: number }[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % rowsAtOnce === rowsAtOnce - 1) await nextTurn();
    const text = JSON.stringify(row);
    const hash = createHash('sha256').update(text).digest('base64');
    if (!known.has(hash)) fresh.push({ row, hash, chars: text.length });
  }
  return fresh;
}

async function readItems(run: FlowRun, { item: { selectors, fields } }: Inputs, isFirst: boolean): Promise<Record<string, unknown>[]> {
  const own = fields
    ? Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toStepField(field)]))
    : { text: {}, url: { selectors: ['a[href]'], attribute: 'href', as: 'url' } };
  const step = {
    type: 'extract',
    selectors: literal(selectors),
    list: true,
    fields: own,
    save_as: 'rows',
    timeout_ms: isFirst ? 10_000 : 5000,
  };
  const { vars } = await run.run([{ ...step, optional: !isFirst }]);
  return (vars['rows'] ?? []) as Record<string, unknown>[];
}

async function openNext(run: FlowRun, request: Inputs, { page, opened }: { page: number; opened: Set<string> }): Promise<ReachedBy> {
  const { url, next, page_param: name } = request;
  if (name !== undefined) {
    const address = new URL(url);
    address.searchParams.set(name, String(page));
    await run.open(address.href);
    return 'opened';
  }
  const target = next ? await givenNext(run, literal(next)) : await searchNext(run);
  if (target.kind === 'click') return (await clickNext(run, target.selectors)) ? 'clicked' : null;
  // The link of the last page may lead to itself, or to the first one.
  if (target.kind !== 'open' || opened.has(withoutHash(target.url))) return null;
  opened.add(withoutHash(target.url));
  await run.open(target.url);
  opened.add(withoutHash(run.url()));
  return 'opened';
}

type Target = { kind: 'open'; url: string } | { kind: 'click'; selectors: unknown } | { kind: 'none' };

async function givenNext(run: FlowRun, selectors: unknown): Promise<Target> {
  const read = { type: 'extract', selectors, attribute: 'href', save_as: 'href', optional: true, timeout_ms: nextMsMax };
  const { href } = (await run.run([read])).vars;
  const url = typeof href === 'string' && !/^(?:#|$)/.test(href.trim()) ? URL.parse(href.trim(), run.url()) : null;
  return url && /^https?:$/.test(url.protocol) ? { kind: 'open', url: url.href } : { kind: 'click', selectors };
}

async function searchNext(run: FlowRun): Promise<Target> {
  for (const pauseMs of nextPausesMs) {
    if (run.isNearEnd(1)) break;
    await run.sleep(pauseMs);
    const result = await run.act('find_next', () => run.call<NextPage>(flowScripts.findNextPage, [words]));
    if (result.kind === 'open') return result;
    if (result.kind === 'click') return { kind: 'click', selectors: [literal(result.selector)] };
    if (result.kind === 'last') break;
  }
  return { kind: 'none' };
}

async function clickNext(run: FlowRun, selectors: unknown): Promise<boolean> {
  const { results } = await run.run([
    { type: 'click', selectors, optional: true, timeout_ms: nextMsMax },
    { type: 'wait', network_idle: true, optional: true, timeout_ms: 5000 },
  ]);
  return results[0]?.status === 'ok';
}

const withoutHash = (url: string): string => {
  const [address = ''] = url.split('#');
  return address;
};

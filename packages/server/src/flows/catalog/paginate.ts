import { createHash } from 'node:crypto';
import { boundedRecord, boundedString } from '@berth/contract';
import { z } from 'zod';
import { nextTurn } from '../../lib/turn-budget.ts';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { FieldSpec, Url, literal, selectorsInput, toStepField } from '../inputs.ts';

const item = z.strictObject({
  selectors: selectorsInput('The items:'),
  fields: boundedRecord(boundedString(1, 64), FieldSpec, 50)
    .optional()
    .describe('Values of each item, by name. Default: its text and first link.'),
});

const nextLinks = [
  'a[rel~="next"]',
  'link[rel~="next"]',
  '[aria-label*="pagination" i] a[aria-label*="next" i]',
  'a[aria-label^="next" i]',
  '.pagination .next a',
  'a.next',
];
const nextMsMax = 3000;
const itemsMax = 10_000;

const inputs = z.strictObject({
  url: Url,
  item,
  next: selectorsInput('The link or button to the next page. Default: found by `rel=next` and the usual labels.').optional(),
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
  version: '1',
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
    const items: Record<string, unknown>[] = [];
    const end = (pages: number, stop_reason: (typeof stopReasons)[number]) => ({ items, pages, stop_reason, final_url: run.url() });
    for (let pages = 1; ; pages += 1) {
      const rows = await readItems(run, request, pages === 1);
      const fresh = await withoutKnown(rows, known);
      for (const { row, chars } of fresh) {
        if (items.length >= itemsMax) run.warn('limit_reached');
        if (items.length >= itemsMax || !run.collect(chars)) return end(pages, 'budget');
        items.push(row);
      }
      if (rows.length === 0) return end(pages, 'empty');
      if (fresh.length === 0 && request.stop_when_repeat) return end(pages - 1, 'repeat');
      if (pages >= request.max_pages) return end(pages, 'max_pages');
      if (run.isNearEnd(3)) return end(pages, 'budget');
      if (!(await openNext(run, request, pages + 1))) return end(pages, 'no_next');
    }
  },
});

/** Rows between two pauses for other work: one may have a hundred kilobytes. */
const rowsAtOnce = 100;

/** The rows that are not known by their hash, which they are then. */
async function withoutKnown(rows: readonly Record<string, unknown>[], known: Set<string>) {
  const fresh: { row: Record<string, unknown>; hash: string; chars: number }[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % rowsAtOnce === rowsAtOnce - 1) await nextTurn();
    const text = JSON.stringify(row);
    const hash = createHash('sha256').update(text).digest('base64');
    if (!known.has(hash)) fresh.push({ row, hash, chars: text.length });
  }
  for (const { hash } of fresh) known.add(hash);
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

/** Returns false when there is no further page. */
async function openNext(run: FlowRun, { url, next, page_param: name }: Inputs, page: number): Promise<boolean> {
  if (name !== undefined) {
    const address = new URL(url);
    address.searchParams.set(name, String(page));
    await run.open(address.href);
    return true;
  }
  const selectors = next ? literal(next) : nextLinks;
  const before = run.url();
  const { vars } = await run.run([
    { type: 'extract', selectors, attribute: 'href', as: 'url', save_as: 'href', optional: true, timeout_ms: nextMsMax },
  ]);
  const { href } = vars;
  if (typeof href === 'string' && /^https?:/.test(href)) {
    if (href === before) return false;
    await run.open(href);
    return true;
  }
  if (!next) return false;
  const { results } = await run.run([
    { type: 'click', selectors, optional: true, timeout_ms: nextMsMax },
    { type: 'wait', network_idle: true, optional: true, timeout_ms: 5000 },
  ]);
  return results[0]?.status === 'ok';
}

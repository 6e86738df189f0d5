import { boundedRecord, boundedString } from '@berth/contract';
import { z } from 'zod';
import { FlowError } from '../../failure.ts';
import { defineFlow } from '../../flow.ts';
import type { FlowRun } from '../../flow-run.ts';
import { FieldSpec, Url, toStepField } from '../../inputs.ts';
import { readData, StructuredData } from '../../read/structured-data.ts';

/** Maximum fields of one `extract` step. */
const entriesMax = 100;

const inputs = z
  .strictObject({
    url: Url,
    fields: boundedRecord(boundedString(1, 64), FieldSpec, 50).optional().describe('Values to extract, by name, at most 50.'),
    schema: z
      .enum(['auto'])
      .optional()
      .describe(
        '`auto`: find the data of the page without selectors: JSON-LD, microdata, Open Graph, tables and lists of similar elements.',
      ),
  })
  .check(({ value, issues }) => {
    if ((value.fields === undefined) === (value.schema === undefined))
      issues.push({ code: 'custom', message: 'Exactly one of fields and schema is required', input: value, params: { type: 'missing' } });
  });

const output = z.object({
  data: z.record(z.string(), z.unknown()).nullable().describe('The values of `fields`; null where nothing matched, or with `schema`.'),
  selector_used: z
    .record(z.string(), z.union([z.string(), z.array(z.string())]).nullable())
    .nullable()
    .describe('For each field the selector that matched; null if none did.'),
  structured: StructuredData.nullable().describe('With `schema: auto`, what the page has; null otherwise.'),
  final_url: z.string().describe('URL of the page.'),
});

export const extract = defineFlow({
  name: 'extract',
  title: 'Extract values',
  description: 'Opens a page and reads values by selectors, or finds its structured data without any.',
  version: '1',
  category: 'extraction',
  inputs,
  output,
  example: {
    url: 'https://example.com/',
    fields: { heading: { selectors: ['h1'] }, links: { selectors: ['a'], attr: 'href', type: 'url', list: true } },
  },
  run: async (run, { url, fields }) => {
    await run.open(url);
    if (!fields) return { data: null, selector_used: null, structured: await readData(run), final_url: run.url() };
    return { ...(await readFields(run, fields)), structured: null, final_url: run.url() };
  },
});

type Selector = FieldSpec['selectors'][number];

/** Each selector is read as a field of its own, so that it is known which one matched. */
export async function readFields(run: FlowRun, fields: Readonly<Record<string, FieldSpec>>) {
  const entries = Object.entries(fields).flatMap(([name, field]) => field.selectors.map((selector) => ({ name, field, selector })));
  const values: unknown[] = [];
  for (let from = 0; from < entries.length; from += entriesMax) {
    const chunk = entries.slice(from, from + entriesMax);
    const step = Object.fromEntries(
      chunk.map(({ field, selector }, index) => [`f${index}`, toStepField({ ...field, selectors: [selector] })]),
    );
    const { vars } = await run.run([{ type: 'extract', fields: step, save_as: 'row', optional: entries.length > entriesMax }]);
    const row = (vars['row'] ?? {}) as Record<string, unknown>;
    values.push(...chunk.map((_, index) => row[`f${index}`] ?? null));
  }
  const data: Record<string, unknown> = {};
  const used: Record<string, Selector | null> = {};
  for (const [index, { name, field, selector }] of entries.entries()) {
    const value = values[index];
    const isEmpty = value === null || (Array.isArray(value) && value.length === 0);
    data[name] ??= field.list ? [] : null;
    used[name] ??= null;
    if (isEmpty || used[name] !== null) continue;
    data[name] = value;
    used[name] = selector;
  }
  if (Object.values(used).every((selector) => selector === null))
    throw new FlowError('not_found', 'No selector of any field matches an element. Check the selectors.');
  return { data, selector_used: used };
}

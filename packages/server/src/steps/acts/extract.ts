import type { Selectors, StepExtractField } from '@berth/contract';
import type { Json } from '../../browser/browser.ts';
import type { Attempt, Root } from '../run/attempt.ts';
import { locateFrom, notFound, toFindOrders } from '../locators/locate.ts';
import type { FieldOrder, Read } from '../../page-scripts/read.ts';
import { htmlOf } from '../locators/read.ts';
import { scripts } from '../scripts.ts';
import { toDate, toNumber } from '../../content/content.ts';
import { StepFailed } from '../context.ts';
import type { Act, StepOf } from './act.ts';

/** What one step may read out of a page. */
export const readBytesMax = 4 * 1024 * 1024;
const htmlBytesMax = 10 * 1024 * 1024;

type Extracted = Record<string, unknown>;

export const extract: Act<'extract'> = async (attempt, step) => {
  if (step.json_ld) return (await convert(attempt, step, 'metadata')).page?.json_ld ?? [];
  if (step.table) return readTables(attempt, step);
  if (step.fields === undefined) return readValues(attempt, step);
  const rows = await readRows(attempt, step, step.fields);
  if (!step.list) return rows[0];
  return rows;
};

async function convert(attempt: Attempt, { selectors }: StepOf<'extract'>, format: 'metadata' | 'tables') {
  const html = await htmlOf(attempt, selectors, htmlBytesMax);
  const order = {
    html,
    url: attempt.page.url(),
    formats: [format],
    onlyMainContent: false,
    includeSelectors: [],
    excludeSelectors: [],
    extract: null,
  } as const;
  return attempt.world.content.convert(order, { signal: attempt.signal });
}

async function readTables(attempt: Attempt, step: StepOf<'extract'>) {
  const { tables = [] } = await convert(attempt, step, 'tables');
  if (!step.selectors) return tables;
  return tables[0] ?? failWith('not_found', 'There is no table in the element.');
}

const failWith = (code: 'not_found', message: string): never => {
  throw new StepFailed(code, message);
};

/** One value, or with `list` one of each match. */
async function readValues(attempt: Attempt, step: StepOf<'extract'>): Promise<unknown> {
  const { attribute, as, selectors = [] } = step;
  const rows = await readRows(attempt, { ...step, selectors }, { value: { attribute, as, list: false } });
  return step.list ? rows.map(({ value }) => value) : rows[0]?.['value'];
}

/** A row for each match; waits until there is one. */
async function readRows(attempt: Attempt, step: StepOf<'extract'>, fields: Record<string, StepExtractField>): Promise<Extracted[]> {
  const limit = step.list ? step.limit : 1;
  const { selectors } = step;
  const rows = await attempt.poll(
    async () => {
      const found = await readOnce(attempt, { selectors, fields, limit, inner: step.limit });
      // Fields without rows are all looked for in the page; it may still be on its way.
      return found.length === 0 || (!selectors && isEmpty(found[0])) ? undefined : found;
    },
    () => notFound(selectors ?? Object.values(fields).flatMap((field) => field.selectors ?? [])),
  );
  const absent = Object.keys(fields).filter((name) => rows.every((row) => row[name] === null));
  for (const name of absent) attempt.warn(`Nothing was found for the field ${name}.`);
  return rows.map((row) => typed(row, fields));
}

const isEmpty = (row: Record<string, Read | Read[]> | undefined): boolean =>
  Object.values(row ?? {}).every((value) => value === null || (Array.isArray(value) && value.length === 0));

interface RowsOrder {
  selectors: Selectors | undefined;
  fields: Record<string, StepExtractField>;
  limit: number;
  /** For fields that are lists. */
  inner: number;
}
type Row = Record<string, Read | Read[]>;

async function readOnce(attempt: Attempt, order: RowsOrder): Promise<Row[]> {
  const { selectors, fields } = order;
  const root = await attempt.root();
  const orders = selectors && toFindOrders(selectors);
  const fieldOrders = Object.entries(fields).map(([name, field]) => fieldOrder(name, field));
  const areInPage = orders !== null && fieldOrders.every((field) => field !== null);
  if (!areInPage || (order.limit === 1 && selectors)) return readEach(attempt, root, order);
  const answer = await attempt.page.call<{ rows: Row[]; index: number; invalid?: string }>(
    root.frameId,
    scripts.readRows,
    [root.element, (orders ?? null) as Json, fieldOrders as unknown as Json, order.limit],
    attempt.call(readBytesMax),
  );
  if (answer.invalid !== undefined) throw new StepFailed('invalid_selector', `A selector cannot be read: ${answer.invalid}.`);
  attempt.selectorUsed = selectors?.[answer.index] ?? attempt.selectorUsed;
  return answer.rows;
}

function fieldOrder(name: string, { selectors, attribute, as, list }: StepExtractField): FieldOrder | null {
  const orders = selectors ? toFindOrders(selectors) : [];
  return orders && { name, attribute: attribute ?? null, as, list, orders: selectors ? orders : null };
}

/** Row by row and field by field: for single rows, where the first visible match is meant, and for locators that a page's own script cannot follow. */
async function readEach(attempt: Attempt, root: Root, { selectors, fields, limit, inner }: RowsOrder): Promise<Row[]> {
  const located = selectors ? await locateFrom(attempt, root, { selectors, pick: limit === 1 ? 'one' : 'all', max: limit }) : null;
  if (selectors && !located) return [];
  attempt.selectorUsed = located?.selector ?? attempt.selectorUsed;
  const roots: Root[] = located ? located.elements.map((element) => ({ frameId: element.frameId, element })) : [root];
  const rows: Row[] = [];
  for (const from of roots) {
    const row: Row = {};
    for (const [name, field] of Object.entries(fields)) row[name] = await readField(attempt, from, { ...field, inner });
    rows.push(row);
  }
  return rows;
}

async function readField(attempt: Attempt, root: Root, field: StepExtractField & { inner: number }): Promise<Read | Read[]> {
  const own = root.element ? [root.element] : [];
  const order = field.selectors
    ? { selectors: field.selectors, pick: field.list ? ('all' as const) : ('one' as const), max: field.inner }
    : null;
  const elements = order ? ((await locateFrom(attempt, root, order))?.elements ?? []) : own;
  const values: Read[] = [];
  const wanted = { attribute: field.attribute ?? null, as: field.as };
  for (const element of elements)
    values.push(await attempt.page.call<Read>(element.frameId, scripts.read, [element, wanted], attempt.call(readBytesMax)));
  return field.list ? values : (values[0] ?? null);
}

const typed = (row: Row, fields: Record<string, StepExtractField>): Extracted =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const as = fields[name]?.as ?? 'text';
      return [name, Array.isArray(value) ? value.map((one) => toType(one, as)) : toType(value, as)];
    }),
  );

function toType(value: Read, as: StepExtractField['as']): unknown {
  if (value === null) return null;
  if (as === 'number') return toNumber(value);
  if (as === 'date') return toDate(value);
  return as === 'boolean' ? toBoolean(value) : value;
}

const yes = new Set(['true', 'yes', 'y', '1', 'on']);
const no = new Set(['false', 'no', 'n', '0', 'off']);
function toBoolean(text: string): boolean | null {
  const word = text.trim().toLowerCase();
  if (yes.has(word)) return true;
  return no.has(word) ? false : null;
}

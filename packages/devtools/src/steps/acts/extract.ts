import type { Selectors, StepExtractField } from '@berth/contract';
import type { Json } from '../../browser/browser.ts';
import type { StepAttempt, Root, Act, StepOf } from '../run/attempt.ts';
import { locateFrom, notFound, toPageSelectors } from '../locators/locate.ts';
import type { FieldOptions, Reading, ReadValue } from '@berth/page-scripts/read/read.ts';
import { htmlOf } from '../locators/read.ts';
import { scripts } from '../scripts.ts';
import { toDate, toNumber } from '@berth/reading';
import { StepError } from '../context.ts';

/** Maximum result that one step may read from a page. */
const readBytesMax = 4 * 1024 * 1024;
const htmlBytesMax = 10 * 1024 * 1024;

/** Share of the time of a step that is kept for reading a document that does not end. */
const timeForReading = 0.5;

type Extracted = Record<string, unknown>;

export const extract: Act<'extract'> = async (attempt, step) => {
  if (step.json_ld) return (await convert(attempt, step, 'metadata')).page?.json_ld ?? [];
  if (step.table) return readTables(attempt, step);
  if (step.fields === undefined) return readValues(attempt, step);
  const rows = await readRows(attempt, step, step.fields);
  if (!step.list) return rows[0];
  return rows;
};

async function convert(attempt: StepAttempt, { selectors }: StepOf<'extract'>, format: 'metadata' | 'tables') {
  const part = format === 'tables' ? 'all' : 'metadata';
  const html = await htmlOf(attempt, { selectors, part, bytesMax: htmlBytesMax });
  const options = {
    html,
    url: attempt.page.url(),
    formats: [format],
    onlyMainContent: false,
    includeSelectors: [],
    excludeSelectors: [],
    extract: null,
  } as const;
  return attempt.context.content.convert(options, { signal: attempt.signal });
}

async function readTables(attempt: StepAttempt, step: StepOf<'extract'>) {
  const { tables = [] } = await convert(attempt, step, 'tables');
  if (!step.selectors) return tables;
  return tables[0] ?? failWith('not_found', 'The element contains no table.');
}

const failWith = (code: 'not_found', message: string): never => {
  throw new StepError(code, message);
};

/** Reads one value, or with `list` one per match. */
async function readValues(attempt: StepAttempt, step: StepOf<'extract'>): Promise<unknown> {
  const { attribute, as, selectors = [] } = step;
  const rows = await readRows(attempt, { ...step, selectors }, { value: { attribute, as, list: false } });
  return step.list ? rows.map(({ value }) => value) : rows[0]?.['value'];
}

/** A row per match. Waits for the first match, and with lists for the end of the document, as far as the time allows. */
async function readRows(attempt: StepAttempt, step: StepOf<'extract'>, fields: Record<string, StepExtractField>): Promise<Extracted[]> {
  const limit = step.list ? step.limit : 1;
  const { selectors } = step;
  const readsSeveral = step.list || Object.values(fields).some(({ list }) => list);
  const read = await attempt.poll(
    async () => {
      // Asked before the reading: what arrives in between is in it.
      const isArriving = readsSeveral && attempt.leftMs > attempt.timeoutMs * timeForReading && (await isDocumentArriving(attempt));
      const matches = await readMatches(attempt, { selectors, fields, limit, listMax: step.limit });
      // Fields without rows are searched in the whole page, which may still be loading.
      if (matches.rows.length === 0 || (!selectors && isEmpty(matches.rows[0]))) return undefined;
      const isWhole = !isArriving || (step.list && matches.rows.length >= limit);
      return isWhole ? matches : undefined;
    },
    () => notFound(selectors ?? Object.values(fields).flatMap((field) => field.selectors ?? [])),
  );
  const { rows, framesLeftOut } = read;
  if (framesLeftOut > 0) attempt.warn(`frames_left_out:${framesLeftOut}`);
  const absent = Object.keys(fields).filter((name) => rows.every((row) => row[name] === null));
  for (const name of absent) attempt.warn(`No match for the field ${name}.`);
  const language = Object.values(fields).some(({ as }) => as === 'number') ? await languageOf(attempt) : '';
  return rows.map((row) => toTypedRow(row, fields, language));
}

const isDocumentArriving = async (attempt: StepAttempt): Promise<boolean> =>
  attempt.page.call<boolean>((await attempt.root()).frameId, scripts.isArriving, [], attempt.call());

/** Numbers are read as it writes them. */
async function languageOf(attempt: StepAttempt): Promise<string> {
  return attempt.page.call<string>((await attempt.root()).frameId, scripts.documentLanguage, [], attempt.call());
}

const isEmpty = (row: Record<string, ReadValue | ReadValue[]> | undefined): boolean =>
  Object.values(row ?? {}).every((value) => value === null || (Array.isArray(value) && value.length === 0));

interface RowsOptions {
  selectors: Selectors | undefined;
  fields: Record<string, StepExtractField>;
  limit: number;
  /** Maximum values of a field that is a list. */
  listMax: number;
}
type Row = Record<string, ReadValue | ReadValue[]>;
interface Matches {
  rows: Row[];
  /** The number of visible frames in what was read: their documents are not part of it. */
  framesLeftOut: number;
}

async function readMatches(attempt: StepAttempt, options: RowsOptions): Promise<Matches> {
  const { selectors, fields } = options;
  const root = await attempt.root();
  const pageSelectors = selectors && toPageSelectors(selectors);
  const fieldOptions = Object.entries(fields).map(([name, field]) => toFieldOptions(name, field));
  const canReadInPage = pageSelectors !== null && fieldOptions.every((field) => field !== null);
  if (!canReadInPage || (options.limit === 1 && selectors)) return readEach(attempt, root, options);
  const answer = await attempt.page.call<Matches & { index: number; invalid?: string }>(
    root.frameId,
    scripts.readRows,
    [
      root.element,
      (pageSelectors ?? null) as Json,
      fieldOptions as unknown as Json,
      { rowsMax: options.limit, valuesMax: options.listMax },
    ],
    attempt.call(readBytesMax),
  );
  if (answer.invalid !== undefined) throw new StepError('invalid_selector', `Invalid selector: ${answer.invalid}.`);
  attempt.selectorUsed = selectors?.[answer.index] ?? attempt.selectorUsed;
  return answer;
}

function toFieldOptions(name: string, { selectors, attribute, as, list }: StepExtractField): FieldOptions | null {
  const pageSelectors = selectors ? toPageSelectors(selectors) : [];
  return pageSelectors && { name, attribute: attribute ?? null, as, list, selectors: selectors ? pageSelectors : null };
}

/** Reads field by field: for a single row, which is the first visible match, and for selectors that a page script cannot resolve. */
async function readEach(attempt: StepAttempt, root: Root, { selectors, fields, limit, listMax }: RowsOptions): Promise<Matches> {
  const located = selectors ? await locateFrom(attempt, root, { selectors, pick: limit === 1 ? 'one' : 'all', max: limit }) : null;
  if (selectors && !located) return { rows: [], framesLeftOut: 0 };
  attempt.selectorUsed = located?.selector ?? attempt.selectorUsed;
  const roots: Root[] = located ? located.elements.map((element) => ({ frameId: element.frameId, element })) : [root];
  const matches: Matches = { rows: [], framesLeftOut: 0 };
  for (const from of roots) {
    const row: Row = {};
    for (const [name, field] of Object.entries(fields)) {
      const readings = await readField(attempt, from, { ...field, listMax });
      const values = readings.map(({ value }) => value);
      row[name] = field.list ? values : (values[0] ?? null);
      for (const { framesLeftOut } of readings) matches.framesLeftOut += framesLeftOut;
    }
    matches.rows.push(row);
  }
  return matches;
}

async function readField(attempt: StepAttempt, root: Root, field: StepExtractField & { listMax: number }): Promise<Reading[]> {
  const self = root.element ? [root.element] : [];
  const options = field.selectors
    ? { selectors: field.selectors, pick: field.list ? ('all' as const) : ('one' as const), max: field.listMax }
    : null;
  const elements = options ? ((await locateFrom(attempt, root, options))?.elements ?? []) : self;
  const readings: Reading[] = [];
  const readOptions = { attribute: field.attribute ?? null, as: field.as };
  for (const element of elements)
    readings.push(await attempt.page.call<Reading>(element.frameId, scripts.read, [element, readOptions], attempt.call(readBytesMax)));
  return readings;
}

const toTypedRow = (row: Row, fields: Record<string, StepExtractField>, language: string): Extracted =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const as = fields[name]?.as ?? 'text';
      return [name, Array.isArray(value) ? value.map((item) => toType(item, as, language)) : toType(value, as, language)];
    }),
  );

function toType(value: ReadValue, as: StepExtractField['as'], language: string): unknown {
  if (value === null) return null;
  if (as === 'number') return toNumber(value, language);
  if (as === 'date') return toDate(value);
  return as === 'boolean' ? toBoolean(value) : value;
}

const trueWords = new Set(['true', 'yes', 'y', '1', 'on']);
const falseWords = new Set(['false', 'no', 'n', '0', 'off']);
function toBoolean(text: string): boolean | null {
  const word = text.trim().toLowerCase();
  if (trueWords.has(word)) return true;
  return falseWords.has(word) ? false : null;
}

/**
 * Strings, lists and records of requests. Each has a maximum, which is checked
 * before anything inside, and lists and records stop after `issuesCollectedMax`
 * issues: without that, four megabytes of faults keep the process busy for a minute.
 */
import { z } from 'zod';

/** More than a reply lists, so that the count of the others says whether it is one fault or many. */
const issuesCollectedMax = 1000;

/** A string of `min` to `max` characters. One of another length is not examined further. */
export const boundedString = (min: number, max: number): z.ZodString => {
  const bounded = z.string().max(max, { abort: true });
  return min === 0 ? bounded : bounded.min(min, { abort: true });
};

type Payload = z.core.ParsePayload;
type Element = z.core.$ZodType;
/** Returns what is wrong with the list as a whole. */
type ListCheck = (list: readonly unknown[]) => { message: string; params: { type: string } } | null;

function run(schema: Element, value: unknown, context: z.core.ParseContextInternal): Payload {
  const result = schema._zod.run({ value, issues: [] }, context);
  if (result instanceof Promise) throw new TypeError('schemas of the contract must be synchronous');
  return result;
}

interface BoundedListDef extends z.core.$ZodArrayDef<Element> {
  before: ListCheck | undefined;
}

const BoundedList = z.core.$constructor<z.ZodArray<Element>, BoundedListDef>('BoundedList', (schema, def) => {
  z.ZodArray.init(schema, def);
  const { parse } = schema._zod;
  schema._zod.parse = (payload, context) => {
    const { value: list } = payload as { value: unknown };
    const isTooLong = (max: unknown): boolean => Array.isArray(list) && typeof max === 'number' && list.length > max;
    if (!Array.isArray(list) || maximaOf(def).some(isTooLong)) return parse(payload, context);
    const problem = def.before?.(list);
    if (problem) {
      payload.issues.push({ code: 'custom', input: list, inst: schema, ...problem });
      return payload;
    }
    const values: unknown[] = [];
    for (const [index, element] of list.entries()) {
      const { issues, value } = run(def.element, element, context);
      payload.issues.push(...z.core.util.prefixIssues(index, issues));
      values.push(value);
      if (payload.issues.length > issuesCollectedMax) break;
    }
    payload.value = values;
    return payload;
  };
});

const maximaOf = ({ checks = [] }: BoundedListDef): unknown[] =>
  checks.map(({ _zod: { def } }) => ('maximum' in def ? def.maximum : undefined));

/** A list of at most `max` elements. `before` checks it before any element is examined. */
export function boundedList<E extends z.core.SomeType>(element: E, max: number, { before }: { before?: ListCheck } = {}): z.ZodArray<E> {
  const def = { type: 'array', element, before } as z.core.$ZodTypeDef as BoundedListDef;
  // Safe: the class does not depend on the type of the elements.
  return (new BoundedList(def) as z.ZodType as z.ZodArray<E>).max(max);
}

interface BoundedRecordDef extends z.core.$ZodRecordDef<z.core.$ZodRecordKey, Element> {
  entriesMax: number;
}

const BoundedRecord = z.core.$constructor<z.ZodRecord<z.core.$ZodRecordKey, Element>, BoundedRecordDef>('BoundedRecord', (schema, def) => {
  z.ZodRecord.init(schema, def);
  const { parse } = schema._zod;
  schema._zod.parse = (payload, context) => {
    const { value: record } = payload as { value: unknown };
    if (!z.core.util.isPlainObject(record)) return parse(payload, context);
    const names = Object.keys(record);
    if (names.length > def.entriesMax) {
      payload.issues.push({ code: 'too_big', origin: 'record', maximum: def.entriesMax, inclusive: true, input: record, inst: schema });
      return payload;
    }
    const entries: [string, unknown][] = [];
    for (const name of names) {
      const key = run(def.keyType, name, context);
      const { issues, value } = run(def.valueType, record[name], context);
      if (key.issues.length > 0) payload.issues.push(invalidKey(name, key, schema));
      else payload.issues.push(...z.core.util.prefixIssues(name, issues));
      entries.push([name, value]);
      if (payload.issues.length > issuesCollectedMax) break;
    }
    payload.value = Object.fromEntries(entries);
    return payload;
  };
});

const invalidKey = (name: string, { issues }: Payload, inst: Element): z.core.$ZodRawIssue => ({
  code: 'invalid_key',
  origin: 'record',
  issues: issues.map((issue) => z.core.util.finalizeIssue(issue, undefined, z.config())),
  input: name,
  path: [name],
  inst,
});

/** A record of at most `entriesMax` entries. */
export function boundedRecord<K extends z.core.$ZodRecordKey, V extends z.core.SomeType>(
  keyType: K,
  valueType: V,
  entriesMax: number,
): z.ZodRecord<K, V> {
  const def = { type: 'record', keyType, valueType, entriesMax } as z.core.$ZodTypeDef as BoundedRecordDef;
  // Safe: the class does not depend on the types of keys and values.
  const record = new BoundedRecord(def) as z.ZodType as z.ZodRecord<K, V>;
  return record.meta({ maxProperties: entriesMax });
}

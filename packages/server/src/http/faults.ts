import type { Fault, FaultParams } from '@berth/contract';
import { z } from 'zod';
import { withoutSecrets } from '../lib/log.ts';

/** The part of a request that a fault is in: the first word of its `loc`. */
export type Part = 'body' | 'query' | 'path' | 'header';

/** Issues from inside a key or an element come finished, without the schema that raised them. */
type Issue = z.core.$ZodRawIssue | z.core.$ZodIssue;
type Words = { type: string; msg: string; ctx?: Record<string, unknown> };
export type Parsed = { ok: true; value: unknown } | { ok: false; faults: Fault[] };

/**
 * Checks one part of a request, and tells all that is wrong with it in the words of pydantic v2.
 *
 * zod's `safeParse` drops the schema that raised an issue. It is needed: only
 * the schema knows that a text stands where a whole number is wanted.
 */
export function parsePart(part: Part, schema: z.ZodType, value: unknown): Parsed {
  const payload = schema._zod.run({ value, issues: [] }, { async: false });
  if (payload instanceof Promise) throw new TypeError('a schema of the contract cannot wait');
  if (payload.issues.length === 0) return { ok: true, value: payload.value };
  return { ok: false, faults: payload.issues.flatMap((issue) => faultsOf(part, issue, value)) };
}

/** A fault that no schema can find. */
export function fault(loc: readonly PropertyKey[], words: Words, input: unknown = null): Fault {
  const place = loc.map(String);
  return { loc: place, msg: words.msg, type: words.type, input: shown(input, place), ctx: words.ctx ?? {} };
}

export const missing: Words = { type: 'missing', msg: 'Field required' };
export const extraForbidden: Words = { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' };

function faultsOf(part: Part, issue: Issue, whole: unknown): Fault[] {
  const loc = [part, ...(issue.path ?? [])];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => fault([...loc, key], extraForbidden, at(issue.input, [key])));
  if (issue.code === 'invalid_key')
    return issue.issues.map((inner) => fault([...loc, '[key]', ...inner.path], wordsOf(inner), issue.input));
  if (issue.code === 'invalid_element') return issue.issues.map((inner) => fault([...loc, ...inner.path], wordsOf(inner), issue.input));
  const words = isMissing(issue) ? missing : wordsOf(issue);
  // What is missing has no value of its own: what it is missing from is shown, as pydantic does.
  const input = words.type === 'missing' ? at(whole, (issue.path ?? []).slice(0, -1)) : issue.input;
  return [fault(loc, words, input)];
}

const isMissing = (issue: Issue): boolean => issue.input === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value');

const at = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key) ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );

function wordsOf(issue: Issue): Words {
  switch (issue.code) {
    case 'invalid_type':
      return typeWords(issue);
    case 'too_small':
      return boundWords(String(issue.origin), 'least', Number(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return boundWords(String(issue.origin), 'most', Number(issue.maximum), issue.inclusive !== false);
    case 'invalid_format':
      return formatWords(issue);
    case 'invalid_value':
      return literalWords(issue.values.map(String));
    case 'not_multiple_of':
      return { type: 'multiple_of', msg: `Input should be a multiple of ${issue.divisor}`, ctx: { multiple_of: issue.divisor } };
    case 'custom':
      return customWords(issue);
    // The last three come here only from within a union, whose branches cannot be told apart in one fault.
    case 'invalid_union':
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
      return { type: 'value_error', msg: 'Input should match one of the allowed forms' };
  }
}

const byExpected: Record<string, Words> = {
  string: { type: 'string_type', msg: 'Input should be a valid string' },
  int: { type: 'int_parsing', msg: 'Input should be a valid integer' },
  number: { type: 'float_parsing', msg: 'Input should be a valid number' },
  boolean: { type: 'bool_parsing', msg: 'Input should be a valid boolean' },
  array: { type: 'list_type', msg: 'Input should be a valid list' },
  object: { type: 'dict_type', msg: 'Input should be a valid dictionary' },
  record: { type: 'dict_type', msg: 'Input should be a valid dictionary' },
};

function typeWords(issue: Extract<Issue, { code: 'invalid_type' }>): Words {
  const { expected } = issue;
  return (
    byExpected[expected === 'number' && wantsInt('inst' in issue ? issue.inst : undefined) ? 'int' : expected] ?? {
      type: 'value_error',
      msg: `Input should be a valid ${expected}`,
    }
  );
}

/** z.int() finds a text to be no number before it comes to whole numbers. */
function wantsInt(schema: z.core.$ZodRawIssue['inst']): boolean {
  const def = schema?._zod.def;
  return def !== undefined && 'format' in def && typeof def.format === 'string' && def.format.includes('int');
}

const items = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

function boundWords(origin: string, side: 'least' | 'most', bound: number, inclusive: boolean): Words {
  const least = side === 'least';
  const at = least ? 'at least' : 'at most';
  const length = { [least ? 'min_length' : 'max_length']: bound };
  if (origin === 'string')
    return {
      type: least ? 'string_too_short' : 'string_too_long',
      msg: `String should have ${at} ${items(bound, 'character')}`,
      ctx: length,
    };
  if (origin !== 'number' && origin !== 'int')
    return { type: least ? 'too_short' : 'too_long', msg: `Input should have ${at} ${items(bound, 'item')}`, ctx: length };
  const compared = least ? 'greater than' : 'less than';
  const type = least ? 'greater_than' : 'less_than';
  if (!inclusive) return { type, msg: `Input should be ${compared} ${bound}`, ctx: { [least ? 'gt' : 'lt']: bound } };
  return { type: `${type}_equal`, msg: `Input should be ${compared} or equal to ${bound}`, ctx: { [least ? 'ge' : 'le']: bound } };
}

function formatWords(issue: Extract<Issue, { code: 'invalid_format' }>): Words {
  if (issue.format === 'url') return { type: 'url_parsing', msg: 'Input should be a valid URL', ctx: {} };
  if (issue.format !== 'regex') return { type: 'value_error', msg: `Input should be a valid ${String(issue.format)}` };
  const pattern = String(issue.pattern).replace(/^\/|\/[a-z]*$/g, '');
  return { type: 'string_pattern_mismatch', msg: `String should match pattern '${pattern}'`, ctx: { pattern } };
}

/** `'a', 'b' or 'c'`, as pydantic lists what it expects. */
export function literalWords(values: readonly string[]): Words {
  const quoted = values.map((value) => `'${value}'`);
  const expected = quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return { type: 'literal_error', msg: `Input should be ${expected}`, ctx: { expected } };
}

function customWords(issue: Extract<Issue, { code: 'custom' }>): Words {
  const params = issue.params as Partial<FaultParams> | undefined;
  const { message } = z.core.util.finalizeIssue(issue as z.core.$ZodRawIssue, undefined, z.config());
  return { type: params?.type ?? 'value_error', msg: message, ctx: params?.ctx ?? {} };
}

const secretName = /^(?:.*(?:password|passwd|secret|token|authorization|cookie)s?|key|.*api[-_]?key|x-admin-key|username|value)$/i;
const inputLengthMax = 200;
/** Of a text that may be megabytes long; enough to see where a secret ends that begins in what is shown. */
const lookedThroughMax = 1000;

/** The offending value as the caller may see it again: no secret, and no more of it than helps. */
function shown(input: unknown, loc: readonly string[]): unknown {
  if (input === undefined || input === null) return null;
  if (loc.slice(1).some((name) => secretName.test(name))) return '[secret]';
  const open = withoutSecretFields(input, 0);
  if (typeof open === 'string') return cut(open);
  if (typeof open === 'number' || typeof open === 'boolean') return open;
  const text = JSON.stringify(open);
  return text.length > inputLengthMax ? cut(text) : open;
}

/** A cut between the halves of a character would be no text. */
const cut = (text: string): string => text.slice(0, inputLengthMax).toWellFormed();

function withoutSecretFields(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutSecrets(value.slice(0, lookedThroughMax));
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  // What is deeper would be cut away, and a cycle would never end.
  if (depth > 8) return '…';
  if (Array.isArray(value)) return value.slice(0, inputLengthMax).map((item) => withoutSecretFields(item, depth + 1));
  const entries = Object.entries(value).slice(0, inputLengthMax);
  return Object.fromEntries(
    entries.map(([name, inner]) => [name, secretName.test(name) ? '[secret]' : withoutSecretFields(inner, depth + 1)]),
  );
}

import { issuesMax, type ValidationIssue, type ValidationIssueParams } from '@berth/contract';
import { z } from 'zod';
import { isSecretField } from '../secrets/names.ts';
import { redactText } from '../secrets/redact/redact.ts';
import { isStorableText } from '../text/text.ts';
import { literalHint, nameHint, typeHint, urlHint } from './hints.ts';

/** The part of a request with the issue: the first element of its `loc`. */
export type RequestPart = 'body' | 'query' | 'path' | 'header';

/** Issues of record keys and map elements are already finalized and have no schema. */
type Issue = z.core.$ZodRawIssue | z.core.$ZodIssue;
type IssueDescription = { type: string; msg: string; ctx?: Record<string, unknown>; hint?: string | undefined };
export type Parsed = { ok: true; value: unknown } | { ok: false; issues: ValidationIssue[]; omitted: number };

/**
 * Validates one part of a request and reports its issues in the format of pydantic v2:
 * the first hundred, and the number of the others.
 *
 * zod's `safeParse` drops the schema that raised an issue. It is needed here:
 * only the schema says that an integer was expected instead of a string.
 */
export function parsePart(part: RequestPart, schema: z.ZodType, value: unknown): Parsed {
  const payload = schema._zod.run({ value, issues: [] }, { async: false });
  if (payload instanceof Promise) throw new TypeError('schemas of the contract must be synchronous');
  if (payload.issues.length === 0) return { ok: true, value: payload.value };
  const issues: ValidationIssue[] = [];
  let count = 0;
  for (const issue of payload.issues) {
    if (issues.length < issuesMax) issues.push(...toValidationIssues(part, issue, value).slice(0, issuesMax - issues.length));
    count += countIssues(issue);
  }
  return { ok: false, issues, omitted: count - issues.length };
}

/** The number of issues that `toValidationIssues` makes of one. */
function countIssues(issue: Issue): number {
  if (issue.code === 'unrecognized_keys') return issue.keys.length;
  if (issue.code === 'invalid_union') return Math.max(1, branchOf(issue).length);
  return issue.code === 'invalid_key' || issue.code === 'invalid_element' ? issue.issues.length : 1;
}

/** An issue that no schema can report. */
export function validationIssue(loc: readonly PropertyKey[], description: IssueDescription, input: unknown = null): ValidationIssue {
  const path = loc.map((name) => cut(String(name)));
  const { msg, type, ctx = {}, hint } = description;
  return { loc: path, msg, type, input: redactInput(input, path), ctx, ...(hint === undefined ? {} : { hint }) };
}

export const missing: IssueDescription = { type: 'missing', msg: 'Field required' };
export const extraForbidden: IssueDescription = { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' };

function toValidationIssues(part: RequestPart, issue: Issue, whole: unknown): ValidationIssue[] {
  const loc = [part, ...(issue.path ?? [])];
  if (issue.code === 'unrecognized_keys') {
    const names = fieldNames('inst' in issue ? issue.inst : undefined);
    const describe = (key: string): IssueDescription => ({ ...extraForbidden, hint: nameHint(key, names) });
    return issue.keys.slice(0, issuesMax).map((key) => validationIssue([...loc, key], describe(key), at(issue.input, [key])));
  }
  if (issue.code === 'invalid_key')
    return issue.issues.map((inner) => validationIssue([...loc, '[key]', ...inner.path], describeIssue(inner), issue.input));
  if (issue.code === 'invalid_element')
    return issue.issues.map((inner) => validationIssue([...loc, ...inner.path], describeIssue(inner), issue.input));
  if (issue.code === 'invalid_union' && branchOf(issue).length > 0)
    return branchOf(issue).map((inner) => validationIssue([...loc, ...inner.path], describeIssue(inner), at(issue.input, inner.path)));
  const description = isMissing(issue) ? missing : describeIssue(issue);
  // A missing field has no value: the object that lacks it is shown, as in pydantic.
  const input = description.type === 'missing' ? at(whole, (issue.path ?? []).slice(0, -1)) : issue.input;
  return [
    validationIssue(
      loc,
      { ...description, hint: description.hint ?? hintOf(issue, description.type, redactInput(input, loc.map(String))) },
      input,
    ),
  ];
}

/** `shown`: the input without secrets, so that the hint has none either. */
function hintOf(issue: Issue, type: string, shown: unknown): string | undefined {
  if (issue.code === 'invalid_value') return literalHint(shown, issue.values.map(String));
  if (issue.code === 'invalid_type') return typeHint(type, shown, 'inst' in issue ? issue.inst : undefined);
  return urlHint(type, shown);
}

/** The fields of an object's schema. */
function fieldNames(schema: z.core.$ZodRawIssue['inst']): string[] {
  const def = schema?._zod.def;
  return def && 'shape' in def && typeof def.shape === 'object' && def.shape !== null ? Object.keys(def.shape) : [];
}

/** The issues of the only branch of a union that takes the input's type; none if several do. */
function branchOf({ errors }: Extract<Issue, { code: 'invalid_union' }>): z.core.$ZodIssue[] {
  const fitting = errors.filter((issues) => !issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0));
  return fitting.length === 1 ? (fitting[0] ?? []) : [];
}

const isMissing = (issue: Issue): boolean => issue.input === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value');

const at = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key) ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );

function describeIssue(issue: Issue): IssueDescription {
  switch (issue.code) {
    case 'invalid_type':
      return describeType(issue);
    case 'too_small':
      return describeBound(String(issue.origin), 'least', Number(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return describeBound(String(issue.origin), 'most', Number(issue.maximum), issue.inclusive !== false);
    case 'invalid_format':
      return describeFormat(issue);
    case 'invalid_value':
      return describeLiterals(issue.values.map(String));
    case 'not_multiple_of':
      return { type: 'multiple_of', msg: `Input should be a multiple of ${issue.divisor}`, ctx: { multiple_of: issue.divisor } };
    case 'custom':
      return describeCustom(issue);
    // The last three occur only inside a union, whose branches cannot be described in one issue.
    case 'invalid_union':
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
      return { type: 'value_error', msg: 'Input should match one of the allowed forms' };
  }
}

const byExpected: Record<string, IssueDescription> = {
  string: { type: 'string_type', msg: 'Input should be a valid string' },
  int: { type: 'int_parsing', msg: 'Input should be a valid integer' },
  number: { type: 'float_parsing', msg: 'Input should be a valid number' },
  boolean: { type: 'bool_parsing', msg: 'Input should be a valid boolean' },
  array: { type: 'list_type', msg: 'Input should be a valid list' },
  object: { type: 'dict_type', msg: 'Input should be a valid object' },
  record: { type: 'dict_type', msg: 'Input should be a valid object' },
};

function describeType(issue: Extract<Issue, { code: 'invalid_type' }>): IssueDescription {
  const { expected } = issue;
  return (
    byExpected[expected === 'number' && wantsInt('inst' in issue ? issue.inst : undefined) ? 'int' : expected] ?? {
      type: 'value_error',
      msg: `Input should be a valid ${expected}`,
    }
  );
}

/** z.int() reports a string as "not a number", although an integer was expected. */
function wantsInt(schema: z.core.$ZodRawIssue['inst']): boolean {
  const def = schema?._zod.def;
  return def !== undefined && 'format' in def && typeof def.format === 'string' && def.format.includes('int');
}

const items = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

function describeBound(origin: string, side: 'least' | 'most', bound: number, inclusive: boolean): IssueDescription {
  const least = side === 'least';
  const at = least ? 'at least' : 'at most';
  const length = { [least ? 'min_length' : 'max_length']: bound };
  if (origin === 'string')
    return {
      type: least ? 'string_too_short' : 'string_too_long',
      msg: `String should have ${at} ${items(bound, 'character')}`,
      ctx: length,
    };
  if (origin === 'record') return { type: 'too_long', msg: `Input should have at most ${bound} entries`, ctx: length };
  if (origin !== 'number' && origin !== 'int')
    return { type: least ? 'too_short' : 'too_long', msg: `Input should have ${at} ${items(bound, 'item')}`, ctx: length };
  const compared = least ? 'greater than' : 'less than';
  const type = least ? 'greater_than' : 'less_than';
  if (!inclusive) return { type, msg: `Input should be ${compared} ${bound}`, ctx: { [least ? 'gt' : 'lt']: bound } };
  return { type: `${type}_equal`, msg: `Input should be ${compared} or equal to ${bound}`, ctx: { [least ? 'ge' : 'le']: bound } };
}

function describeFormat(issue: Extract<Issue, { code: 'invalid_format' }>): IssueDescription {
  if (issue.format === 'url') return { type: 'url_parsing', msg: 'Input should be a valid URL', ctx: {} };
  if (issue.format !== 'regex') return { type: 'value_error', msg: `Input should be a valid ${String(issue.format)}` };
  const pattern = String(issue.pattern).replace(/^\/|\/[a-z]*$/g, '');
  return { type: 'string_pattern_mismatch', msg: `String should match pattern '${pattern}'`, ctx: { pattern } };
}

/** Lists the expected values as `'a', 'b' or 'c'`, as pydantic does. */
export function describeLiterals(values: readonly string[]): IssueDescription {
  const quoted = values.map((value) => `'${value}'`);
  const expected = quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return { type: 'literal_error', msg: `Input should be ${expected}`, ctx: { expected } };
}

function describeCustom(issue: Extract<Issue, { code: 'custom' }>): IssueDescription {
  const params = issue.params as Partial<ValidationIssueParams> | undefined;
  const { message } = z.core.util.finalizeIssue(issue as z.core.$ZodRawIssue, undefined, z.config());
  return { type: params?.type ?? 'value_error', msg: message, ctx: params?.ctx ?? {}, hint: params?.hint };
}

const inputLengthMax = 200;
/** A name that is cut may end in anything. */
const isSecretName = (name: string): boolean => name.length >= inputLengthMax || isSecretField(name);
/** Values of an input that are examined. No more than a few of them can be shown. */
const inspectedValuesMax = 100;
/** Longer than what is shown, so that a secret which begins there is recognised as a whole. */
const inspectedLengthMax = 1000;

/** The rejected value as it may be shown to the caller: shortened and without secrets. */
function redactInput(input: unknown, loc: readonly string[]): unknown {
  if (input === undefined || input === null) return null;
  if (loc.slice(1).some(isSecretName)) return '[secret]';
  const open = withoutSecretFields(input, 0, { values: inspectedValuesMax });
  if (typeof open === 'string') return cut(open);
  if (typeof open === 'number' || typeof open === 'boolean') return open;
  const text = JSON.stringify(open);
  return text.length > inputLengthMax ? cut(text) : open;
}

/** Never cuts a surrogate pair in half. */
const cut = (text: string): string => text.slice(0, inputLengthMax).toWellFormed();

/** `left`: how many more values may be examined, whatever their nesting. */
function withoutSecretFields(value: unknown, depth: number, left: { values: number }): unknown {
  left.values -= 1;
  if (typeof value === 'string') return redactText(value.slice(0, inspectedLengthMax), { placeholder: '[secret]', rule: 'names' });
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  // Deeper values would be cut off anyway, and a cycle would never end.
  if (depth > 8 || left.values <= 0) return '…';
  if (Array.isArray(value)) return value.slice(0, left.values).map((item) => withoutSecretFields(item, depth + 1, left));
  const names = Object.keys(value).slice(0, left.values);
  return Object.fromEntries(
    names.map((name) => [
      cut(name),
      isSecretName(name) ? '[secret]' : withoutSecretFields((value as Record<string, unknown>)[name], depth + 1, left),
    ]),
  );
}

/** The database's text type cannot store a NUL. */
export const unstorable = (part: RequestPart, values: Record<string, unknown>): ValidationIssue[] =>
  Object.entries(values)
    .filter(([name, value]) => !isStorableText(name) || (typeof value === 'string' && !isStorableText(value)))
    .map(([name, value]) => validationIssue([part, name], { type: 'value_error', msg: 'Input should not contain a NUL character' }, value));

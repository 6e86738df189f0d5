/** Replaces `{{inputs.x}}` and `{{vars.y | trim}}` in a step's texts. Templates never run code. */
import { toDate, toNumber } from '@berth/reading';
import { parseTemplate, type Step, type TemplateFilter, type TemplateValue } from '@berth/contract';
import { StepError } from '../context.ts';

export interface TemplateValues {
  inputs: Readonly<Record<string, unknown>>;
  vars: Readonly<Record<string, unknown>>;
  /** Filled in like inputs, and never reported. */
  secret?: Readonly<Record<string, unknown>>;
}

/** The limit of a step's longest field. Variables may be longer. */
const filledCharsMax = 100_000;

/** @throws StepError `invalid_value` */
export function fillText(text: string, values: TemplateValues): string {
  if (!text.includes('{{')) return text;
  const filled = segmentsOf(text)
    .map((segment) => (typeof segment === 'string' ? segment : toText(valueOf(segment, values))))
    .join('');
  if (filled.length > filledCharsMax)
    throw new StepError('invalid_value', `A text with its values is limited to ${filledCharsMax} characters.`);
  return filled;
}

/** The value of a template. A single value keeps its type: a list stays a list. */
export function fillValue(text: string, values: TemplateValues): unknown {
  const [segment, ...more] = segmentsOf(text);
  return typeof segment === 'object' && more.length === 0 ? valueOf(segment, values) : fillText(text, values);
}

/** Names, code and nested steps are never filled in. */
const unfilledFields = new Set([
  'type',
  'id',
  'description',
  'on_error',
  'save_as',
  'as',
  'within',
  'tab',
  'steps',
  'else',
  'over',
  'expression',
  'function',
]);

export function fillStep<S extends Step>(step: S, values: TemplateValues): S {
  // `until` of a loop is filled in after each turn, with the values of that turn.
  const isUnfilled = (name: string): boolean => unfilledFields.has(name) || (step.type === 'repeat' && name === 'until');
  return Object.fromEntries(Object.entries(step).map(([name, value]) => [name, isUnfilled(name) ? value : fillDeep(value, values)])) as S;
}

export function fillDeep<T>(value: T, values: TemplateValues): T {
  if (typeof value === 'string') return fillText(value, values) as T;
  if (Array.isArray(value)) return value.map((inner) => fillDeep<unknown>(inner, values)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fillDeep<unknown>(inner, values)])) as T;
}

function segmentsOf(text: string): ReturnType<typeof parseTemplate>['parts'] {
  const { parts: segments, problem } = parseTemplate(text);
  if (problem !== undefined) throw new StepError('invalid_value', `${problem}.`);
  return segments;
}

function valueOf({ from, path, filters }: TemplateValue, values: TemplateValues): unknown {
  const name = [from, ...path].join('.');
  let value: unknown = values[from] ?? {};
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
      throw new StepError('invalid_value', `${name} is not defined.`);
    value = (value as Record<string, unknown>)[key];
  }
  return filters.reduce((inner, filter) => applyFilter(filter, inner, name), value);
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  return JSON.stringify(value);
}

function applyFilter(filter: TemplateFilter, value: unknown, name: string): unknown {
  const text = toText(value);
  switch (filter) {
    case 'trim':
      return text.trim();
    case 'lower':
      return text.toLowerCase();
    case 'slug':
      return text
        .normalize('NFKD')
        .replace(/\p{M}/gu, '')
        .toLowerCase()
        .split(/[^\p{L}\p{N}]+/u)
        .filter(Boolean)
        .join('-');
    case 'number':
      return typeof value === 'number' ? value : (toNumber(text) ?? fail(`${name} is not a number`));
    case 'date':
      return toDate(text) ?? fail(`${name} is not a date`);
  }
}

const fail = (problem: string): never => {
  throw new StepError('invalid_value', `${problem}.`);
};

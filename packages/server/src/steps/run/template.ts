/** Fills `{{inputs.x}}` and `{{vars.y | trim}}` into a step's texts. Nothing in a template is ever run. */
import { toDate, toNumber } from '../../content/content.ts';
import { parseTemplate, type Step, type TemplateFilter, type TemplateValue } from '@berth/contract';
import { StepFailed } from '../context.ts';

export interface TemplateValues {
  inputs: Readonly<Record<string, unknown>>;
  vars: Readonly<Record<string, unknown>>;
}

/** As the longest field of a step may be: a variable may hold more. */
const filledCharsMax = 100_000;

/** @throws StepFailed `invalid_value` */
export function fillText(text: string, values: TemplateValues): string {
  if (!text.includes('{{')) return text;
  const filled = partsOf(text)
    .map((part) => (typeof part === 'string' ? part : toText(valueOf(part, values))))
    .join('');
  if (filled.length > filledCharsMax)
    throw new StepFailed('invalid_value', `A text with its values filled in may have ${filledCharsMax} characters.`);
  return filled;
}

/** What a template that is nothing but one value stands for: a list stays a list. */
export function fillValue(text: string, values: TemplateValues): unknown {
  const [part, ...more] = partsOf(text);
  return typeof part === 'object' && more.length === 0 ? valueOf(part, values) : fillText(text, values);
}

/** Names, code, and what belongs to steps within, are never filled in. */
const left = new Set([
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
  // `until` of a loop is looked at after each turn, with what the turn has made.
  const isLeft = (name: string): boolean => left.has(name) || (step.type === 'repeat' && name === 'until');
  return Object.fromEntries(Object.entries(step).map(([name, value]) => [name, isLeft(name) ? value : fillDeep(value, values)])) as S;
}

export function fillDeep<T>(value: T, values: TemplateValues): T {
  if (typeof value === 'string') return fillText(value, values) as T;
  if (Array.isArray(value)) return value.map((inner) => fillDeep<unknown>(inner, values)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fillDeep<unknown>(inner, values)])) as T;
}

function partsOf(text: string): ReturnType<typeof parseTemplate>['parts'] {
  const { parts, problem } = parseTemplate(text);
  if (problem !== undefined) throw new StepFailed('invalid_value', `${problem}.`);
  return parts;
}

function valueOf({ from, path, filters }: TemplateValue, values: TemplateValues): unknown {
  const name = [from, ...path].join('.');
  let value: unknown = values[from];
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
      throw new StepFailed('invalid_value', `There is no ${name}.`);
    value = (value as Record<string, unknown>)[key];
  }
  return filters.reduce((inner, filter) => filtered(filter, inner, name), value);
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  return JSON.stringify(value);
}

function filtered(filter: TemplateFilter, value: unknown, name: string): unknown {
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
      return typeof value === 'number' ? value : (toNumber(text) ?? refuse(`${name} is no number`));
    case 'date':
      return toDate(text) ?? refuse(`${name} is no date`);
  }
}

const refuse = (what: string): never => {
  throw new StepFailed('invalid_value', `${what}.`);
};

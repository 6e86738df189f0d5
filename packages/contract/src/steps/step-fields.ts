/** Building blocks of steps: selectors, patterns, templates and common fields. */
import { z } from 'zod';
import { boundedList, boundedString } from '../bounds.ts';
import { BrowsableUrl } from '../fields.ts';
import { selectorHint } from './selector-hint.ts';
import { parseTemplate } from './step-template.ts';

export const selectorKinds = ['css', 'xpath', 'text', 'aria', 'label', 'placeholder', 'testid', 'pierce', 'ref'] as const;

/** A reference of a snapshot: `e12`, or `f2e12` in a frame or another tab. */
export const refForm = '(?:f\\d{1,7})?e\\d{1,9}';
const refPattern = new RegExp(`^${refForm}$`);
export const Ref = boundedString(2, 20)
  .regex(refPattern)
  .describe('Reference of the element from a snapshot, such as `e12`, instead of `selectors`.');
export type SelectorKind = (typeof selectorKinds)[number];

export interface ParsedSelector {
  kind: SelectorKind;
  /** The text after the prefix; for `aria` the accessible name. */
  body: string;
  /** The role of an `aria` selector. */
  role?: string;
}

/** Parses one selector; null if it is malformed. CSS and XPath are only checked by the page. */
export function parseSelector(text: string): ParsedSelector | null {
  if (/^\(*\/\//.test(text)) return { kind: 'xpath', body: text };
  const prefix = /^([a-z]+)\//i.exec(text)?.[1];
  if (prefix === undefined) return text.trim() === '' ? null : { kind: 'css', body: text };
  const kind = selectorKinds.find((name) => name === prefix);
  const body = text.slice(prefix.length + 1);
  if (kind === undefined || body.trim() === '') return null;
  if (kind === 'ref' && !refPattern.test(body) && !body.includes('{{')) return null;
  return kind === 'aria' ? parseAria(body) : { kind, body };
}

/** `name`, `name[role="button"]` or `[role="button"]`. */
function parseAria(body: string): ParsedSelector | null {
  const [, name = '', role] = /^([^]*?)\[\s*role\s*=\s*["']?([a-z]+)["']?\s*\]\s*$/i.exec(body) ?? [undefined, body];
  return { kind: 'aria', body: name.trim(), ...(role === undefined ? {} : { role: role.toLowerCase() }) };
}

/** A text whose placeholders `{{inputs.x}}` and `{{vars.y | trim}}` are filled in when the step runs. */
export const templated = (min: number, max: number) =>
  boundedString(min, max).check((context) => {
    const { problem } = parseTemplate(context.value);
    if (problem !== undefined)
      context.issues.push({ code: 'custom', message: problem, input: context.value, params: { type: 'template' } });
  });

const selectorForms = 'a CSS selector, or text behind xpath/, text/, aria/, label/, placeholder/, testid/, pierce/ or ref/';
const notASelector = `Input should be ${selectorForms}`;

/** Refuses selectors of no known form, and those that only other tools understand. */
export const checkSelector = ({ value, issues }: z.core.ParsePayload<string>): void => {
  const parsed = parseSelector(value);
  const hint = parsed && parsed.kind !== 'css' ? undefined : selectorHint(value);
  if (parsed && hint === undefined) return;
  issues.push({ code: 'custom', message: notASelector, input: value, params: { type: 'selector', hint } });
};
const SelectorText = templated(1, 2000).check(checkSelector);

export const Selector = z.union([SelectorText, boundedList(SelectorText, 8).min(1)]).meta({
  id: 'Selector',
  description:
    `${selectorForms[0]?.toUpperCase()}${selectorForms.slice(1)}. ` +
    'A list is a path through frames and shadow roots, also closed ones: each entry is searched in the match of the previous one.',
  examples: ['#buy', 'text/Add to basket', 'aria/Search[role="textbox"]', ['iframe#card', 'label/Card number']],
});
export type Selector = z.infer<typeof Selector>;

export const Selectors = boundedList(Selector, 20)
  .min(1)
  .describe(
    'Alternative selectors, 1 to 20, tried in order: the first that matches anything is used. If it matches ' +
      'several elements, the first visible one is used, or the first of all if none is visible.',
  );

export type Selectors = z.infer<typeof Selectors>;

/** A pattern for texts and URLs. */
export const Pattern = templated(1, 500)
  .refine(isPattern, {
    error: 'Input should be a valid regular expression, with the flags i, m, s, u or v',
    params: { type: 'pattern' },
  })
  .describe(
    'Text to match: a substring; with `*`, the whole text, where each `*` matches anything; or `/…/` with the ' +
      'flags `imsuv`, a regular expression.',
  );

/** Returns the parts of `/source/flags`; null for the other forms. */
export function parsePattern(pattern: string): { source: string; flags: string } | null {
  const match = /^\/([^]+)\/([imsuv]*)$/.exec(pattern);
  return match ? { source: match[1] ?? '', flags: match[2] ?? '' } : null;
}

function isPattern(text: string): boolean {
  const parsed = parsePattern(text);
  // It is only compiled here. It runs in the page, where a slow one blocks nobody else.
  if (parsed === null || text.includes('{{')) return true;
  try {
    return new RegExp(withoutProperties(parsed), parsed.flags) instanceof RegExp;
  } catch {
    return false;
  }
}

/** Character properties, such as `L`, with their flag, that compiled once. The standard has a few hundred. */
const knownProperties = new Set<string>();

/**
 * The source with `\d` for each property. The set of a property is computed
 * whenever it is compiled, for up to 50 ms in a pattern of 500 characters.
 */
function withoutProperties({ source, flags }: { source: string; flags: string }): string {
  if (!/[uv]/.test(flags)) return source;
  return source.replace(/\\(?:[pP]\{([^{}]*)\}|[^])/g, (escape, name?: string) =>
    name !== undefined && isProperty(escape, flags) ? '\\d' : escape,
  );
}

function isProperty(escape: string, flags: string): boolean {
  const key = `${escape}${flags.includes('v') ? 'v' : 'u'}`;
  if (knownProperties.has(key)) return true;
  try {
    new RegExp(escape, flags).test('');
  } catch {
    return false;
  }
  knownProperties.add(key);
  return true;
}

/** A URL to open, checked here unless it contains placeholders. */
export const StepUrl = templated(1, 8192)
  .check((context) => {
    if (context.value.includes('{{')) return;
    for (const { message, ...issue } of BrowsableUrl.safeParse(context.value).error?.issues ?? [])
      context.issues.push({ code: 'custom', message, input: context.value, params: 'params' in issue ? issue.params : undefined });
  })
  .meta({
    description: 'URL to open, at most 8192 characters; may contain placeholders.',
    examples: ['https://example.com/', '{{inputs.url}}'],
  });

export const stepIdForm = '[A-Za-z][A-Za-z0-9_-]{0,63}';
export const StepId = boundedString(0, 64).regex(new RegExp(`^${stepIdForm}$`));

const variable = '[A-Za-z_][A-Za-z0-9_]{0,63}';
export const VariableName = boundedString(0, 64).regex(new RegExp(`^${variable}$`));

export const Condition = z
  .strictObject({
    exists: Selectors.optional().describe('Selectors of which one must match an element.'),
    not_exists: Selectors.optional().describe('Selectors of which none may match an element.'),
    text: Pattern.optional().describe('Text that the page must show.'),
    url_matches: Pattern.optional().describe('Pattern that the URL of the page must match.'),
  })
  .check(({ value, issues }) => {
    if (Object.values(value).every((part) => part === undefined))
      issues.push({
        code: 'custom',
        message: 'One of exists, not_exists, text, url_matches is required',
        input: value,
        params: { type: 'missing' },
      });
  })
  .meta({ id: 'StepCondition', description: 'All of the given conditions must hold when the step is evaluated.' });
export type Condition = z.infer<typeof Condition>;

const timeoutMs = (defaultMs: number) =>
  z.int().min(100).max(120_000).default(defaultMs).meta({ description: 'For each try, within the budget of the whole.' });

/** Fields of every step. */
export const commonFields = {
  id: StepId.optional().describe('Id of the step, for `goto:` and `opened_by:`. Unique in the whole list.'),
  description: boundedString(0, 500).optional().describe('Note of your own, at most 500 characters.'),
  timeout_ms: timeoutMs(10_000).describe(
    'Maximum time for each attempt in milliseconds, 100 to 120000, within the time of the whole run. Default: 10000.',
  ),
  optional: z.boolean().default(false).describe('Whether a failure counts as `skipped`, so that the next step runs. Default: `false`.'),
  retries: z.int().min(0).max(5).default(0).describe('Number of retries after a failure, 0 to 5. Default: 0.'),
  if: Condition.optional().describe('Condition without which the step is skipped.'),
  save_as: boundedString(0, 66)
    .regex(new RegExp(`^${variable}(\\[\\])?$`))
    .optional()
    .describe('Name of the variable that stores the output. `name[]` appends it to a list.'),
  on_error: boundedString(0, 69)
    .regex(new RegExp(`^(fail|continue|goto:${stepIdForm})$`))
    .default('fail')
    .describe('What to do after a failure: `fail`, `continue`, or `goto:<id>` of a step in the same list. Default: `fail`.'),
  frame: boundedList(SelectorText, 8)
    .min(1)
    .optional()
    .describe(
      'Path to the frame of the step: 1 to 8 selectors of frame elements, from the outermost to the innermost. ' +
        'Default: the main frame.',
    ),
  within: VariableName.optional().describe('`as` of an enclosing `for_each`: the step searches only in its current element.'),
  tab: boundedString(0, 207)
    .regex(new RegExp(`^(main|newest|opened_by:${stepIdForm}|tab_id:[A-Za-z0-9_-]{1,200})$`))
    .default('main')
    .describe(
      'Tab of the step. `main`: the tab in which the run started. `newest`, `opened_by:<step id>` or `tab_id:<id>`: ' +
        'another tab. Default: `main`.',
    ),
};
export const slowFields = {
  ...commonFields,
  timeout_ms: timeoutMs(30_000).describe(
    'Maximum time for each attempt in milliseconds, 100 to 120000, within the time of the whole run. Default: 30000.',
  ),
};

/** Options of a PDF that every way to one has. */
export const printFields = {
  header_template: boundedString(0, 10_000).optional().describe('HTML of the page header, at most 10000 characters. Default: none.'),
  footer_template: boundedString(0, 10_000).optional().describe('HTML of the page footer, at most 10000 characters. Default: none.'),
  prefer_css_page_size: z.boolean().default(false).describe('Whether a page size set in CSS takes precedence. Default: `false`.'),
  scroll_first: z
    .boolean()
    .default(true)
    .describe('Whether to scroll through the page first, so that lazy-loaded images are present. Default: `true`.'),
};

type Check = (payload: z.core.ParsePayload<Record<string, unknown>>) => void;

/** Requires exactly one of the fields. */
export const exactlyOne =
  (...names: readonly string[]): Check =>
  (payload) => {
    const { value, issues } = payload;
    const isMissing = names.every((name) => value[name] === undefined);
    const message = `One of ${names.join(', ')} is required`;
    if (isMissing) issues.push({ code: 'custom', message, path: [], input: value, params: { type: 'missing' } });
    atMostOne(...names)(payload);
  };

/** Rejects all of the fields but the first that is given. */
export const atMostOne =
  (...names: readonly string[]): Check =>
  ({ value, issues }) => {
    const [, ...more] = names.filter((name) => value[name] !== undefined);
    const message = `Only one of ${names.join(', ')} may be given`;
    for (const name of more) issues.push({ code: 'custom', message, path: [name], input: value, params: { type: 'value_error' } });
  };

/** Takes a reference as the selector `ref/e12`: `ref` is short for one of `selectors`, and `to_ref` of `to`. */
export const refAsSelector: Check = ({ value, issues }) => {
  for (const [name, list] of [
    ['ref', 'selectors'],
    ['to_ref', 'to'],
  ] as const) {
    const ref = value[name];
    if (typeof ref !== 'string') continue;
    if (value[list] !== undefined) {
      const message = `Only one of ${list}, ${name} may be given`;
      issues.push({ code: 'custom', message, path: [name], input: value, params: { type: 'value_error' } });
      continue;
    }
    value[list] = [`ref/${ref}`];
    delete value[name];
  }
};

/** Rejects fields that have no effect without `needed`. */
export const onlyWith =
  (needed: string, ...names: readonly string[]): Check =>
  ({ value, issues }) => {
    if (value[needed] !== undefined) return;
    for (const name of names.filter((field) => value[field] !== undefined))
      issues.push({
        code: 'custom',
        message: `This field requires \`${needed}\``,
        path: [name],
        input: value[name],
        params: { type: 'value_error' },
      });
  };

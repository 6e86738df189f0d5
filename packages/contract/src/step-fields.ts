/** What steps are made of: locators, patterns, templates and the fields that all of them share. */
import { z } from 'zod';
import { BrowsableUrl } from './fields.ts';
import { parseTemplate } from './step-template.ts';

export const selectorKinds = ['css', 'xpath', 'text', 'aria', 'label', 'placeholder', 'testid', 'pierce'] as const;
export type SelectorKind = (typeof selectorKinds)[number];

export interface ParsedSelector {
  kind: SelectorKind;
  /** What follows the prefix; for `aria` the accessible name. */
  body: string;
  /** For `aria` alone. */
  role?: string;
}

/** One string of a locator, taken apart; null for one that is none. Whether CSS and XPath are right, only a page knows. */
export function parseSelector(text: string): ParsedSelector | null {
  if (/^\(*\/\//.test(text)) return { kind: 'xpath', body: text };
  const prefix = /^([a-z]+)\//i.exec(text)?.[1];
  if (prefix === undefined) return text.trim() === '' ? null : { kind: 'css', body: text };
  const kind = selectorKinds.find((name) => name === prefix);
  const body = text.slice(prefix.length + 1);
  if (kind === undefined || body.trim() === '') return null;
  return kind === 'aria' ? parseAria(body) : { kind, body };
}

/** `name`, `name[role="button"]` or `[role="button"]`. */
function parseAria(body: string): ParsedSelector | null {
  const [, name = '', role] = /^([^]*?)\[\s*role\s*=\s*["']?([a-z]+)["']?\s*\]\s*$/i.exec(body) ?? [undefined, body];
  return { kind: 'aria', body: name.trim(), ...(role === undefined ? {} : { role: role.toLowerCase() }) };
}

/** A text in which `{{inputs.x}}` and `{{vars.y | trim}}` are filled in when the step runs. */
export const templated = (least: number, most: number) =>
  z
    .string()
    .min(least)
    .max(most)
    .check((context) => {
      const { problem } = parseTemplate(context.value);
      if (problem !== undefined)
        context.issues.push({ code: 'custom', message: problem, input: context.value, params: { type: 'template' } });
    });

const selectorForms = 'a CSS selector, or text behind xpath/, text/, aria/, label/, placeholder/, testid/ or pierce/';
const SelectorText = templated(1, 2000).refine((text) => parseSelector(text) !== null, {
  error: `Input should be ${selectorForms}`,
  params: { type: 'selector' },
});

export const Selector = z.union([SelectorText, z.array(SelectorText).min(1).max(8)]).meta({
  id: 'Selector',
  description: `${selectorForms[0]?.toUpperCase()}${selectorForms.slice(1)}. A list is a path: each entry is looked for in what the one before found, through frames and shadow roots.`,
  examples: ['#buy', 'text/Add to basket', 'aria/Search[role="textbox"]', ['iframe#card', 'label/Card number']],
});
export type Selector = z.infer<typeof Selector>;

export const Selectors = z.array(Selector).min(1).max(20).meta({
  description:
    'In order: the first that matches anything wins. Of several matches the first visible one is taken, in document order; the first of all when none is visible.',
});

export type Selectors = z.infer<typeof Selectors>;

/** How a text or an address is compared. */
export const Pattern = templated(1, 500)
  .refine(isPattern, {
    error: 'Input should be a regular expression that can be read, with the flags i, m, s, u or v',
    params: { type: 'pattern' },
  })
  .meta({
    description:
      'A part of the text; with `*` the whole of it, where each `*` stands for anything; or `/…/` with the flags `imsuv`, a regular expression.',
  });

/** The two parts of `/source/flags`; null for the plainer forms. */
export function parsePattern(pattern: string): { source: string; flags: string } | null {
  const match = /^\/([^]+)\/([imsuv]*)$/.exec(pattern);
  return match ? { source: match[1] ?? '', flags: match[2] ?? '' } : null;
}

function isPattern(text: string): boolean {
  const parsed = parsePattern(text);
  // Never run here, only read: a page runs it, in its own time.
  if (parsed === null || text.includes('{{')) return true;
  try {
    return new RegExp(parsed.source, parsed.flags) instanceof RegExp;
  } catch {
    return false;
  }
}

/** An address to send a browser to, which may be known only when the step runs. */
export const StepUrl = templated(1, 8192)
  .check((context) => {
    if (context.value.includes('{{')) return;
    for (const { message, ...issue } of BrowsableUrl.safeParse(context.value).error?.issues ?? [])
      context.issues.push({ code: 'custom', message, input: context.value, params: 'params' in issue ? issue.params : undefined });
  })
  .meta({ examples: ['https://example.com/', '{{inputs.url}}'] });

export const stepIdForm = '[A-Za-z][A-Za-z0-9_-]{0,63}';
export const StepId = z.string().regex(new RegExp(`^${stepIdForm}$`));

const variable = '[A-Za-z_][A-Za-z0-9_]{0,63}';
export const VariableName = z.string().regex(new RegExp(`^${variable}$`));

export const Condition = z
  .strictObject({
    exists: Selectors.optional(),
    not_exists: Selectors.optional(),
    text: Pattern.optional().meta({ description: 'The text that the page shows.' }),
    url_matches: Pattern.optional(),
  })
  .check(({ value, issues }) => {
    if (Object.values(value).every((part) => part === undefined))
      issues.push({
        code: 'custom',
        message: 'One of exists, not_exists, text, url_matches is needed',
        input: value,
        params: { type: 'missing' },
      });
  })
  .meta({ id: 'StepCondition', description: 'All that is said must hold, at the moment of looking.' });
export type Condition = z.infer<typeof Condition>;

const timeoutMs = (usual: number) =>
  z.int().min(100).max(120_000).default(usual).meta({ description: 'For each try, within the budget of the whole.' });

/** What every step may say. Steps that load something have a longer timeout of their own. */
export const commonFields = {
  id: StepId.optional().meta({ description: 'For `goto:` and `opened_by:`. Unique in the whole list.' }),
  description: z.string().max(500).optional(),
  timeout_ms: timeoutMs(10_000),
  optional: z.boolean().default(false).meta({ description: 'A failure is told as `skipped`, and the next step runs.' }),
  retries: z.int().min(0).max(5).default(0),
  if: Condition.optional().meta({ description: 'Skips the step when it does not hold.' }),
  save_as: z
    .string()
    .regex(new RegExp(`^${variable}(\\[\\])?$`))
    .optional()
    .meta({ description: 'The variable that takes the output. `name[]` adds it to a list.' }),
  on_error: z
    .string()
    .regex(new RegExp(`^(fail|continue|goto:${stepIdForm})$`))
    .default('fail')
    .meta({ description: '`fail`, `continue`, or `goto:<id>` of a step in the same list.' }),
  frame: z.array(SelectorText).min(1).max(8).optional().meta({ description: 'The way to a frame, from frame element to frame element.' }),
  within: VariableName.optional().meta({ description: 'Looks only in the element of the enclosing `for_each` with this `as`.' }),
  tab: z
    .string()
    .regex(new RegExp(`^(main|newest|opened_by:${stepIdForm}|tab_id:[A-Za-z0-9_-]{1,200})$`))
    .default('main')
    .meta({ description: '`main`: where the steps began. `newest`, `opened_by:<step id>` or `tab_id:<id>`.' }),
};
export const slowFields = { ...commonFields, timeout_ms: timeoutMs(30_000) };

type Check = (payload: z.core.ParsePayload<Record<string, unknown>>) => void;

/** Refuses what names none, or more than one, of these fields. */
export const exactlyOne =
  (...names: readonly string[]): Check =>
  ({ value, issues }) => {
    const [first, ...more] = names.filter((name) => value[name] !== undefined);
    const fault = (path: string[], message: string, type: string) =>
      issues.push({ code: 'custom', message, path, input: value, params: { type } });
    if (first === undefined) fault([], `One of ${names.join(', ')} is needed`, 'missing');
    for (const name of more) fault([name], `Only one of ${names.join(', ')} may be given`, 'value_error');
  };

/** Refuses fields that say nothing without another. */
export const onlyWith =
  (needed: string, ...names: readonly string[]): Check =>
  ({ value, issues }) => {
    if (value[needed] !== undefined) return;
    for (const name of names.filter((field) => value[field] !== undefined))
      issues.push({
        code: 'custom',
        message: `This belongs to \`${needed}\``,
        path: [name],
        input: value[name],
        params: { type: 'value_error' },
      });
  };

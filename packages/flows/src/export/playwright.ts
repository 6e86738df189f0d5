/** Exports steps as a Playwright test. */
import { Steps, parseSelector, parseTemplate, type TemplateValue } from '@berth/contract';
import { findKey, isChord, parseChord } from '@berth/devtools';
import type { FlowStep } from '../flow.ts';

/** The exported test; null when a step has no counterpart. */
export function exportPlaywright(title: string, steps: readonly FlowStep[]): string | null {
  if (!Steps.safeParse(steps).success || steps.length === 0) return null;
  const lines = toLines(steps);
  if (lines === null) return null;
  const body = lines.map((line) => `  ${line}`).join('\n');
  const names = [...new Set(lines.join('\n').match(/\b(?:inputs|vars|secret)\.[A-Za-z_]\w*/g) ?? [])];
  const fieldsOf = (from: string): string =>
    names
      .filter((name) => name.startsWith(`${from}.`))
      .map((name) => `${name.slice(from.length + 1)}: ${environment}[${quote(name.slice(from.length + 1).toUpperCase())}] ?? ''`)
      .join(', ');
  const inputs = fieldsOf('inputs');
  const secret = fieldsOf('secret');
  const usesRead = body.includes('read([');
  return [
    ...(usesRead
      ? ["import { expect, test, type Locator } from '@playwright/test';"]
      : ["import { expect, test } from '@playwright/test';"]),
    '',
    ...(inputs ? [`const inputs = { ${inputs} };`] : []),
    ...(secret ? [`const secret = { ${secret} };`] : []),
    ...(usesRead ? readFunction : []),
    '',
    `test(${quote(title)}, async ({ page }) => {`,
    ...(lines.some((line) => line.includes('vars.')) ? ['  const vars: Record<string, any> = {};'] : []),
    body,
    ...(lines.some((line) => line.includes('expect(')) ? [] : ["  await expect(page.locator('body')).toBeVisible();"]),
    '});',
    '',
  ].join('\n');
}

/** Object from which the exported test reads its inputs. */
const environment = ['process', 'env'].join('.');

/** Exported function that reads the text or an attribute of the first locator that has a match. */
const readFunction = [
  'async function read(locators: Locator[], attribute?: string): Promise<string | null> {',
  '  for (const locator of locators)',
  '    if ((await locator.count()) > 0) {',
  '      if (attribute === undefined) return (await locator.first().innerText()).trim();',
  '      return locator.first().evaluate((each, name) => {',
  '        const value = each.getAttribute(name);',
  "        return value !== null && ['href', 'src'].includes(name) ? new URL(value, document.baseURI).href : value;",
  '      }, attribute);',
  '    }',
  '  return null;',
  '}',
];

const quote = (text: string): string => JSON.stringify(text);

function toLines(steps: readonly FlowStep[]): string[] | null {
  const lines: string[] = [];
  for (const step of steps) {
    const code = toCode(step);
    if (code === null) return null;
    const { description } = step;
    if (typeof description === 'string') lines.push(`// ${description.replace(/\s+/g, ' ')}`);
    lines.push(...guarded(step, typeof code === 'string' ? [code] : code));
  }
  return lines;
}

/** An optional step may fail. */
const guarded = ({ optional }: FlowStep, lines: string[]): string[] =>
  optional === true ? ['try {', ...lines.map((line) => `  ${line}`), '} catch {}'] : lines;

/** Options of steps that have no line as a counterpart. */
const unsupported = ['if', 'on_error', 'retries', 'within', 'frame', 'tab'];
const ordinary: Record<string, unknown> = { on_error: 'fail', retries: 0, tab: 'main' };

function toCode(step: FlowStep): string | string[] | null {
  if (unsupported.some((name) => step[name] !== undefined && step[name] !== ordinary[name])) return null;
  const { type } = step;
  if (type === 'extract' || type === 'html' || type === 'markdown' || type === 'links') return toRead(step);
  const simple = simpleSteps[String(type)];
  if (simple) return simple(step);
  return type === 'wait' ? toWait(step) : type === 'assert' ? toAssert(step) : null;
}

type Writer = (step: FlowStep) => string | null;

const simpleSteps: Record<string, Writer> = {
  navigate: ({ url, wait_until: until }) =>
    call('page.goto', text(url), until === undefined || until === 'load' ? null : `{ waitUntil: ${JSON.stringify(until)} }`),
  back: () => 'await page.goBack();',
  forward: () => 'await page.goForward();',
  reload: () => 'await page.reload();',
  click: (step) => act(step, step['count'] === 2 ? 'dblclick' : 'click'),
  hover: (step) => act(step, 'hover'),
  fill: (step) => act(step, 'fill', text(step['value'])),
  type: (step) => (step['selectors'] ? act(step, 'pressSequentially', text(step['text'])) : call('page.keyboard.type', text(step['text']))),
  press: ({ selectors, keys, ...step }) =>
    typeof keys !== 'string' || !isChord(keys)
      ? null
      : selectors
        ? act({ ...step, selectors }, 'press', quote(toPlaywrightKeys(keys)))
        : call('page.keyboard.press', quote(toPlaywrightKeys(keys))),
  check: ({ value, label, index, ...step }) =>
    value === undefined && label === undefined && index === undefined ? act(step, step['state'] === false ? 'uncheck' : 'check') : null,
  select: ({ value, label, index, ...step }) => {
    const by = value === undefined ? (label === undefined ? null : { label }) : { value };
    if (by === null) return typeof index === 'number' ? act(step, 'selectOption', `{ index: ${index} }`) : null;
    const [[name, choice] = []] = Object.entries(by);
    return typeof choice === 'string' ? act(step, 'selectOption', `{ ${name}: ${text(choice)} }`) : null;
  },
  scroll: ({ to, selectors, until, container }) => {
    if (container !== undefined || until !== undefined) return null;
    if (selectors) return act({ selectors }, 'scrollIntoViewIfNeeded');
    const height = { top: '0', bottom: 'document.body.scrollHeight' }[String(to)];
    return height === undefined ? null : `await page.evaluate(() => window.scrollTo(0, ${height}));`;
  },
  screenshot: ({ full_page: fullPage, selectors }) =>
    selectors ? act({ selectors }, 'screenshot') : `await page.screenshot({ fullPage: ${fullPage === true} });`,
  pdf: () => 'await page.pdf();',
  set_viewport: ({ width, height }) => `await page.setViewportSize({ width: ${Number(width)}, height: ${Number(height)} });`,
};

/** Playwright cannot say that a character is typed as it is with Shift: there it comes without. */
function toPlaywrightKeys(keys: string): string {
  const { held, key, isExact } = parseChord(keys);
  return isExact ? [...held.filter((name) => findKey(name)?.key !== 'Shift'), key].join('+') : keys;
}

const call = (name: string, ...args: (string | null)[]): string | null => {
  const given = args.filter((arg) => arg !== null);
  return given.length === 0 ? null : `await ${name}(${given.join(', ')});`;
};

/** Time limit of a step that does not state another one. */
const stepTimeoutMs = 10_000;

function act({ selectors, timeout_ms: timeoutMs }: FlowStep, method: string, argument: string | null = ''): string | null {
  const locator = locatorOf(selectors);
  if (locator === null || argument === null) return null;
  const isOwn = typeof timeoutMs === 'number' && timeoutMs !== stepTimeoutMs && !argument.startsWith('{');
  return `await ${locator}.${method}(${[argument, isOwn ? `{ timeout: ${timeoutMs} }` : ''].filter((each) => each !== '').join(', ')});`;
}

function toWait({ ms, selectors, state = 'visible', text: shown, url, network_idle: idle, function: expression }: FlowStep): string | null {
  if (typeof ms === 'number') return `await page.waitForTimeout(${ms});`;
  if (selectors) return act({ selectors }, 'waitFor', `{ state: ${quote(String(state))} }`);
  if (typeof shown === 'string') return `await page.getByText(${text(shown)}).first().waitFor();`;
  if (typeof url === 'string' && !/[*/]\/?$/.test(url)) return `await page.waitForURL((address) => address.href.includes(${text(url)}));`;
  if (idle === true) return "await page.waitForLoadState('networkidle');";
  return typeof expression === 'string' ? `await page.waitForFunction(${quote(expression)});` : null;
}

function toAssert({ selectors, text: shown, url, count, ...more }: FlowStep): string | null {
  const others = Object.keys(more).filter((name) => !['type', 'id', 'description', 'timeout_ms', 'visible'].includes(name));
  if (others.length > 0 || typeof url === 'string') return null;
  if (!selectors) return typeof shown === 'string' ? `await expect(page.locator('body')).toContainText(${text(shown)});` : null;
  const locator = locatorOf(selectors);
  if (locator === null) return null;
  if (typeof shown === 'string') return `await expect(${locator}).toContainText(${text(shown)});`;
  return count !== undefined ? null : `await expect(${locator}).toBeVisible();`;
}

function toRead(step: FlowStep): string | string[] | null {
  const { type, selectors, save_as: name, list, attribute, fields, table, json_ld: jsonLd } = step;
  if (type !== 'extract') return type === 'html' && !selectors ? save(name, 'await page.content()') : null;
  if (table === true || jsonLd === true) return null;
  if (fields) return toRows(step);
  const locator = locatorOf(selectors, list === true);
  if (locator === null) return null;
  if (list === true && attribute !== undefined)
    return save(name, `await ${locator}.evaluateAll((all) => all.map((each) => ${attributeOf(attribute)}))`);
  if (list === true) return save(name, `await ${locator}.allInnerTexts()`);
  return save(
    name,
    attribute === undefined ? `await ${locator}.innerText()` : `await ${locator}.evaluate((each) => ${attributeOf(attribute)})`,
  );
}

/** Addresses are absolute, as the step reads them. */
const attributeOf = (attribute: unknown): string => {
  const name = JSON.stringify(attribute);
  const value = `each.getAttribute(${name})`;
  if (attribute !== 'href' && attribute !== 'src') return value;
  return `(each.hasAttribute(${name}) ? new URL(${value} ?? '', document.baseURI).href : null)`;
};

/** A record, or with `list` one for each match. */
function toRows({ selectors, fields, list, save_as: name }: FlowStep): string[] | null {
  const [from, row] = list === true ? ['item', toRow(fields, 'item')] : ['page', toRow(fields, 'page')];
  const rows = selectors === undefined ? null : locatorOf(selectors, list === true);
  if (row === null || typeof name !== 'string' || name.endsWith('[]') || (list === true) !== (rows !== null)) return null;
  if (rows === null) return [`vars.${name} = {`, ...row, '};'];
  return [
    `await ${rows}.first().waitFor();`,
    `vars.${name} = [];`,
    `for (const ${from} of await ${rows}.all())`,
    `  vars.${name}.push({`,
    ...row.map((line) => `  ${line}`),
    '  });',
  ];
}

/** The lines of a record's fields; null where one has no counterpart. */
function toRow(fields: unknown, from: 'page' | 'item'): string[] | null {
  const lines = Object.entries(fields as Record<string, FlowStep>).map(([name, { selectors, attribute, as = 'text', list }]) => {
    const locators = Array.isArray(selectors) ? selectors.map((selector) => toLocator(selector, from)) : [null];
    if (list === true || locators.includes(null) || (as !== 'text' && as !== 'url')) return null;
    const read = attribute ?? (as === 'url' ? 'href' : undefined);
    return `  ${quote(name)}: await read([${locators.join(', ')}]${typeof read === 'string' ? `, ${quote(read)}` : ''}),`;
  });
  return lines.includes(null) ? null : (lines as string[]);
}

const save = (name: unknown, value: string): string =>
  typeof name === 'string' && !name.endsWith('[]') ? `vars.${name} = ${value};` : `${value};`;

/** A locator of all alternatives, without `isList` of the first match only; null where one of them has no counterpart. */
function locatorOf(selectors: unknown, isList = false): string | null {
  const all = Array.isArray(selectors) ? selectors.map((selector) => toLocator(selector)) : [];
  const [first, ...others] = all;
  if (first === undefined || all.includes(null)) return null;
  const either = others.reduce<string>((locator, other) => `${locator}.or(${other})`, String(first));
  return isList ? either : `${either}.first()`;
}

function toLocator(selector: unknown, from: 'page' | 'item' = 'page'): string | null {
  const path = Array.isArray(selector) ? selector : [selector];
  let locator: string = from;
  for (const [index, part] of path.entries()) {
    const inner = toPart(String(part));
    if (inner === null) return null;
    const isFrame = index < path.length - 1 && /^i?frame\b/.test(String(part));
    locator = `${locator}.${inner}${isFrame ? '.contentFrame()' : ''}`;
  }
  return locator;
}

function toPart(selector: string): string | null {
  const parsed = parseSelector(selector);
  if (!parsed) return null;
  const body = text(parsed.body);
  switch (parsed.kind) {
    case 'css':
    case 'pierce':
      return `locator(${body})`;
    case 'xpath':
      return `locator(${text(`xpath=${parsed.body}`)})`;
    case 'text':
      return `getByText(${body})`;
    case 'label':
      return `getByLabel(${body})`;
    case 'placeholder':
      return `getByPlaceholder(${body})`;
    case 'testid':
      return `getByTestId(${body})`;
    case 'ref':
      // It means something in one document of one session only.
      return null;
    case 'aria':
      if (parsed.role === undefined) return `getByLabel(${body})`;
      return `getByRole(${quote(parsed.role)}${parsed.body === '' ? '' : `, { name: ${body} }`})`;
  }
}

/** A literal, or an expression with the values of its templates. */
function text(value: unknown): string {
  const { parts } = parseTemplate(String(value));
  if (parts.every((part) => typeof part === 'string')) return quote(parts.join(''));
  const [first, ...others] = parts;
  if (typeof first === 'object' && others.length === 0) return toExpression(first);
  const inner = parts.map((part) => (typeof part === 'string' ? part.replace(/[\\`]|\$(?=\{)/g, '\\$&') : `\${${toExpression(part)}}`));
  return `\`${inner.join('')}\``;
}

const methods: Partial<Record<string, string>> = { trim: '.trim()', lower: '.toLowerCase()' };

const toExpression = ({ from, path, filters }: TemplateValue): string => {
  const [name = '', ...inner] = path;
  const value = `${from}.${name.replace(/\W/g, '_')}${inner.map((key) => `[${quote(key)}]`).join('')}`;
  return value + filters.map((filter) => methods[filter] ?? '').join('');
};

/** The steps that have no others in them, type by type. */
import { z } from 'zod';
import { Pattern, Selectors, StepUrl, commonFields, exactlyOne, onlyWith, slowFields, templated } from './step-fields.ts';
import { Viewport } from './session-request.ts';

const waitUntil = z.enum(['load', 'domcontentloaded', 'networkidle', 'commit']).default('load');
const offset = z.number().min(-100_000).max(100_000);
const Point = z.strictObject({ x: offset, y: offset });
const pixels = z.int().min(0).max(1_000_000);

/** A step of one type: its own fields and those that all steps have. */
const step = <T extends string, F extends z.core.$ZodLooseShape>(type: T, fields: F) =>
  z.strictObject({ type: z.literal(type), ...commonFields, ...fields });
const slowStep = <T extends string, F extends z.core.$ZodLooseShape>(type: T, fields: F) =>
  z.strictObject({ type: z.literal(type), ...slowFields, ...fields });

const NavigateStep = slowStep('navigate', { url: StepUrl, wait_until: waitUntil, referer: StepUrl.optional() }).meta({
  id: 'NavigateStep',
});
const BackStep = slowStep('back', { wait_until: waitUntil }).meta({ id: 'BackStep' });
const ForwardStep = slowStep('forward', { wait_until: waitUntil }).meta({ id: 'ForwardStep' });
const ReloadStep = slowStep('reload', { wait_until: waitUntil }).meta({ id: 'ReloadStep' });

const target = { selectors: Selectors };
const force = z.boolean().default(false).meta({ description: 'Does it although the element is covered, moves, or is disabled.' });
const position = Point.optional().meta({ description: 'From the element’s upper left corner; its middle when absent.' });
const pointed = {
  ...target,
  position,
  force,
  modifiers: z
    .array(z.enum(['Alt', 'Control', 'Meta', 'Shift']))
    .max(4)
    .default([]),
};
const delayMs = z.int().min(0).max(1000).default(0);

const ClickStep = step('click', {
  ...pointed,
  button: z.enum(['left', 'middle', 'right']).default('left'),
  count: z.int().min(1).max(3).default(1).meta({ description: '2 for a double click.' }),
  delay_ms: delayMs.meta({ description: 'Between the button’s going down and coming up.' }),
}).meta({ id: 'ClickStep' });
const HoverStep = step('hover', pointed).meta({ id: 'HoverStep' });
const FillStep = step('fill', {
  ...target,
  value: templated(0, 100_000),
  clear: z.boolean().default(true).meta({ description: 'false: adds to what is there.' }),
  force,
}).meta({ id: 'FillStep', description: 'Puts a value into a field at once: text fields, editable elements, dates, colours, ranges.' });
const TypeStep = step('type', {
  selectors: Selectors.optional().meta({ description: 'The focused element when absent.' }),
  text: templated(0, 10_000),
  delay_ms: delayMs.meta({ description: 'Between two keys.' }),
}).meta({ id: 'TypeStep', description: 'Key by key, as a person types.' });
const Keys = z.string().min(1).max(100);
const PressStep = step('press', {
  selectors: Selectors.optional().meta({ description: 'The focused element when absent.' }),
  keys: z.union([Keys, z.array(Keys).min(1).max(50)]).meta({ examples: ['Enter', 'Control+A', ['ArrowDown', 'Enter']] }),
  delay_ms: delayMs.meta({ description: 'Between two keys.' }),
}).meta({ id: 'PressStep' });

const choices = <T extends z.ZodType>(one: T) => z.union([one, z.array(one).max(100)]).optional();
const SelectStep = step('select', {
  ...target,
  value: choices(templated(0, 1000)),
  label: choices(templated(0, 1000)),
  index: choices(z.int().min(0).max(10_000)),
  force,
})
  .check(exactlyOne('value', 'label', 'index'))
  .meta({ id: 'SelectStep', description: 'A list chooses several options of a multiple selection; an empty one chooses none.' });
const CheckStep = step('check', { ...target, state: z.boolean().default(true), position, force }).meta({
  id: 'CheckStep',
  description: 'A checkbox, radio button or switch is put into this state.',
});
const UploadStep = step('upload', { ...target, file_ids: z.array(z.string().min(1).max(200)).max(20) }).meta({
  id: 'UploadStep',
  description: 'An empty list takes the files out again.',
});
const DragStep = step('drag', {
  ...target,
  to: Selectors.optional().meta({ description: 'The element to drop on.' }),
  by: Point.optional().meta({ description: 'How far, for sliders and canvases.' }),
  position,
  to_position: Point.optional(),
  moves: z.int().min(1).max(100).default(10).meta({ description: 'In how many moves of the mouse.' }),
  force,
})
  .check(exactlyOne('to', 'by'), onlyWith('to', 'to_position'))
  .meta({ id: 'DragStep' });
const ScrollStep = slowStep('scroll', {
  container: Selectors.optional().meta({ description: 'The element that scrolls; the page when absent.' }),
  to: z.union([z.enum(['top', 'bottom']), Point]).optional(),
  selectors: Selectors.optional().meta({ description: 'The element to bring into view.' }),
  by: Point.optional(),
  until: z
    .strictObject({
      stable: z.boolean().default(true).meta({ description: 'Ends when nothing has grown for `idle_ms`.' }),
      selectors: Selectors.optional().meta({ description: 'Ends when this matches.' }),
      count: z.int().min(1).max(100_000).optional().meta({ description: 'Ends when `selectors` matches so many times.' }),
    })
    .check(onlyWith('selectors', 'count'))
    .optional()
    .meta({ description: 'Scrolls again and again, for pages that load as one goes.' }),
  max: z.int().min(1).max(500).default(50).meta({ description: 'How often at most, with `until`.' }),
  idle_ms: z.int().min(100).max(10_000).default(1000),
})
  .check(exactlyOne('to', 'selectors', 'by'))
  .meta({ id: 'ScrollStep' });

const WaitStep = slowStep('wait', {
  ms: z.int().min(0).max(60_000).optional(),
  selectors: Selectors.optional(),
  state: z.enum(['visible', 'attached', 'hidden', 'detached']).optional().meta({ description: 'Of `selectors`; `visible` when absent.' }),
  text: Pattern.optional(),
  url: Pattern.optional(),
  network_idle: z.literal(true).optional(),
  function: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .meta({ description: 'An expression, asked in the page until it is true. Where `evaluate` is allowed.' }),
})
  .check(exactlyOne('ms', 'selectors', 'text', 'url', 'network_idle', 'function'), onlyWith('selectors', 'state'))
  .meta({ id: 'WaitStep' });

const AttributeName = z
  .string()
  .max(100)
  .regex(/^[A-Za-z_:][\w:.-]*$/);
const value = {
  attribute: AttributeName.optional().meta({ description: 'The text when absent. Addresses are made absolute.' }),
  as: z.enum(['text', 'html', 'value', 'number', 'boolean', 'date', 'url']).default('text'),
};
const StepExtractField = z.strictObject({ selectors: Selectors.optional(), ...value, list: z.boolean().default(false) }).meta({
  id: 'StepExtractField',
  description: 'Without `selectors`: of the element itself. null where nothing matches.',
});
export type StepExtractField = z.infer<typeof StepExtractField>;
const Fields = z.record(z.string().min(1).max(64), StepExtractField).refine((fields) => Object.keys(fields).length <= 100, {
  error: 'Input should have at most 100 entries',
  params: { type: 'too_long', ctx: { max_length: 100 } },
});
const ExtractStep = step('extract', {
  selectors: Selectors.optional().meta({
    description: 'One value of this element; with `list`, of each; with `fields`, the element they are looked for in.',
  }),
  ...value,
  list: z.boolean().default(false).meta({ description: 'Every match instead of the first.' }),
  fields: Fields.optional().meta({ description: 'A value for each name; with `list`, an object for each match of `selectors`.' }),
  table: z.boolean().default(false).meta({ description: 'The table at `selectors`, or all tables of the page.' }),
  json_ld: z.boolean().default(false).meta({ description: 'The page’s JSON-LD.' }),
  limit: z.int().min(1).max(10_000).default(1000).meta({ description: 'How many matches a list takes at most.' }),
})
  .check(({ value, issues }) => {
    const fault = (message: string, type: string) => issues.push({ code: 'custom', message, input: value, params: { type } });
    if (!value.selectors && !value.fields && !value.table && !value.json_ld)
      fault('One of selectors, fields, table, json_ld is needed', 'missing');
    if ([value.fields !== undefined, value.table, value.json_ld].filter(Boolean).length > 1)
      fault('Only one of fields, table, json_ld may be given', 'value_error');
    if (value.list && !value.selectors) fault('A list is made of what `selectors` matches', 'value_error');
  })
  .meta({ id: 'ExtractStep' });

const ScreenshotStep = slowStep('screenshot', {
  selectors: Selectors.optional().meta({ description: 'Of this element alone.' }),
  format: z.enum(['png', 'jpeg', 'webp']).default('png'),
  quality: z.int().min(0).max(100).optional().meta({ description: 'For jpeg and webp.' }),
  full_page: z.boolean().default(false),
  scroll_first: z
    .boolean()
    .optional()
    .meta({ description: 'Whether the page is scrolled through before, for lazy images; with `full_page` when absent.' }),
  omit_background: z.boolean().default(false),
}).meta({ id: 'ScreenshotStep' });
const inches = z.number().min(0).max(200);
const PdfStep = slowStep('pdf', {
  landscape: z.boolean().default(false),
  print_background: z.boolean().default(true),
  scale: z.number().min(0.1).max(2).default(1),
  paper_width_inches: inches.optional(),
  paper_height_inches: inches.optional(),
  margin_inches: z.number().min(0).max(20).optional(),
  page_ranges: z
    .string()
    .max(200)
    .regex(/^[\d\s,-]+$/)
    .optional(),
  header_template: z.string().max(10_000).optional(),
  footer_template: z.string().max(10_000).optional(),
  prefer_css_page_size: z.boolean().default(false),
}).meta({ id: 'PdfStep' });
const part = { selectors: Selectors.optional().meta({ description: 'Of this element alone.' }) };
const HtmlStep = step('html', part).meta({ id: 'HtmlStep' });
const MarkdownStep = step('markdown', { ...part, only_main_content: z.boolean().default(false) }).meta({ id: 'MarkdownStep' });
const LinksStep = step('links', part).meta({ id: 'LinksStep' });
const DownloadStep = slowStep('download', {
  selectors: Selectors.optional().meta({ description: 'What is clicked for it.' }),
  url: StepUrl.optional(),
})
  .check(exactlyOne('selectors', 'url'))
  .meta({ id: 'DownloadStep' });

const DialogStep = step('dialog', {
  accept: z.boolean().default(true),
  text: templated(0, 10_000).optional().meta({ description: 'For a prompt.' }),
}).meta({
  id: 'DialogStep',
  description:
    'How the dialogs that come from now on are answered; without it they are dismissed. Its output tells those that came before.',
});
const SetCookieStep = step('set_cookie', {
  name: z.string().min(1).max(256),
  value: templated(0, 4096),
  url: StepUrl.optional().meta({ description: 'The page’s own address when neither this nor `domain` is given.' }),
  domain: z.string().min(1).max(253).optional(),
  path: z.string().min(1).max(1024).optional(),
  expires: z.int().min(0).max(253_402_300_799).optional().meta({ description: 'Seconds since 1970; for the session when absent.' }),
  http_only: z.boolean().default(false),
  secure: z.boolean().default(false),
  same_site: z.enum(['Strict', 'Lax', 'None']).optional(),
}).meta({ id: 'SetCookieStep' });
const SetHeaderStep = step('set_header', {
  name: z
    .string()
    .max(128)
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/),
  value: templated(0, 4096).nullable().meta({ description: 'null takes the header out again.' }),
})
  .check(({ value, issues }) => {
    if (connectionHeaders.has(value.name.toLowerCase()))
      issues.push({
        code: 'custom',
        message: 'This header belongs to the connection and cannot be set',
        path: ['name'],
        input: value.name,
        params: { type: 'header_not_allowed' },
      });
  })
  .meta({ id: 'SetHeaderStep', description: 'Sent with every request of the tab from now on.' });
const connectionHeaders = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade host content-length expect'.split(
    ' ',
  ),
);
const SetViewportStep = step('set_viewport', Viewport.shape).meta({ id: 'SetViewportStep' });
const EvaluateStep = step('evaluate', { expression: z.string().min(1).max(100_000) }).meta({
  id: 'EvaluateStep',
  description: 'JavaScript in the page, where that is allowed. Templates are not filled in. A promise is waited for.',
});

const AssertStep = step('assert', {
  selectors: Selectors.optional(),
  text: Pattern.optional().meta({ description: 'Of `selectors`, or of the page.' }),
  url: Pattern.optional(),
  title: Pattern.optional(),
  visible: z.boolean().optional(),
  count: z.union([pixels, z.strictObject({ min: pixels.optional(), max: pixels.optional() })]).optional(),
  value: Pattern.optional().meta({ description: 'Of a field.' }),
  checked: z.boolean().optional(),
  enabled: z.boolean().optional(),
})
  .check(onlyWith('selectors', 'visible', 'count', 'value', 'checked', 'enabled'), ({ value, issues }) => {
    const { selectors, text, url, title } = value;
    if ([selectors, text, url, title].every((part) => part === undefined))
      issues.push({ code: 'custom', message: 'One of selectors, text, url, title is needed', input: value, params: { type: 'missing' } });
  })
  .meta({
    id: 'AssertStep',
    description: 'Waits until all of it holds, and fails with `assertion_failed` when it does not. `selectors` alone: it is visible.',
  });

export const plainSteps = [
  NavigateStep,
  BackStep,
  ForwardStep,
  ReloadStep,
  ClickStep,
  HoverStep,
  FillStep,
  TypeStep,
  PressStep,
  SelectStep,
  CheckStep,
  UploadStep,
  DragStep,
  ScrollStep,
  WaitStep,
  ExtractStep,
  ScreenshotStep,
  PdfStep,
  HtmlStep,
  MarkdownStep,
  LinksStep,
  DownloadStep,
  DialogStep,
  SetCookieStep,
  SetHeaderStep,
  SetViewportStep,
  EvaluateStep,
  AssertStep,
] as const;
export type PlainStep = z.infer<(typeof plainSteps)[number]>;

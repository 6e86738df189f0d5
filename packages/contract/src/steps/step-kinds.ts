/** The steps without nested steps. */
import { z } from 'zod';
import { boundedList, boundedRecord, boundedString } from '../bounds.ts';
import { connectionHeaders } from '../fields.ts';
import {
  Pattern,
  Ref,
  Selectors,
  StepUrl,
  atMostOne,
  commonFields,
  exactlyOne,
  onlyWith,
  printFields,
  refAsSelector,
  slowFields,
  templated,
} from './step-fields.ts';
import { Viewport } from '../sessions/session-request.ts';
import { SnapshotOptions } from './snapshot-options.ts';

const waitUntil = z
  .enum(['load', 'domcontentloaded', 'networkidle', 'commit'])
  .default('load')
  .describe(
    'Page event to wait for: `commit` (response received), `domcontentloaded`, `load` or `networkidle` (' +
      'no request open for half a second; event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds do not count). Default: `load`.',
  );
const offset = z.number().min(-100_000).max(100_000);
const Point = z.strictObject({
  x: offset.describe('Horizontal distance in CSS pixels, -100000 to 100000.'),
  y: offset.describe('Vertical distance in CSS pixels, -100000 to 100000.'),
});
const pixels = z.int().min(0).max(1_000_000);

/** Adds the common fields to those of one type. Steps that load something have a longer timeout. */
const step = <T extends string, F extends z.core.$ZodLooseShape>(type: T, fields: F) =>
  z.strictObject({ type: z.literal(type), ...commonFields, ...fields });
const slowStep = <T extends string, F extends z.core.$ZodLooseShape>(type: T, fields: F) =>
  z.strictObject({ type: z.literal(type), ...slowFields, ...fields });

const NavigateStep = slowStep('navigate', {
  url: StepUrl.describe('URL to open, at most 8192 characters; may contain placeholders.'),
  wait_until: waitUntil,
  referer: StepUrl.optional().describe('URL to send as the `Referer` header. Default: none.'),
}).meta({
  id: 'NavigateStep',
  description: 'Opens a URL.',
});
const BackStep = slowStep('back', { wait_until: waitUntil }).meta({ id: 'BackStep', description: 'Goes back in the history of the tab.' });
const ForwardStep = slowStep('forward', { wait_until: waitUntil }).meta({
  id: 'ForwardStep',
  description: 'Goes forward in the history of the tab.',
});
const ReloadStep = slowStep('reload', { wait_until: waitUntil }).meta({ id: 'ReloadStep', description: 'Reloads the page.' });

const ref = { ref: Ref.optional() };
const targetSelectors = Selectors.optional().describe(
  'Selectors of the element, 1 to 20, tried in order: the first that matches anything is used. One of `selectors` and `ref` is required.',
);
const target = {
  // Required once `refAsSelector` has put the reference into it.
  selectors: targetSelectors as z.ZodType as typeof Selectors,
  ...ref,
};
/** As for any other required field. */
const needsTarget = ({ value, issues }: z.core.ParsePayload<{ selectors: Selectors }>): void => {
  if ((value.selectors as Selectors | undefined) === undefined)
    issues.push({
      code: 'custom',
      message: 'Field required: `selectors`, or a `ref`',
      path: ['selectors'],
      input: value,
      params: { type: 'missing' },
    });
};
const force = z.boolean().default(false).describe('Whether to act although the element is covered, moving or disabled. Default: `false`.');
const position = Point.optional().describe('Offset from the element’s top left corner. Default: its center.');
const pointed = {
  ...target,
  position,
  force,
  modifiers: boundedList(z.enum(['Alt', 'Control', 'Meta', 'Shift']), 4)
    .default([])
    .describe('Modifier keys to hold. Default: none.'),
};
const delayMs = z.int().min(0).max(1000).default(0);

const ClickStep = step('click', {
  ...pointed,
  button: z.enum(['left', 'middle', 'right']).default('left').describe('Mouse button. Default: `left`.'),
  count: z.int().min(1).max(3).default(1).describe('Number of clicks, 1 to 3: 2 for a double click. Default: 1.'),
  delay_ms: delayMs.describe('Milliseconds between pressing and releasing the button, 0 to 1000. Default: 0.'),
})
  .check(refAsSelector, needsTarget)
  .meta({ id: 'ClickStep', description: 'Clicks an element.' });
const HoverStep = step('hover', pointed)
  .check(refAsSelector, needsTarget)
  .meta({ id: 'HoverStep', description: 'Moves the mouse over an element.' });
const FillStep = step('fill', {
  ...target,
  value: templated(0, 100_000).describe('Value to set, at most 100000 characters; may contain placeholders.'),
  clear: z.boolean().default(true).describe('Whether to replace the existing value instead of appending to it. Default: `true`.'),
  force,
})
  .check(refAsSelector, needsTarget)
  .meta({ id: 'FillStep', description: 'Sets the value of a field at once: text fields, editable elements, dates, colors and ranges.' });
const TypeStep = step('type', {
  ...ref,
  selectors: Selectors.optional().describe('Selectors of the element to type into. Default: the focused element.'),
  text: templated(0, 10_000).describe('Text to type, at most 10000 characters; may contain placeholders.'),
  delay_ms: delayMs.describe('Milliseconds between two keys, 0 to 1000. Default: 0.'),
})
  .check(refAsSelector)
  .meta({ id: 'TypeStep', description: 'Types text key by key.' });
const Keys = boundedString(1, 100);
const PressStep = step('press', {
  ...ref,
  selectors: Selectors.optional().describe('Selectors of the element to focus first. Default: the focused element.'),
  keys: z.union([Keys, boundedList(Keys, 50).min(1)]).meta({
    description:
      'A key or key combination, or up to 50 of them in order. It holds the modifiers that it names: `+` and `A` come without Shift, ' +
      "`Shift+'/'` types `/`.",
    examples: ['Enter', 'Control+A', ['ArrowDown', 'Enter']],
  }),
  delay_ms: delayMs.describe('Milliseconds between two keys, 0 to 1000. Default: 0.'),
})
  .check(refAsSelector)
  .meta({ id: 'PressStep', description: 'Presses keys or key combinations.' });

const choices = <T extends z.ZodType>(one: T) => z.union([one, boundedList(one, 100)]).optional();
const SelectStep = step('select', {
  ...target,
  value: choices(templated(0, 1000)).describe('Value of the option, or a list of at most 100 values.'),
  label: choices(templated(0, 1000)).describe('Label of the option, or a list of at most 100 labels.'),
  index: choices(z.int().min(0).max(10_000)).describe('Position of the option, from 0, or a list of at most 100 positions.'),
  force,
})
  .check(refAsSelector, needsTarget, exactlyOne('value', 'label', 'index'))
  .meta({
    id: 'SelectStep',
    description:
      'Selects options of a list, or a radio button of a group: of a fieldset, its legend, an ARIA group, or any button of it. ' +
      'Several values select several options of a multiple selection; an empty list ' +
      'selects none. Exactly one of `value`, `label` and `index` is required.',
  });
const CheckStep = step('check', {
  ...target,
  state: z.boolean().default(true).describe('Whether it is to be checked. Default: `true`.'),
  value: choices(templated(0, 1000)).describe('In a group: value of the box, or a list of at most 100 values.'),
  label: choices(templated(0, 1000)).describe('In a group: label of the box, or a list of at most 100 labels.'),
  index: choices(z.int().min(0).max(10_000)).describe('In a group: position of the box, from 0, or a list of at most 100 positions.'),
  position,
  force,
})
  .check(refAsSelector, needsTarget, atMostOne('value', 'label', 'index'))
  .meta({
    id: 'CheckStep',
    description:
      'Sets a checkbox, radio button or switch, or one of a group: of a fieldset, its legend, an ARIA group, or any box of it. ' +
      'In a group of several, one of `value`, `label` and `index` is required.',
  });
const UploadStep = step('upload', {
  ...target,
  file_ids: boundedList(boundedString(1, 200), 20).describe('Ids of uploaded files, at most 20. An empty list clears the field.'),
})
  .check(refAsSelector, needsTarget)
  .meta({
    id: 'UploadStep',
    description: 'Gives files to a file field.',
  });
const DragStep = step('drag', {
  ...target,
  to: Selectors.optional().describe('Selectors of the element to drop on. Exactly one of `to`, `to_ref` and `by` is required.'),
  to_ref: Ref.optional().describe('Reference of the element to drop on, from a snapshot, instead of `to`.'),
  by: Point.optional().describe('Distance to drag, for sliders and canvases.'),
  position,
  to_position: Point.optional().describe('Offset from the top left corner of the element to drop on. Default: its center.'),
  moves: z.int().min(1).max(100).default(10).describe('Number of mouse moves, 1 to 100. Default: 10.'),
  force,
})
  .check(refAsSelector, needsTarget, exactlyOne('to', 'by'), onlyWith('to', 'to_position'))
  .meta({ id: 'DragStep', description: 'Drags an element to another element or by a distance.' });
const ScrollStep = slowStep('scroll', {
  container: Selectors.optional().describe('Selectors of the element to scroll. Default: the page.'),
  to: z
    .union([z.enum(['top', 'bottom']), Point])
    .optional()
    .describe('Position to scroll to: `top`, `bottom`, or a point.'),
  selectors: Selectors.optional().describe('Selectors of the element to scroll into view.'),
  ...ref,
  by: Point.optional().describe('Distance to scroll.'),
  until: z
    .strictObject({
      stable: z.boolean().default(true).describe('Whether to stop when nothing has grown for `idle_ms`. Default: `true`.'),
      selectors: Selectors.optional().describe('Stop when one of these selectors matches.'),
      count: z.int().min(1).max(100_000).optional().describe('Stop when `selectors` has this many matches, 1 to 100000.'),
    })
    .check(onlyWith('selectors', 'count'))
    .optional()
    .describe('Condition until which to scroll repeatedly, for pages that load more as they are scrolled.'),
  max: z.int().min(1).max(500).default(50).describe('Maximum number of scrolls with `until`, 1 to 500. Default: 50.'),
  idle_ms: z
    .int()
    .min(100)
    .max(10_000)
    .default(1000)
    .describe('Milliseconds without growth that count as stable, 100 to 10000. Default: 1000.'),
})
  .check(refAsSelector, exactlyOne('to', 'selectors', 'by'))
  .meta({ id: 'ScrollStep', description: 'Scrolls the page or an element. Exactly one of `to`, `selectors` and `by` is required.' });

const WaitStep = slowStep('wait', {
  ms: z.int().min(0).max(60_000).optional().describe('Milliseconds to wait, 0 to 60000.'),
  selectors: Selectors.optional().describe('Selectors of the element to wait for.'),
  ...ref,
  state: z
    .enum(['visible', 'attached', 'hidden', 'detached'])
    .optional()
    .describe('State of the element to wait for. Requires `selectors`. Default: `visible`.'),
  text: Pattern.optional().describe('Text that the page must show.'),
  url: Pattern.optional().describe('Pattern that the URL of the page must match.'),
  network_idle: z
    .literal(true)
    .optional()
    .describe(
      'Wait until no request was open for half a second. Event streams, WebSockets, media, beacons and requests that are open for longer ' +
        'than 5 seconds, such as long polls, do not count.',
    ),
  function: boundedString(1, 10_000)
    .optional()
    .describe('JavaScript expression to evaluate in the page until it is true, where the operator allows `evaluate`.'),
})
  .check(refAsSelector, exactlyOne('ms', 'selectors', 'text', 'url', 'network_idle', 'function'), onlyWith('selectors', 'state'))
  .meta({
    id: 'WaitStep',
    description: 'Waits for a condition. Exactly one of `ms`, `selectors`, `text`, `url`, `network_idle` and `function` is required.',
  });

const AttributeName = boundedString(0, 100).regex(/^[A-Za-z_:][\w:.-]*$/);
const value = {
  attribute: AttributeName.optional().describe('Attribute to read; URLs are made absolute. Default: the text of the element.'),
  as: z.enum(['text', 'html', 'value', 'number', 'boolean', 'date', 'url']).default('text').describe('Type of the value. Default: `text`.'),
};
const StepExtractField = z
  .strictObject({
    selectors: Selectors.optional().describe('Selectors of the element. Default: the element of the step itself.'),
    ...value,
    list: z.boolean().default(false).describe('Whether to return all matches instead of the first. Default: `false`.'),
  })
  .meta({
    id: 'StepExtractField',
    description: 'A value to extract. Without `selectors` it is read from the element itself. It is null if nothing matches.',
  });
export type StepExtractField = z.infer<typeof StepExtractField>;
const Fields = boundedRecord(boundedString(1, 64), StepExtractField, 100);
const ExtractStep = step('extract', {
  ...ref,
  selectors: Selectors.optional().describe(
    'Selectors of the element to read; with `list`, of all elements; with `fields`, of the element in which the fields are searched.',
  ),
  ...value,
  list: z.boolean().default(false).describe('Whether to return all matches instead of the first. Default: `false`.'),
  fields: Fields.optional().describe('Values to extract, by name, at most 100; with `list`, an object for each match of `selectors`.'),
  table: z.boolean().default(false).describe('Whether to return the table at `selectors`, or all tables of the page. Default: `false`.'),
  json_ld: z.boolean().default(false).describe('Whether to return the JSON-LD documents of the page. Default: `false`.'),
  limit: z.int().min(1).max(10_000).default(1000).describe('Maximum number of matches in a list, 1 to 10000. Default: 1000.'),
})
  .check(refAsSelector, ({ value, issues }) => {
    const addIssue = (message: string, type: string) => issues.push({ code: 'custom', message, input: value, params: { type } });
    if (!value.selectors && !value.fields && !value.table && !value.json_ld)
      addIssue('One of selectors, fields, table, json_ld is required', 'missing');
    if ([value.fields !== undefined, value.table, value.json_ld].filter(Boolean).length > 1)
      addIssue('Only one of fields, table, json_ld may be given', 'value_error');
    if (value.list && !value.selectors) addIssue('`list` requires `selectors`', 'value_error');
  })
  .meta({
    id: 'ExtractStep',
    description: 'Extracts values from the page. At least one of `selectors`, `fields`, `table` and `json_ld` is required.',
  });

const ScreenshotStep = slowStep('screenshot', {
  selectors: Selectors.optional().describe('Selectors of a single element to capture. Default: the page.'),
  ...ref,
  format: z.enum(['png', 'jpeg', 'webp']).default('png').describe('Image format. Default: `png`.'),
  quality: z.int().min(0).max(100).optional().describe('Image quality for `jpeg` and `webp`, 0 to 100.'),
  full_page: z.boolean().default(false).describe('Whether to capture the full page instead of the visible area. Default: `false`.'),
  scroll_first: z
    .boolean()
    .optional()
    .describe('Whether to scroll through the page first, so that lazy-loaded images are present. Default: the value of `full_page`.'),
  omit_background: z.boolean().default(false).describe('Whether to make the page’s default background transparent. Default: `false`.'),
  annotate: z.boolean().default(false).describe('Whether to draw references of a snapshot on what can be operated. Default: `false`.'),
})
  .check(refAsSelector)
  .meta({ id: 'ScreenshotStep', description: 'Takes a screenshot.' });
const SnapshotStep = slowStep('snapshot', {
  selectors: Selectors.optional().describe('Selectors of a single element to read. Default: the page.'),
  ...ref,
  ...SnapshotOptions.shape,
  format: z.enum(['text', 'json']).default('text').describe('Format of the snapshot. Default: `text`.'),
})
  .check(refAsSelector)
  .meta({
    id: 'SnapshotStep',
    description:
      'Returns the page or an element as an accessibility tree with references, as `GET /v1/session/{session_id}/snapshot` does.',
  });
const inches = z.number().min(0).max(200);
const PdfStep = slowStep('pdf', {
  landscape: z.boolean().default(false).describe('Whether to use landscape orientation. Default: `false`.'),
  print_background: z.boolean().default(true).describe('Whether to print backgrounds. Default: `true`.'),
  scale: z.number().min(0.1).max(2).default(1).describe('Scale of the page, 0.1 to 2. Default: 1.'),
  paper_width_inches: inches.optional().describe('Paper width in inches, 0 to 200. Default: the browser’s default.'),
  paper_height_inches: inches.optional().describe('Paper height in inches, 0 to 200. Default: the browser’s default.'),
  margin_inches: z.number().min(0).max(20).optional().describe('Margin on all sides in inches, 0 to 20. Default: the browser’s default.'),
  page_ranges: boundedString(0, 200)
    .regex(/^[\d\s,-]+$/)
    .optional()
    .describe('Pages to print, such as `1-3` or `1,4-`. Default: all pages.'),
  ...printFields,
}).meta({ id: 'PdfStep', description: 'Prints the page to a PDF document.' });
const part = { selectors: Selectors.optional().describe('Selectors of a single element to read. Default: the page.'), ...ref };
const HtmlStep = step('html', part)
  .check(refAsSelector)
  .meta({ id: 'HtmlStep', description: 'Returns the HTML of the page or an element.' });
const MarkdownStep = step('markdown', {
  ...part,
  only_main_content: z
    .boolean()
    .default(false)
    .describe('Whether to return only the main content, without navigation and footer. Default: `false`.'),
})
  .check(refAsSelector)
  .meta({ id: 'MarkdownStep', description: 'Returns the page or an element as Markdown.' });
const LinksStep = step('links', part)
  .check(refAsSelector)
  .meta({ id: 'LinksStep', description: 'Returns the links of the page or an element.' });
const DownloadStep = slowStep('download', {
  selectors: Selectors.optional().describe('Selectors of the element to click.'),
  ...ref,
  url: StepUrl.optional().describe('URL of the file.'),
})
  .check(refAsSelector, exactlyOne('selectors', 'url'))
  .meta({
    id: 'DownloadStep',
    description: 'Downloads a file by a click or from a URL. Exactly one of `selectors` and `url` is required.',
  });

const DialogStep = step('dialog', {
  accept: z.boolean().default(true).describe('Whether to accept dialogs. Default: `true`.'),
  text: templated(0, 10_000).optional().describe('Text to enter into prompts, at most 10000 characters; may contain placeholders.'),
}).meta({
  id: 'DialogStep',
  description: 'Sets how later dialogs are answered; without it they are dismissed. The output lists the dialogs that have occurred.',
});
const SetCookieStep = step('set_cookie', {
  name: boundedString(1, 256).describe('Name of the cookie, 1 to 256 characters.'),
  value: templated(0, 4096).describe('Value of the cookie, at most 4096 characters; may contain placeholders.'),
  url: StepUrl.optional().describe('URL for which to set the cookie. Default: the page’s URL, if `domain` is not given either.'),
  domain: boundedString(1, 253).optional().describe('Domain of the cookie, 1 to 253 characters.'),
  path: boundedString(1, 1024).optional().describe('Path of the cookie, 1 to 1024 characters.'),
  expires: z.int().min(0).max(253_402_300_799).optional().describe('Expiry time in Unix seconds. Default: a session cookie.'),
  http_only: z.boolean().default(false).describe('Whether the cookie is hidden from JavaScript. Default: `false`.'),
  secure: z.boolean().default(false).describe('Whether the cookie is sent over HTTPS only. Default: `false`.'),
  same_site: z.enum(['Strict', 'Lax', 'None']).optional().describe('SameSite attribute of the cookie. Default: the browser’s default.'),
}).meta({ id: 'SetCookieStep', description: 'Sets a cookie.' });
const SetHeaderStep = step('set_header', {
  name: boundedString(0, 128)
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
    .describe('Name of the header, at most 128 characters.'),
  value: templated(0, 4096)
    .nullable()
    .describe('Value of the header, at most 4096 characters; may contain placeholders. null removes the header.'),
})
  .check(({ value, issues }) => {
    if (connectionHeaders.has(value.name.toLowerCase()))
      issues.push({
        code: 'custom',
        message: 'This header is set by the connection and cannot be changed',
        path: ['name'],
        input: value.name,
        params: { type: 'header_not_allowed' },
      });
  })
  .meta({ id: 'SetHeaderStep', description: 'Sets a header that is sent with all later requests of the tab.' });
const SetViewportStep = step('set_viewport', Viewport.shape).meta({
  id: 'SetViewportStep',
  description: 'Changes the size of the page area.',
});
const EvaluateStep = step('evaluate', {
  expression: boundedString(1, 100_000).describe('JavaScript expression, 1 to 100000 characters.'),
}).meta({
  id: 'EvaluateStep',
  description: 'Evaluates JavaScript in the page, where the operator allows it. Placeholders are not filled in. A promise is awaited.',
});

const propertyText = templated(0, 1000);
const PropertyValue = z.union([propertyText, z.number(), z.boolean(), z.literal(null)]);
const matchesMax = 20;

const AssertStep = step('assert', {
  ...ref,
  selectors: Selectors.optional().describe('Selectors of the element.'),
  text: Pattern.optional().describe('Text of the element, or of the page without `selectors`.'),
  url: Pattern.optional().describe('Pattern that the URL of the page must match.'),
  title: Pattern.optional().describe('Pattern that the title of the page must match.'),
  visible: z.boolean().optional().describe('Whether the element must be visible. Requires `selectors`.'),
  count: z
    .union([
      pixels,
      z.strictObject({
        min: pixels.optional().describe('Minimum number of matches, 0 to 1000000.'),
        max: pixels.optional().describe('Maximum number of matches, 0 to 1000000.'),
      }),
    ])
    .optional()
    .describe('Number of matches, or its bounds. Requires `selectors`.'),
  value: Pattern.optional().describe('Pattern that the value of the field must match. Requires `selectors`.'),
  checked: z.boolean().optional().describe('Whether the element must be checked. Requires `selectors`.'),
  enabled: z.boolean().optional().describe('Whether the element must be enabled. Requires `selectors`.'),
  attributes: boundedRecord(boundedString(1, 100), propertyText, matchesMax)
    .optional()
    .describe('Attributes that each match must have with exactly these values, by name, at most 20. Requires `selectors`.'),
  properties: boundedRecord(
    boundedString(1, 100),
    z.union([PropertyValue, boundedRecord(boundedString(1, 100), PropertyValue, matchesMax)]),
    matchesMax,
  )
    .optional()
    .describe(
      'DOM properties that each match must have, by name, at most 20, such as `{"value": "3", "dataset": {"state": "open"}}`; not those that scripts of the page add. Requires `selectors`.',
    ),
})
  .check(
    refAsSelector,
    onlyWith('selectors', 'visible', 'count', 'value', 'checked', 'enabled', 'attributes', 'properties'),
    ({ value, issues }) => {
      const { selectors, text, url, title } = value;
      if ([selectors, text, url, title].every((part) => part === undefined))
        issues.push({
          code: 'custom',
          message: 'One of selectors, text, url, title is required',
          input: value,
          params: { type: 'missing' },
        });
    },
  )
  .meta({
    id: 'AssertStep',
    description:
      'Waits until all conditions hold, and fails with `assertion_failed` if they do not in time. `selectors` alone ' +
      'requires the element to be visible.',
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
  SnapshotStep,
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

/** Computer use: mouse and keyboard by coordinates of a screenshot, for models that look at pictures. */
import { z } from 'zod';
import { boundedList, boundedString } from '../bounds.ts';
import { ImageFormat } from './actions.ts';
import { driveDeadlineMs, driveErrors } from '../sessions/drive.ts';
import { endpoint } from '../endpoint.ts';
import { sessionParams } from '../fields.ts';

/** A page is drawn up to this size. */
const coordinateMax = 16_384;
const coordinate = z.number().min(0).max(coordinateMax);
const distance = z.number().min(-100_000).max(100_000);
const at = {
  x: coordinate.describe('Distance from the left edge, in pixels of the screenshot.'),
  y: coordinate.describe('Distance from the top edge, in pixels of the screenshot.'),
};
const place = {
  x: at.x.optional().describe('Distance from the left edge, in pixels of the screenshot. Default, with `y`: where the mouse is.'),
  y: at.y.optional().describe('Distance from the top edge, in pixels of the screenshot. Default, with `x`: where the mouse is.'),
};
const Button = z
  .enum(['left', 'middle', 'right', 'back', 'forward'])
  .default('left')
  .describe('Mouse button: `left`, `middle`, `right`, `back` or `forward`. Default: `left`.');
const modifiers = boundedList(boundedString(1, 20), 4)
  .default([])
  .describe('Keys to hold meanwhile, by any of their names: `ctrl`, `shift`, `alt`, `cmd`. Default: none.');

type Issues = { value: { x?: number | undefined; y?: number | undefined }; issues: z.core.$ZodRawIssue[] };
/** Half a place would be taken for the whole of another one. */
const bothOrNone = ({ value, issues }: Issues): void => {
  if ((value.x === undefined) === (value.y === undefined)) return;
  issues.push({
    code: 'custom',
    message: 'Send `x` and `y`, or neither',
    path: [value.x === undefined ? 'x' : 'y'],
    input: value,
    params: { type: 'missing' },
  });
};

const action = <T extends string, F extends z.core.$ZodLooseShape>(type: T, fields: F) =>
  z.strictObject({ type: z.literal(type), ...fields });

const clickFields = { ...place, button: Button, modifiers };
export const ComputerAction = z
  .discriminatedUnion('type', [
    action('click', clickFields).check(bothOrNone).meta({ id: 'ClickAction', description: 'Clicks once.' }),
    action('double_click', clickFields).check(bothOrNone).meta({ id: 'DoubleClickAction', description: 'Clicks twice.' }),
    action('triple_click', clickFields).check(bothOrNone).meta({ id: 'TripleClickAction', description: 'Clicks three times.' }),
    action('mouse_down', clickFields).check(bothOrNone).meta({
      id: 'MouseDownAction',
      description: 'Presses a button and holds it, also after this call. End it with `mouse_up`.',
    }),
    action('mouse_up', clickFields).check(bothOrNone).meta({ id: 'MouseUpAction', description: 'Releases a button.' }),
    action('move', { ...at, modifiers }).meta({ id: 'MoveAction', description: 'Moves the mouse.' }),
    action('drag', {
      path: boundedList(z.strictObject(at), 100).min(2).describe('Points, 2 to 100: the button goes down at the first and up at the last.'),
      button: Button,
      modifiers,
    }).meta({ id: 'DragAction', description: 'Drags along a path.' }),
    action('scroll', {
      ...place,
      dx: distance.default(0).describe('Distance to the right, in pixels of the screenshot. Default: 0.'),
      dy: distance.default(0).describe('Distance down, in pixels of the screenshot. Default: 0.'),
      modifiers,
    })
      .check(bothOrNone)
      .meta({ id: 'ScrollAction', description: 'Turns the mouse wheel.' }),
    action('key', {
      keys: boundedString(1, 200).meta({
        description:
          'A key or a combination with `+`, or several in order with spaces between them. Names are those of X11 (`Return`, ' +
          '`Page_Down`, `ctrl+shift+t`) or of browsers (`Enter`, `PageDown`, `Control+Shift+T`), in any case.',
        examples: ['Return', 'ctrl+a', 'Tab Tab space'],
      }),
      hold_ms: z.int().min(0).max(10_000).default(0).describe('Milliseconds to hold each, 0 to 10000. Default: 0.'),
    }).meta({ id: 'KeyAction', description: 'Presses keys.' }),
    action('type', {
      text: boundedString(0, 10_000).describe(
        'Text to type into what has the focus, at most 10000 characters. A line break is the Enter key.',
      ),
      delay_ms: z.int().min(0).max(1000).default(0).describe('Milliseconds between two keys, 0 to 1000. Default: 0.'),
    }).meta({ id: 'TypeAction', description: 'Types text key by key.' }),
    action('wait', { ms: z.int().min(0).max(60_000).default(1000).describe('Milliseconds to wait, 0 to 60000. Default: 1000.') }).meta({
      id: 'WaitAction',
      description: 'Waits.',
    }),
    action('screenshot', {}).meta({
      id: 'ScreenshotAction',
      description: 'Takes a screenshot between other actions; at the end of the list, it is the `screenshot` of the response.',
    }),
    action('cursor', {}).meta({ id: 'CursorAction', description: 'Tells where the mouse is.' }),
  ])
  .meta({ id: 'ComputerAction', description: 'An action by coordinates.' });
export type ComputerAction = z.infer<typeof ComputerAction>;

export const computerActionsMax = 50;
/** Pictures between the actions: each is as large as the one at the end. */
export const picturesMax = 5;
export const computerTimeoutMs = { min: 1000, max: 120_000, default: 60_000 } as const;

export const ComputerRequest = z
  .strictObject({
    actions: boundedList(ComputerAction, computerActionsMax)
      .default([])
      .describe('Actions to run in order, at most 50, of which at most 5 are `screenshot`. Default: none, for a screenshot alone.'),
    tab_id: boundedString(1, 200).optional().describe('Id of the tab. Default: the active tab.'),
    follow_tabs: z
      .boolean()
      .default(true)
      .describe('Whether a tab that the actions open becomes the active one, and is in the screenshot. Default: `true`.'),
    dialogs: z
      .enum(['accept', 'dismiss'])
      .optional()
      .describe(
        'How dialogs are answered that pages open meanwhile. Default: by a connected client or a viewer with control, else dismissed.',
      ),
    max_width: z
      .int()
      .min(64)
      .max(4096)
      .optional()
      .describe(
        'Maximum width of the screenshot in pixels, 64 to 4096. A wider screen is scaled down, and all coordinates of the ' +
          'request and the response are in pixels of the scaled screenshot. Default: not scaled, one pixel for each CSS pixel.',
      ),
    screenshot: z.boolean().default(true).describe('Whether to take a screenshot after the last action. Default: `true`.'),
    format: ImageFormat.default('png').describe('Image format of screenshots: `png`, `jpeg` or `webp`. Default: `png`.'),
    quality: z.int().min(1).max(100).optional().describe('Image quality for `jpeg` and `webp`, 1 to 100. Default: 80.'),
    settle_ms: z
      .int()
      .min(0)
      .max(10_000)
      .default(3000)
      .describe(
        'Maximum milliseconds to wait before the last screenshot for a navigation that the actions have started, 0 to 10000. Default: 3000.',
      ),
    timeout_ms: z
      .int()
      .min(computerTimeoutMs.min)
      .max(computerTimeoutMs.max)
      .default(computerTimeoutMs.default)
      .describe('Maximum time for all actions together in milliseconds, 1000 to 120000. Default: 60000.'),
  })
  .check(({ value, issues }) => {
    const pictures = value.actions.filter(({ type }) => type === 'screenshot').length;
    if (pictures > picturesMax)
      issues.push({
        code: 'custom',
        message: `At most ${picturesMax} actions may be screenshots`,
        path: ['actions'],
        input: pictures,
        params: { type: 'too_long', ctx: { max_length: picturesMax } },
      });
  })
  .meta({ id: 'ComputerRequest' });
export type ComputerRequest = z.infer<typeof ComputerRequest>;

const Position = z.object({
  x: z.number().describe('Distance from the left edge, in pixels of the screenshot.'),
  y: z.number().describe('Distance from the top edge, in pixels of the screenshot.'),
});

export const ComputerPicture = z
  .object({
    content_type: z.string().describe('Media type of the image, such as `image/png`.'),
    width: z.int().describe('Width in pixels.'),
    height: z.int().describe('Height in pixels.'),
    data_base64: z.string().describe('The image in base64.'),
  })
  .meta({ id: 'ComputerPicture' });
export type ComputerPicture = z.infer<typeof ComputerPicture>;

export const computerErrorCodes = [
  'out_of_bounds',
  'unknown_key',
  'dialog_open',
  'tab_closed',
  'page_crashed',
  'timeout',
  'not_possible',
] as const;

export const ComputerActionResult = z
  .object({
    index: z.int().describe('Position of the action in the list, from 0.'),
    type: z.string().describe('Type of the action.'),
    status: z.enum(['ok', 'error']).describe('Whether the action was done.'),
    duration_ms: z.int().describe('Duration in milliseconds.'),
    error: z
      .object({
        code: z
          .enum(computerErrorCodes)
          .describe(
            'What was wrong. `out_of_bounds`: the place is outside of the screen. `dialog_open`: a dialog of the page waits for an answer.',
          ),
        message: z.string().describe('What was wrong, in words.'),
      })
      .nullable()
      .describe('Why it was not done; null for `ok`.'),
    cursor: Position.nullable().describe('Where the mouse is, for `cursor`; null for others.'),
    screenshot: ComputerPicture.nullable().describe('The picture of a `screenshot` that is not the last action; null for others.'),
  })
  .meta({ id: 'ComputerActionResult' });
export type ComputerActionResult = z.infer<typeof ComputerActionResult>;

export const computerEventTypes = [
  'dialog',
  'list',
  'picker',
  'file_chooser',
  'navigation',
  'tab_opened',
  'tab_closed',
  'tab_refused',
  'tab_crashed',
  'download_started',
] as const;
export const computerEventsMax = 50;
export const listLabelsMax = 100;

export const ComputerEvent = z
  .object({
    type: z
      .enum(computerEventTypes)
      .describe(
        'What happened. `list`, `picker`: a click opened a drop-down list or a picker, which the screenshot of a page does not show.',
      ),
    index: z.int().nullable().describe('Position of the action that ran then, from 0; null for one after the last action.'),
    tab_id: z.string().nullable().describe('Id of the tab; null for a download and a refused tab.'),
    url: z.string().nullable().describe('URL of the page, the tab or the download; null for others.'),
    message: z
      .string()
      .nullable()
      .describe('Text of a dialog, file name of a download, or type of a picker, such as `date`; null for others.'),
    dialog: z
      .object({
        type: z.string().describe('Type of the dialog: `alert`, `confirm`, `prompt` or `beforeunload`.'),
        answer: z.enum(['accepted', 'dismissed', 'open']).describe('How it was answered. `open`: it waits for a client or a viewer.'),
      })
      .nullable()
      .describe('The dialog; null for other events.'),
    options: z
      .array(z.string())
      .nullable()
      .describe('Labels of the first 100 options of a list, to choose from with the arrow keys and `Return`; null for other events.'),
  })
  .meta({ id: 'ComputerEvent' });
export type ComputerEvent = z.infer<typeof ComputerEvent>;

export const ComputerResult = z
  .object({
    status: z.enum(['ok', 'error']).describe('`ok` if every action was done; the list ends with the first that was not.'),
    failed_index: z.int().nullable().describe('Position of the action that failed, from 0; null if none did.'),
    results: z.array(ComputerActionResult).describe('Results of the actions that ran, in order.'),
    events: z.array(ComputerEvent).describe('What happened in the browser meanwhile, in order, at most 50.'),
    screenshot: ComputerPicture.nullable().describe('The screen after the last action; null where it was not asked for or not possible.'),
    scale: z.number().describe('Pixels of the screenshot for each pixel of the screen: 1 where it is not scaled.'),
    screen: z
      .object({ width: z.int().describe('Width in pixels.'), height: z.int().describe('Height in pixels.') })
      .describe('Size of the page’s viewport in CSS pixels.'),
    cursor: Position.describe('Where the mouse is.'),
    tab_id: z.string().describe('Id of the tab in the screenshot.'),
    url: z.string().describe('URL of that tab.'),
    title: z.string().describe('Title of that tab.'),
    duration_ms: z.int().describe('Duration of the call in milliseconds.'),
    warnings: z
      .array(z.string())
      .describe('What was left out, such as `screenshot_failed:timeout`, `still_loading` and `events_left_out`.'),
  })
  .meta({ id: 'ComputerResponse' });
export type ComputerResult = z.infer<typeof ComputerResult>;

export const useComputer = endpoint({
  id: 'useComputer',
  method: 'POST',
  path: '/v1/session/{session_id}/computer',
  tag: 'Driving',
  summary: 'Run mouse and keyboard actions',
  description:
    'Runs a list of actions by coordinates, such as a model chooses that looks at screenshots, and returns one screenshot ' +
    'of what they have led to. An action that fails ends the list; the response status is 200 all the same. Each action ' +
    'that ran is charged as one; a list without actions as one.',
  auth: 'bearer',
  params: sessionParams,
  body: ComputerRequest,
  bodyOptional: true,
  reply: ComputerResult,
  status: 200,
  errors: [...driveErrors, 'tab_not_found', 'page_failed'],
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});

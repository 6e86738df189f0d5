/** Commands of the live view's page. Anything else closes the socket, as our own page sends nothing else. */
import { Viewport } from '@berth/contract';
import { liveViewBounds } from '@berth/contract/live-view';
import { z } from 'zod';

const { textChars, keyChars, urlChars, commandBytes } = liveViewBounds;
/** Larger than any page, and small enough that sums of such numbers stay exact. */
const coordinateMax = 1_000_000;
const clicksMax = 10_000;
const optionsMax = 1_000_000;
const filesMax = 50;
/** Linux allows 255 bytes, which the upload checks. */
const fileNameCharsMax = 255;

const coordinate = z.number().min(-coordinateMax).max(coordinateMax);
const length = z.number().positive().max(coordinateMax);
const modifiers = z.int().min(0).max(15);
const tabId = z.string().min(1).max(200);
const position = { x: coordinate, y: coordinate, modifiers };

const Ack = z.strictObject({ type: z.literal('ack'), seq: z.int().min(0).max(0xffffffff) });
const Fit = z.strictObject({ type: z.literal('fit'), width: length, height: length });
const Mouse = z.strictObject({
  type: z.literal('mouse'),
  action: z.enum(['move', 'down', 'up']),
  button: z.enum(['none', 'left', 'middle', 'right']),
  buttons: z.int().min(0).max(31),
  clicks: z.int().min(0).max(clicksMax),
  ...position,
});
const Wheel = z.strictObject({ type: z.literal('wheel'), dx: coordinate, dy: coordinate, ...position });
const Key = z.strictObject({
  type: z.literal('key'),
  action: z.enum(['down', 'up']),
  key: z.string().min(1).max(keyChars),
  code: z.string().max(keyChars),
  modifiers,
  repeat: z.boolean(),
  location: z.int().min(0).max(3),
});
const Text = z.strictObject({ type: z.literal('text'), text: z.string().min(1).max(textChars) });
const caret = z.int().min(0).max(textChars);
const Compose = z.strictObject({ type: z.literal('compose'), text: z.string().max(textChars), start: caret, end: caret });
const Copy = z.strictObject({ type: z.literal('copy') });
const Tab = z.discriminatedUnion('action', [
  z.strictObject({ type: z.literal('tab'), action: z.literal('open') }),
  z.strictObject({ type: z.literal('tab'), action: z.enum(['activate', 'close']), tab_id: tabId }),
]);
const Navigate = z.discriminatedUnion('to', [
  z.strictObject({ type: z.literal('navigate'), to: z.literal('url'), url: z.string().max(urlChars) }),
  z.strictObject({ type: z.literal('navigate'), to: z.enum(['back', 'forward', 'reload']) }),
]);
const Resize = z.strictObject({ type: z.literal('resize'), width: length, height: length });
const Answer = z.strictObject({
  type: z.literal('answer'),
  prompt_id: z.int().min(0),
  accept: z.boolean(),
  text: z.string().max(textChars).optional(),
  option: z.int().min(0).max(optionsMax).optional(),
  file_ids: z.array(z.string().max(200)).max(filesMax).optional(),
});
const Upload = z.strictObject({
  type: z.literal('upload'),
  upload: z.int().min(0),
  name: z.string().min(1).max(fileNameCharsMax),
  data: z.base64(),
  is_last: z.boolean(),
});

const Command = z.discriminatedUnion('type', [Ack, Fit, Mouse, Wheel, Key, Text, Compose, Copy, Tab, Navigate, Resize, Answer, Upload]);

export type Command = z.infer<typeof Command>;
/** Commands that need the scope `control`. */
export type ControlCommand = Exclude<Command, { type: 'ack' | 'fit' }>;

/** Returns null for anything that is not a valid command. */
export function parseCommand(data: Buffer, isBinary: boolean): Command | null {
  if (isBinary || data.length > commandBytes) return null;
  try {
    return Command.parse(JSON.parse(data.toString()));
  } catch {
    return null;
  }
}

const { width: widths, height: heights } = Viewport.shape;

/** Returns the nearest size that a page can have, in CSS px. */
export const clampPageSize = ({ width, height }: { width: number; height: number }): { width: number; height: number } => ({
  width: clamp(width, widths),
  height: clamp(height, heights),
});

const clamp = (value: number, { minValue, maxValue }: { minValue: number | null; maxValue: number | null }): number =>
  Math.min(maxValue ?? Infinity, Math.max(minValue ?? 0, Math.round(value)));

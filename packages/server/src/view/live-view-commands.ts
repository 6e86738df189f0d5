/** What a page may say over its socket. All that is not exactly this closes the socket: our own page says nothing else. */
import { Viewport } from '@berth/contract';
import { liveViewBounds } from '@berth/contract/live-view';
import { z } from 'zod';

const { textChars, keyChars, urlChars, commandBytes } = liveViewBounds;
/** No page is as large, and sums of such numbers are still exact. */
const placeMax = 1_000_000;
const clicksMax = 10_000;

const place = z.number().min(-placeMax).max(placeMax);
const length = z.number().positive().max(placeMax);
const modifiers = z.int().min(0).max(15);
const tabId = z.string().min(1).max(200);
const at = { x: place, y: place, modifiers };

const Ack = z.strictObject({ type: z.literal('ack'), seq: z.int().min(0).max(0xffffffff) });
const Fit = z.strictObject({ type: z.literal('fit'), width: length, height: length });
const Mouse = z.strictObject({
  type: z.literal('mouse'),
  action: z.enum(['move', 'down', 'up']),
  button: z.enum(['none', 'left', 'middle', 'right']),
  buttons: z.int().min(0).max(31),
  clicks: z.int().min(0).max(clicksMax),
  ...at,
});
const Wheel = z.strictObject({ type: z.literal('wheel'), dx: place, dy: place, ...at });
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

const Command = z.discriminatedUnion('type', [Ack, Fit, Mouse, Wheel, Key, Text, Compose, Copy, Tab, Navigate, Resize]);

export type Command = z.infer<typeof Command>;
/** Those that drive. */
export type ControlCommand = Exclude<Command, { type: 'ack' | 'fit' }>;

/** Null for all that is no command. */
export function readCommand(data: Buffer, isBinary: boolean): Command | null {
  if (isBinary || data.length > commandBytes) return null;
  try {
    return Command.parse(JSON.parse(data.toString()));
  } catch {
    return null;
  }
}

const { width: widths, height: heights } = Viewport.shape;

/** The nearest size that a page can be given. */
export const pageSize = ({ width, height }: { width: number; height: number }): { width: number; height: number } => ({
  width: within(width, widths),
  height: within(height, heights),
});

const within = (value: number, { minValue, maxValue }: { minValue: number | null; maxValue: number | null }): number =>
  Math.min(maxValue ?? Infinity, Math.max(minValue ?? 0, Math.round(value)));

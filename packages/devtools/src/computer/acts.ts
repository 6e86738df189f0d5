/** Runs one action on a screen. */
import { setTimeout as nodeSleep } from 'node:timers/promises';
import type { ComputerAction, computerErrorCodes } from '@berth/contract';
import { findKey, isChord, PageError, TabNotFoundError, type Modifier, type MouseButton, type Point } from '../browser/browser.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import type { Screen } from './screen.ts';

export type ComputerErrorCode = (typeof computerErrorCodes)[number];

/** An action was not done. The message is for the caller. */
export class ComputerError extends Error {
  readonly code: ComputerErrorCode;
  constructor(code: ComputerErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What an action needs beside the screen. */
export interface ActOptions {
  screen: Screen;
  /** Pixels of the screenshot for each pixel of the screen. */
  scale: number;
  by: Deadline;
  /** Called with the point of a left press, before it. */
  beforePress(at: Point): void;
}

type ActionOf<T extends ComputerAction['type']> = Extract<ComputerAction, { type: T }>;
type Clicks = ActionOf<'click' | 'double_click' | 'triple_click'>;

const clickCounts = { click: 1, double_click: 2, triple_click: 3 } as const;
/** Pages that drag by mouse events look at each move, and begin only after the first few pixels. */
const dragStepPx = 20;
const dragStepsMax = 20;

/** What takes a picture or reads the cursor is the caller's. */
export type InputAction = Exclude<ComputerAction, { type: 'screenshot' | 'cursor' }>;

/** @throws ComputerError, PageError */
export async function act(action: InputAction, options: ActOptions): Promise<void> {
  const { screen, by } = options;
  switch (action.type) {
    case 'click':
    case 'double_click':
    case 'triple_click':
      return click(action, options);
    case 'mouse_down':
    case 'mouse_up': {
      const how = await moveTo(action, options);
      const clicks = { ...how, clickCount: 1 };
      if (action.type === 'mouse_up') return screen.up(clicks, by);
      if (how.button === 'left') options.beforePress(screen.position);
      return screen.down(clicks, by);
    }
    case 'move':
      return void (await moveTo({ ...action, button: 'left' }, options));
    case 'drag':
      return drag(action, options);
    case 'scroll': {
      const { modifiers } = await moveTo({ ...action, button: 'left' }, options);
      return screen.wheel({ x: action.dx / options.scale, y: action.dy / options.scale }, { modifiers }, by);
    }
    case 'key':
      return press(action, options);
    case 'type':
      return screen.type(action.text, { delayMs: action.delay_ms }, by);
    case 'wait':
      await nodeSleep(action.ms, undefined, { signal: by.signal }).catch(() => by.signal.throwIfAborted());
  }
}

interface Placed {
  x?: number | undefined;
  y?: number | undefined;
  button: MouseButton;
  modifiers: readonly string[];
}

/** Moves the mouse to where the action is to be, if it says so. */
async function moveTo({ x, y, button, modifiers }: Placed, options: ActOptions): Promise<{ button: MouseButton; modifiers: Modifier[] }> {
  const held = modifiers.map(toModifier);
  if (x !== undefined && y !== undefined) await options.screen.move(toScreen({ x, y }, options), { modifiers: held }, options.by);
  return { button, modifiers: held };
}

/** All is sent right behind each other, for the page in its order: one that moves something in between has no double click on it. */
async function click(action: Clicks, options: ActOptions): Promise<void> {
  const { screen, by } = options;
  const { x, y, button } = action;
  const how = { button, modifiers: action.modifiers.map(toModifier) };
  const at = x === undefined || y === undefined ? screen.position : toScreen({ x, y }, options);
  const sent = [screen.move(at, { modifiers: how.modifiers }, by)];
  if (button === 'left') options.beforePress(at);
  for (let clickCount = 1; clickCount <= clickCounts[action.type]; clickCount += 1) {
    const press = { ...how, clickCount };
    sent.push(screen.down(press, by), screen.up(press, by));
  }
  await Promise.all(sent);
}

async function drag({ path, button, modifiers: names }: ActionOf<'drag'>, options: ActOptions): Promise<void> {
  const { screen, by } = options;
  const modifiers = names.map(toModifier);
  const [from, ...points] = path.map((point) => toScreen(point, options));
  if (!from) return;
  await screen.move(from, { modifiers }, by);
  const how = { button, clickCount: 1, modifiers };
  if (button === 'left') options.beforePress(from);
  await screen.down(how, by);
  try {
    for (const point of points) {
      const { x, y } = screen.position;
      const steps = Math.min(dragStepsMax, Math.ceil(Math.hypot(point.x - x, point.y - y) / dragStepPx));
      await screen.move(point, { modifiers, steps }, by);
    }
  } finally {
    await screen.up(how, by);
  }
}

/** All are known before the first is pressed. */
async function press({ keys, hold_ms: holdMs }: ActionOf<'key'>, { screen, by }: ActOptions): Promise<void> {
  const chords = keys.trim() === '' ? [' '] : keys.trim().split(/ +/);
  const unknown = chords.find((chord) => !isChord(chord));
  if (unknown !== undefined)
    throw new ComputerError('unknown_key', `Unknown key: ${JSON.stringify(unknown.slice(0, 40))}. Send text with \`type\`.`);
  for (const chord of chords) await screen.press(chord, { holdMs }, by);
}

function toModifier(name: string): Modifier {
  const key = findKey(name)?.key;
  if (key === 'Alt' || key === 'Control' || key === 'Meta' || key === 'Shift') return key;
  throw new ComputerError('unknown_key', `Not a modifier key: ${JSON.stringify(name)}. Use \`ctrl\`, \`shift\`, \`alt\` or \`cmd\`.`);
}

function toScreen({ x, y }: Point, { scale, screen: { size } }: ActOptions): Point {
  const at = { x: x / scale, y: y / scale };
  if (at.x < size.width && at.y < size.height) return at;
  const [width, height] = [Math.round(size.width * scale), Math.round(size.height * scale)];
  throw new ComputerError('out_of_bounds', `The place ${x}, ${y} is outside of the screenshot, which has ${width} × ${height} pixels.`);
}

/** The failure of an action; undefined for an error that ends the call. */
export function toComputerError(error: unknown): ComputerError | undefined {
  if (error instanceof ComputerError) return error;
  if (error instanceof TabNotFoundError) return new ComputerError('tab_closed', 'The tab was closed.');
  if (!(error instanceof PageError)) return undefined;
  const { reason, message } = error;
  const isKnown = reason === 'timeout' || reason === 'unknown_key' || reason === 'page_crashed';
  return new ComputerError(isKnown ? reason : 'not_possible', message);
}

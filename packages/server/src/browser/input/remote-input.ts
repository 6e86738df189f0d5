/** A person's hands on a tab: what mouse and keyboard do is sent on as it comes. All of it goes to the page's own session, as in `page-input.ts`. */
import { ProtocolError, type Command, type Params } from '../cdp/connection.ts';
import { keyOrder, type HandKey } from './remote-keys.ts';
import { InputLane } from './input-lane.ts';
import { PageError, type MouseButton, type Point } from '../page/model.ts';
import { readSelection } from '../page/selection.ts';
import { Deadline } from '../page/session.ts';
import { knowTab, type Known, type TabParts } from '../page/page.ts';
import type { Hands } from '../screencast/model.ts';

/** A page takes an event within milliseconds; one that is busy for longer is told to be. */
const inputLimitMs = 10_000;
/** No hand holds more; what says so is a program. */
const mostKeysHeld = 32;
const mostClicks = 10;
const buttonBits: Readonly<Record<MouseButton, number>> = { left: 1, right: 2, middle: 4 };
const allBits = 15;

type HandMouse = Parameters<Hands['mouse']>[0];
type HandWheel = Parameters<Hands['wheel']>[0];
type HandButton = HandMouse & { button: MouseButton };

export class TabHands implements Hands {
  readonly #known: Known;
  readonly #onActivity: () => void;
  /** While the left button is down a move may begin a drag, and then what comes after is another command. */
  readonly #lane = new InputLane(() => this.#leftIsDown);
  /** By their place, in the order in which they went down. */
  readonly #keysHeld = new Map<string, HandKey>();
  readonly #buttonsHeld = new Map<MouseButton, HandButton>();
  #at: Point = { x: 0, y: 0 };
  #move: { event: HandMouse; done: Promise<void> } | null = null;
  #wheel: { event: HandWheel; done: Promise<void> } | null = null;
  #leftIsDown = false;
  /** What the page lets be dragged, while it is: such a drag belongs to the system, which is us. */
  #dragged: Params<'Input.dispatchDragEvent'>['data'] | null = null;
  #ignoreDrags = (): void => {};

  constructor(parts: TabParts, onActivity: () => void) {
    this.#known = knowTab(parts);
    this.#onActivity = onActivity;
  }

  async mouse(event: HandMouse): Promise<void> {
    this.#onActivity();
    refuseNoPlace(event.x, event.y);
    this.#at = { x: event.x, y: event.y };
    if (event.action === 'move') return this.#moved(event);
    const { button } = event;
    if (button === 'none') throw new PageError('not_possible', 'No button was named.');
    const by = this.#deadline();
    if (event.action === 'down') this.#buttonsHeld.set(button, { ...event, button });
    else this.#buttonsHeld.delete(button);
    return this.#lane.stroke(() =>
      event.action === 'down' ? this.#press({ ...event, button }, by) : this.#lift({ ...event, button }, by),
    );
  }

  /** One that waits goes straight to the newest place. */
  #moved(event: HandMouse): Promise<void> {
    if (this.#move && this.#lane.canStillChange(this.#move.done)) {
      this.#move.event = event;
      return this.#move.done;
    }
    if (this.#lane.isFull) return Promise.resolve();
    const by = this.#deadline();
    const move = { event, done: Promise.resolve() };
    this.#move = move;
    move.done = this.#lane.pass(() => this.#go(move.event, by));
    return move.done;
  }

  async wheel(event: HandWheel): Promise<void> {
    this.#onActivity();
    refuseNoPlace(event.x, event.y);
    refuseNoPlace(event.dx, event.dy);
    const waiting = this.#wheel;
    if (waiting && this.#lane.canStillChange(waiting.done) && waiting.event.modifiers === event.modifiers) {
      waiting.event = { ...event, dx: waiting.event.dx + event.dx, dy: waiting.event.dy + event.dy };
      return waiting.done;
    }
    if (this.#lane.isFull) return;
    const by = this.#deadline();
    const wheel = { event, done: Promise.resolve() };
    this.#wheel = wheel;
    wheel.done = this.#lane.pass(() => {
      const { x, y, dx, dy, modifiers } = wheel.event;
      const order = { type: 'mouseWheel', x, y, deltaX: dx, deltaY: dy, modifiers: modifiers & allBits, pointerType: 'mouse' } as const;
      return this.#send('Input.dispatchMouseEvent', order, by);
    });
    return wheel.done;
  }

  async key(event: HandKey): Promise<void> {
    this.#onActivity();
    const order = keyOrder(event);
    if (!order) return;
    const place = event.code || event.key;
    if (event.action === 'up') this.#keysHeld.delete(place);
    else if (this.#keysHeld.size < mostKeysHeld) this.#keysHeld.set(place, event);
    const by = this.#deadline();
    const sent = this.#lane.stroke(() => this.#send('Input.dispatchKeyEvent', order, by));
    // A Mac tells nothing of keys that are let go beside this one.
    if (event.action === 'up' && event.key === 'Meta') await Promise.all([sent, this.#liftKeys()]);
    return sent;
  }

  insertText(text: string): Promise<void> {
    return this.#stroke((by) => this.#send('Input.insertText', { text }, by));
  }

  compose(text: string, start: number, end: number): Promise<void> {
    const within = (place: number): number => Math.max(0, Math.min(text.length, Math.trunc(place) || 0));
    const order = { text, selectionStart: within(start), selectionEnd: within(end) };
    return this.#stroke((by) => this.#send('Input.imeSetComposition', order, by));
  }

  selection(): Promise<string> {
    return this.#stroke((by) => readSelection(this.#known, by));
  }

  async release(): Promise<void> {
    const buttons = [...this.#buttonsHeld.values()].map((event) => ({ ...event, ...this.#at }));
    this.#buttonsHeld.clear();
    const by = this.#deadline();
    const lifted = buttons.map((event) =>
      this.#lane.last(async () => {
        // Nothing is dropped by a hand that went away.
        if (this.#dragged && event.button === 'left') await this.#drag('dragCancel', event, by);
        this.#dragged = null;
        await this.#lift(event, by, false);
      }),
    );
    await Promise.allSettled([...lifted, this.#liftKeys()]);
  }

  async #liftKeys(): Promise<void> {
    const keys = [...this.#keysHeld.values()].toReversed();
    this.#keysHeld.clear();
    const orders = keys.map((key) => keyOrder({ ...key, action: 'up', modifiers: 0, repeat: false })).filter((order) => order !== null);
    const by = this.#deadline();
    await Promise.allSettled(orders.map((order) => this.#lane.last(() => this.#send('Input.dispatchKeyEvent', order, by))));
  }

  #stroke<T>(send: (by: Deadline) => Promise<T>): Promise<T> {
    this.#onActivity();
    const by = this.#deadline();
    return this.#lane.stroke(() => send(by));
  }

  async #go(event: HandMouse, by: Deadline): Promise<void> {
    if (this.#dragged) return this.#drag('dragOver', event, by);
    const buttons = event.buttons & 7;
    const button = (['left', 'right', 'middle'] as const).find((each) => (buttons & buttonBits[each]) !== 0) ?? 'none';
    await this.#point('mouseMoved', { ...event, button, buttons, clicks: 0 }, by);
    if (!this.#dragged) return;
    await this.#drag('dragEnter', event, by);
    await this.#drag('dragOver', event, by);
  }

  async #press(event: HandButton, by: Deadline): Promise<void> {
    if (event.button === 'left') this.#heedDrags(true);
    await this.#point('mousePressed', { ...event, buttons: event.buttons | buttonBits[event.button] }, by);
  }

  async #lift(event: HandButton, by: Deadline, drops = true): Promise<void> {
    try {
      if (this.#dragged && event.button === 'left') return await this.#drag('drop', event, by);
      await this.#point('mouseReleased', { ...event, buttons: event.buttons & ~buttonBits[event.button] }, by);
      // A drag that began with the last move may be told only now, when a busy browser comes to it.
      if (this.#dragged && event.button === 'left') await this.#endLate(event, { drops, by });
    } finally {
      if (event.button === 'left') this.#heedDrags(false);
    }
  }

  async #endLate(event: HandMouse, { drops, by }: { drops: boolean; by: Deadline }): Promise<void> {
    for (const type of drops ? (['dragEnter', 'dragOver', 'drop'] as const) : (['dragCancel'] as const)) await this.#drag(type, event, by);
  }

  #heedDrags(enabled: boolean): void {
    this.#ignoreDrags();
    this.#leftIsDown = enabled;
    this.#dragged = null;
    this.#ignoreDrags = enabled ? this.#known.frames.onDragStart((data) => (this.#dragged = data)) : (): void => {};
    this.#known.frames.main.sendQuietly('Input.setInterceptDrags', { enabled });
  }

  #point(type: 'mouseMoved' | 'mousePressed' | 'mouseReleased', event: HandMouse, by: Deadline): Promise<void> {
    const { x, y, button, clicks } = event;
    const [buttons, modifiers] = [event.buttons & 7, event.modifiers & allBits];
    const clickCount = Math.max(0, Math.min(mostClicks, Math.trunc(clicks) || 0));
    return this.#send('Input.dispatchMouseEvent', { type, x, y, button, buttons, clickCount, modifiers, pointerType: 'mouse' }, by);
  }

  #drag(type: 'dragEnter' | 'dragOver' | 'drop' | 'dragCancel', { x, y, modifiers }: HandMouse, by: Deadline): Promise<void> {
    const data = this.#dragged ?? { items: [], dragOperationsMask: 0 };
    return this.#send('Input.dispatchDragEvent', { type, x, y, data, modifiers: modifiers & allBits }, by);
  }

  #deadline(): Deadline {
    const { tab, patience } = this.#known.frames;
    return new Deadline({ signal: tab.gone.signal, timeoutMs: patience.ms(inputLimitMs) });
  }

  /** @throws PageError `timeout` or `not_possible` */
  async #send<C extends Command>(method: C, params: Params<C>, by: Deadline): Promise<void> {
    try {
      await this.#known.frames.main.send(method, params, by);
    } catch (error) {
      if (error instanceof ProtocolError) throw new PageError('not_possible', 'The page did not take the input.', { cause: error });
      throw error;
    }
  }
}

function refuseNoPlace(x: number, y: number): void {
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw new PageError('not_possible', 'There is no such place.');
}

/** Remote mouse and keyboard of a tab. Events are forwarded as they come to the page's own session, as in `page-input.ts`. */
import { ProtocolError, type Command, type Params } from '../cdp/connection.ts';
import { toKeyEventParams, type RemoteKeyEvent } from './remote-keys.ts';
import { findControlAt, findFocusedControl, opensControl, type ControlMatch } from './drop-down-lists.ts';
import { InputLane } from './input-lane.ts';
import { PageError, type MouseButton, type Point } from '../page/page.ts';
import { readSelection } from '../page/selection.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { pageStateOf, type PageState, type TabDeps } from '../page/create-page.ts';
import type { RemoteInput } from '../screencast/clients.ts';
import type { ControlQuestion, PromptHandler } from '../tabs/prompt.ts';

/** A page handles an event within milliseconds; a longer delay is reported as a timeout. */
const inputTimeoutMs = 10_000;
/** Maximum keys held down: more than a person can hold. */
const keysHeldMax = 32;
const clicksMax = 10;
const buttonBits: Readonly<Record<MouseButton, number>> = { left: 1, right: 2, middle: 4, back: 8, forward: 16 };
const modifierMask = 15;

type RemoteMouseEvent = Parameters<RemoteInput['mouse']>[0];
type RemoteWheelEvent = Parameters<RemoteInput['wheel']>[0];
type RemoteButtonEvent = RemoteMouseEvent & { button: MouseButton };

interface RemoteInputOptions {
  onActivity(): void;
  /** A press or a key would open this list or picker, which a browser without a window cannot show. */
  openControl(question: ControlQuestion, handler: PromptHandler): void;
  closeControl(): void;
}

export class TabRemoteInput implements RemoteInput {
  readonly #state: PageState;
  readonly #options: RemoteInputOptions;
  /** While the left button is down a move may start a drag, and later events then need another command. */
  readonly #lane = new InputLane(() => this.#isLeftDown);
  /** The keys held down, by `code`, in the order in which they went down. */
  readonly #keysHeld = new Map<string, RemoteKeyEvent>();
  readonly #buttonsHeld = new Map<MouseButton, RemoteButtonEvent>();
  #position: Point = { x: 0, y: 0 };
  #pendingMove: { event: RemoteMouseEvent; done: Promise<void> } | null = null;
  #pendingWheel: { event: RemoteWheelEvent; done: Promise<void> } | null = null;
  #isLeftDown = false;
  /** The data of an HTML drag while it runs: such a drag is the operating system's part, which we play. */
  #dragged: Params<'Input.dispatchDragEvent'>['data'] | null = null;
  #unsubscribeDrags = (): void => {};

  constructor(deps: TabDeps, options: RemoteInputOptions) {
    this.#state = pageStateOf(deps);
    this.#options = options;
  }

  async mouse(event: RemoteMouseEvent): Promise<void> {
    this.#options.onActivity();
    assertFinitePoint(event.x, event.y);
    this.#position = { x: event.x, y: event.y };
    if (event.action === 'move') return this.#queueMove(event);
    const { button } = event;
    if (button === 'none') throw new PageError('not_possible', 'A button is required.');
    if (event.action === 'up')
      return this.#enqueueRelease(this.#buttonsHeld.delete(button), () => this.#releaseButton({ ...event, button }, this.#deadline()));
    const by = this.#deadline();
    if (!this.#lane.isFull) this.#buttonsHeld.set(button, { ...event, button });
    return this.#lane.enqueue(() => this.#pressButton({ ...event, button }, by));
  }

  /**
   * Queues the release of what was pressed, however much waits, and gives it its time when it is sent: a page that has
   * hung would find the button or key still down.
   */
  #enqueueRelease(wasHeld: boolean, send: () => Promise<void>): Promise<void> {
    return wasHeld ? this.#lane.enqueueAlways(send) : this.#lane.enqueue(send);
  }

  /** A move that is still queued takes the newest position. */
  #queueMove(event: RemoteMouseEvent): Promise<void> {
    if (this.#pendingMove && this.#lane.canStillChange(this.#pendingMove.done)) {
      this.#pendingMove.event = event;
      return this.#pendingMove.done;
    }
    if (this.#lane.isFull) return Promise.resolve();
    const by = this.#deadline();
    const move = { event, done: Promise.resolve() };
    this.#pendingMove = move;
    move.done = this.#lane.enqueueMove(() => this.#sendMove(move.event, by));
    return move.done;
  }

  async wheel(event: RemoteWheelEvent): Promise<void> {
    this.#options.onActivity();
    assertFinitePoint(event.x, event.y);
    assertFinitePoint(event.dx, event.dy);
    const waiting = this.#pendingWheel;
    if (waiting && this.#lane.canStillChange(waiting.done) && waiting.event.modifiers === event.modifiers) {
      waiting.event = { ...event, dx: waiting.event.dx + event.dx, dy: waiting.event.dy + event.dy };
      return waiting.done;
    }
    if (this.#lane.isFull) return;
    const by = this.#deadline();
    const wheel = { event, done: Promise.resolve() };
    this.#pendingWheel = wheel;
    wheel.done = this.#lane.enqueueMove(() => {
      const { x, y, dx, dy, modifiers } = wheel.event;
      const params = {
        type: 'mouseWheel',
        x,
        y,
        deltaX: dx,
        deltaY: dy,
        modifiers: modifiers & modifierMask,
        pointerType: 'mouse',
      } as const;
      return this.#send('Input.dispatchMouseEvent', params, by);
    });
    return wheel.done;
  }

  async key(event: RemoteKeyEvent): Promise<void> {
    this.#options.onActivity();
    const params = toKeyEventParams(event);
    if (!params) return;
    const keyId = event.code || event.key;
    if (event.action === 'up') {
      const sent = this.#enqueueRelease(this.#keysHeld.delete(keyId), () => this.#send('Input.dispatchKeyEvent', params, this.#deadline()));
      // A Mac sends no keyup for keys that are released while Meta is down.
      if (event.key === 'Meta') await Promise.all([sent, this.#releaseKeys()]);
      return sent;
    }
    if (this.#keysHeld.size < keysHeldMax && !this.#lane.isFull) this.#keysHeld.set(keyId, event);
    const by = this.#deadline();
    return this.#lane.enqueue(async () => {
      if (opensControl(event) && (await this.#openControl(() => findFocusedControl(this.#state, by)))) return;
      await this.#send('Input.dispatchKeyEvent', params, by);
    });
  }

  insertText(text: string): Promise<void> {
    return this.#enqueue((by) => this.#send('Input.insertText', { text }, by));
  }

  compose(text: string, start: number, end: number): Promise<void> {
    const clamp = (index: number): number => Math.max(0, Math.min(text.length, Math.trunc(index) || 0));
    const params = { text, selectionStart: clamp(start), selectionEnd: clamp(end) };
    return this.#enqueue((by) => this.#send('Input.imeSetComposition', params, by));
  }

  selection(): Promise<string> {
    return this.#enqueue((by) => readSelection(this.#state, by));
  }

  async release(): Promise<void> {
    const buttons = [...this.#buttonsHeld.values()].map((event) => ({ ...event, ...this.#position }));
    this.#buttonsHeld.clear();
    const released = buttons.map((event) =>
      this.#lane.enqueueAlways(async () => {
        const by = this.#deadline();
        // Releasing must not drop anything.
        if (this.#dragged && event.button === 'left') await this.#drag('dragCancel', event, by);
        this.#dragged = null;
        await this.#releaseButton(event, by, false);
      }),
    );
    await Promise.allSettled([...released, this.#releaseKeys()]);
  }

  async #releaseKeys(): Promise<void> {
    const keys = [...this.#keysHeld.values()].toReversed();
    this.#keysHeld.clear();
    const releases = keys
      .map((key) => toKeyEventParams({ ...key, action: 'up', modifiers: 0, repeat: false }))
      .filter((params) => params !== null);
    await Promise.allSettled(
      releases.map((params) => this.#lane.enqueueAlways(() => this.#send('Input.dispatchKeyEvent', params, this.#deadline()))),
    );
  }

  #enqueue<T>(send: (by: Deadline) => Promise<T>): Promise<T> {
    this.#options.onActivity();
    const by = this.#deadline();
    return this.#lane.enqueue(() => send(by));
  }

  async #sendMove(event: RemoteMouseEvent, by: Deadline): Promise<void> {
    if (this.#dragged) return this.#drag('dragOver', event, by);
    const buttons = event.buttons & 7;
    const button = (['left', 'right', 'middle'] as const).find((each) => (buttons & buttonBits[each]) !== 0) ?? 'none';
    await this.#dispatchMouse('mouseMoved', { ...event, button, buttons, clicks: 0 }, by);
    if (!this.#dragged) return;
    await this.#drag('dragEnter', event, by);
    await this.#drag('dragOver', event, by);
  }

  async #pressButton(event: RemoteButtonEvent, by: Deadline): Promise<void> {
    this.#options.closeControl();
    if (event.button === 'left') {
      // The list's own press only focuses it: what the browser would open is not in the picture.
      await this.#openControl(() => findControlAt(this.#state, event, by));
      this.#interceptDrags(true);
    }
    await this.#dispatchMouse('mousePressed', { ...event, buttons: event.buttons | buttonBits[event.button] }, by);
  }

  async #releaseButton(event: RemoteButtonEvent, by: Deadline, shouldDrop = true): Promise<void> {
    try {
      if (this.#dragged && event.button === 'left') return await this.#drag('drop', event, by);
      await this.#dispatchMouse('mouseReleased', { ...event, buttons: event.buttons & ~buttonBits[event.button] }, by);
      // A busy browser may report only now a drag that the last move started.
      if (this.#dragged && event.button === 'left') await this.#finishLateDrag(event, { shouldDrop, by });
    } finally {
      if (event.button === 'left') this.#interceptDrags(false);
    }
  }

  async #finishLateDrag(event: RemoteMouseEvent, { shouldDrop, by }: { shouldDrop: boolean; by: Deadline }): Promise<void> {
    for (const type of shouldDrop ? (['dragEnter', 'dragOver', 'drop'] as const) : (['dragCancel'] as const))
      await this.#drag(type, event, by);
  }

  /** Returns whether there was a list or picker to open. */
  async #openControl(find: () => Promise<ControlMatch | null>): Promise<boolean> {
    const match = await find().catch(() => null);
    if (match) this.#options.openControl(match.question, match.handler);
    return match !== null;
  }

  #interceptDrags(enabled: boolean): void {
    this.#unsubscribeDrags();
    this.#isLeftDown = enabled;
    this.#dragged = null;
    this.#unsubscribeDrags = enabled ? this.#state.frames.onDragStart((data) => (this.#dragged = data)) : (): void => {};
    this.#state.frames.main.sendNoReply('Input.setInterceptDrags', { enabled });
  }

  #dispatchMouse(type: 'mouseMoved' | 'mousePressed' | 'mouseReleased', event: RemoteMouseEvent, by: Deadline): Promise<void> {
    const { x, y, button, clicks } = event;
    const [buttons, modifiers] = [event.buttons & 7, event.modifiers & modifierMask];
    const clickCount = Math.max(0, Math.min(clicksMax, Math.trunc(clicks) || 0));
    return this.#send('Input.dispatchMouseEvent', { type, x, y, button, buttons, clickCount, modifiers, pointerType: 'mouse' }, by);
  }

  #drag(type: 'dragEnter' | 'dragOver' | 'drop' | 'dragCancel', { x, y, modifiers }: RemoteMouseEvent, by: Deadline): Promise<void> {
    const data = this.#dragged ?? { items: [], dragOperationsMask: 0 };
    return this.#send('Input.dispatchDragEvent', { type, x, y, data, modifiers: modifiers & modifierMask }, by);
  }

  #deadline(): Deadline {
    const { tab, timeoutScale } = this.#state.frames;
    return new Deadline({ signal: tab.closed.signal, timeoutMs: timeoutScale.ms(inputTimeoutMs) });
  }

  /** @throws PageError `timeout` or `not_possible` */
  async #send<C extends Command>(method: C, params: Params<C>, by: Deadline): Promise<void> {
    try {
      await this.#state.frames.main.send(method, params, by);
    } catch (error) {
      if (error instanceof ProtocolError) throw new PageError('not_possible', 'The browser rejected the input.', { cause: error });
      throw error;
    }
  }
}

function assertFinitePoint(x: number, y: number): void {
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw new PageError('not_possible', 'The coordinates must be finite numbers.');
}

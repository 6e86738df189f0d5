import type { LiveTab, ViewCloseReason } from '@berth/contract/live-view';
import { cutText } from '../lib/text.ts';
import type { TabInfo } from '../browser/browser.ts';
import type { Drive } from '../drive/drive.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import type { ControlCommand } from './live-view-commands.ts';
import { Control } from './live-view-control.ts';
import { Viewer, type ViewerScope } from './viewer.ts';
import { countViewer, viewCloseReason, type Socket } from './viewer-socket.ts';

export interface LiveViewDeps {
  session: LiveSession;
  machine: Machine;
  sessions: Sessions;
  drive: Drive;
  clock: Clock;
  log: Log;
  /** Called when the last viewer has disconnected. */
  onEmpty(): void;
}

/** Each viewer costs a socket and its frames, and a link posted publicly attracts many more than this. */
export const viewersMax = 50;
/** A loading page changes its tab many times a second, faster than anybody reads. */
const stateIntervalMs = 100;
/** Pages choose these texts, so they are truncated. */
const titleCharsMax = 300;
const urlCharsMax = 2048;

/** All viewers of one session: the state that they see and their commands. Each attaches to the screencast by itself. */
export class LiveView {
  readonly #deps: LiveViewDeps;
  /** With their control; null for viewers that only watch. */
  readonly #viewers = new Map<Viewer, Control | null>();
  readonly #undo: (() => void)[] = [];
  #stateTimer: NodeJS.Timeout | null = null;

  constructor(deps: LiveViewDeps) {
    this.#deps = deps;
  }

  /** Takes over a socket. `registerConnection` receives a function that closes it, and returns one that unregisters it. */
  join(
    socket: Socket,
    { scope, registerConnection }: { scope: ViewerScope; registerConnection: (close: (reason: ViewCloseReason) => void) => () => void },
  ): void {
    const { session, machine, clock } = this.#deps;
    let unregister = (): void => undefined;
    const viewer = new Viewer(socket, {
      scope,
      clock,
      events: {
        onCommand: (command) => this.#onCommand(viewer, command),
        onClose: () => {
          unregister();
          this.#leave(viewer);
        },
      },
    });
    if (session.abort.signal.aborted) return this.#reject(viewer, ...this.#sessionEndReason());
    if (this.#viewers.size >= viewersMax) return this.#reject(viewer, 'limit');
    this.#viewers.set(
      viewer,
      scope === 'control' ? new Control({ ...this.#deps, sendMessage: (message) => viewer.sendMessage(message) }) : null,
    );
    unregister = registerConnection((reason) => viewer.end(reason));
    if (this.#viewers.size === 1) this.#start();
    this.#count(viewer, 1);
    const { sessionId, expiresAt } = session.record;
    viewer.sendMessage({ type: 'hello', session_id: sessionId, scope, expires_at: expiresAt.toISOString() });
    viewer.sendState(this.#state());
    viewer.watch(machine.browser);
  }

  #reject(viewer: Viewer, ...why: Parameters<Viewer['end']>): void {
    viewer.end(...why);
    if (this.#viewers.size === 0) this.#deps.onEmpty();
  }

  #start(): void {
    const { session, machine } = this.#deps;
    const onEnd = (): void => {
      for (const viewer of this.#viewers.keys()) viewer.end(...this.#sessionEndReason());
    };
    session.abort.signal.addEventListener('abort', onEnd, { once: true });
    this.#undo.push(
      machine.browser.onTabsChanged(() => this.#scheduleState()),
      () => session.abort.signal.removeEventListener('abort', onEnd),
    );
  }

  #stop(): void {
    for (const undo of this.#undo.splice(0)) undo();
    clearTimeout(this.#stateTimer ?? undefined);
    this.#stateTimer = null;
    this.#deps.onEmpty();
  }

  #leave(viewer: Viewer): void {
    const control = this.#viewers.get(viewer);
    if (control === undefined) return;
    this.#viewers.delete(viewer);
    control?.end();
    this.#count(viewer, -1);
    if (this.#viewers.size === 0) this.#stop();
  }

  #count({ scope }: Viewer, by: 1 | -1): void {
    countViewer({ session: this.#deps.session, scope, by });
    this.#scheduleState();
  }

  #sessionEndReason(): [reason: ViewCloseReason, detail: string] {
    const { session } = this.#deps;
    const reason = viewCloseReason(session);
    return [reason, session.record.endedReason ?? reason];
  }

  #onCommand(viewer: Viewer, command: ControlCommand): void {
    const control = this.#viewers.get(viewer);
    if (control) control.run(command);
    else
      viewer.sendMessage({
        type: 'failed',
        code: 'not_allowed',
        message: 'This link is view-only. Ask for an interactive live view link.',
      });
  }

  #scheduleState(): void {
    if (this.#viewers.size === 0) return;
    this.#stateTimer ??= setTimeout(() => {
      this.#stateTimer = null;
      const text = this.#state();
      for (const viewer of this.#viewers.keys()) viewer.sendState(text);
    }, stateIntervalMs).unref();
  }

  #state(): string {
    const { session, machine } = this.#deps;
    return JSON.stringify({ type: 'state', tabs: machine.browser.tabs().map(toLiveTab), viewers: session.viewers });
  }
}

const toLiveTab = ({ tabId, title, url, active, status }: TabInfo): LiveTab => ({
  tab_id: tabId,
  title: cutText(title, titleCharsMax),
  url: cutText(url, urlCharsMax),
  active,
  status,
});

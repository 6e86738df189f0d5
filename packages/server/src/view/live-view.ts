import type { LiveTab, ViewCloseReason } from '@berth/contract/live-view';
import type { ScreencastDemand, ScreencastWatch, TabInfo } from '../browser/browser.ts';
import type { Drive } from '../drive/drive.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import type { Command } from './live-view-commands.ts';
import { Control } from './live-view-control.ts';
import { toLiveFrame, type LiveFrame } from './live-view-frame.ts';
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
/** The browser restarts its encoder for each change of size or quality. */
const demandIntervalMs = 200;
const checkIntervalMs = 1000;
/** Pages choose these texts, so they are truncated. */
const titleCharsMax = 300;
const urlCharsMax = 2048;

/** All viewers of one session. They share one encoder, which runs from the first viewer's join to the last one's disconnect. */
export class LiveView {
  readonly #deps: LiveViewDeps;
  /** With their control; null for viewers that only watch. */
  readonly #viewers = new Map<Viewer, Control | null>();
  readonly #undo: (() => void)[] = [];
  #watch: ScreencastWatch | null = null;
  #demand = '';
  /** Sent to a viewer that joins while the page does not change. */
  #latest: LiveFrame | null = null;
  #frameCount = 0;
  #stateTimer: NodeJS.Timeout | null = null;
  #demandTimer: NodeJS.Timeout | null = null;

  constructor(deps: LiveViewDeps) {
    this.#deps = deps;
  }

  /** Takes over a socket. `registerConnection` receives a function that closes it, and returns one that unregisters it. */
  join(
    socket: Socket,
    { scope, registerConnection }: { scope: ViewerScope; registerConnection: (close: (reason: ViewCloseReason) => void) => () => void },
  ): void {
    const { session, clock } = this.#deps;
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
    if (this.#latest) viewer.show(this.#latest);
    this.#scheduleDemand();
  }

  #reject(viewer: Viewer, ...why: Parameters<Viewer['end']>): void {
    viewer.end(...why);
    if (this.#viewers.size === 0) this.#deps.onEmpty();
  }

  #start(): void {
    const { session, machine } = this.#deps;
    const demand = this.#combinedDemand();
    this.#demand = JSON.stringify(demand);
    this.#watch = machine.browser.watch(demand, (frame) => {
      this.#frameCount += 1;
      this.#latest = toLiveFrame(frame, this.#frameCount);
      for (const viewer of this.#viewers.keys()) viewer.show(this.#latest);
    });
    const ticker = setInterval(() => this.#checkViewers(), checkIntervalMs).unref();
    const onEnd = (): void => this.#endAll();
    session.abort.signal.addEventListener('abort', onEnd, { once: true });
    this.#undo.push(
      machine.browser.onTabsChanged(() => this.#scheduleState()),
      () => clearInterval(ticker),
      () => session.abort.signal.removeEventListener('abort', onEnd),
    );
  }

  #stop(): void {
    this.#watch?.end();
    this.#watch = null;
    this.#latest = null;
    for (const undo of this.#undo.splice(0)) undo();
    clearTimeout(this.#stateTimer ?? undefined);
    clearTimeout(this.#demandTimer ?? undefined);
    this.#stateTimer = null;
    this.#demandTimer = null;
    this.#deps.onEmpty();
  }

  #leave(viewer: Viewer): void {
    const control = this.#viewers.get(viewer);
    if (control === undefined) return;
    this.#viewers.delete(viewer);
    control?.end();
    this.#count(viewer, -1);
    if (this.#viewers.size === 0) this.#stop();
    else this.#scheduleDemand();
  }

  #count({ scope }: Viewer, by: 1 | -1): void {
    countViewer({ session: this.#deps.session, scope, by });
    this.#scheduleState();
  }

  #endAll(): void {
    for (const viewer of [...this.#viewers.keys()]) viewer.end(...this.#sessionEndReason());
  }

  #sessionEndReason(): [reason: ViewCloseReason, detail: string] {
    const { session } = this.#deps;
    const reason = viewCloseReason(session);
    return [reason, session.record.endedReason ?? reason];
  }

  #onCommand(viewer: Viewer, command: Command): void {
    if (command.type === 'fit') return this.#scheduleDemand();
    if (command.type === 'ack') return;
    const control = this.#viewers.get(viewer);
    if (control) control.run(command);
    else
      viewer.sendMessage({
        type: 'failed',
        code: 'not_allowed',
        message: 'This link is view-only. Ask for an interactive live view link.',
      });
  }

  #checkViewers(): void {
    for (const viewer of [...this.#viewers.keys()]) viewer.checkAcknowledgements();
    this.#scheduleDemand();
  }

  #scheduleDemand(): void {
    if (!this.#watch) return;
    this.#demandTimer ??= setTimeout(() => {
      this.#demandTimer = null;
      this.#updateDemand();
    }, demandIntervalMs).unref();
  }

  #updateDemand(): void {
    const demand = this.#combinedDemand();
    const text = JSON.stringify(demand);
    if (text === this.#demand) return;
    this.#demand = text;
    this.#watch?.change(demand);
  }

  /** The highest demand of any viewer: the others skip frames. */
  #combinedDemand(): ScreencastDemand {
    const demands = [...this.#viewers.keys()].map((viewer) => viewer.demand());
    const maxOf = (of: keyof ScreencastDemand): number => Math.max(...demands.map((demand) => demand[of]));
    return {
      maxWidth: maxOf('maxWidth'),
      maxHeight: maxOf('maxHeight'),
      quality: maxOf('quality'),
      framesPerSecond: maxOf('framesPerSecond'),
    };
  }

  #scheduleState(): void {
    if (!this.#watch) return;
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
  title: title.slice(0, titleCharsMax).toWellFormed(),
  url: url.slice(0, urlCharsMax).toWellFormed(),
  active,
  status,
});

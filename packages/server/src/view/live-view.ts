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
import { countViewer, endOf, type Socket } from './viewer-socket.ts';

export interface LiveViewParts {
  session: LiveSession;
  machine: Machine;
  sessions: Sessions;
  drive: Drive;
  clock: Clock;
  log: Log;
  /** Called when the last viewer has left. */
  onEmpty(): void;
}

/** Each is a socket and its frames; a link that was posted somewhere brings more than that. */
export const viewersMax = 50;
/** A page that loads tells of its tab many times in a second; nobody reads as fast. */
const stateMs = 100;
/** The browser starts its encoder anew for each change of size or quality. */
const demandMs = 200;
const lookMs = 1000;
/** Pages choose these texts. */
const titleCharsMax = 300;
const urlCharsMax = 2048;

/** All who watch one session: one encoder for them together, from the first one's coming to the last one's leaving. */
export class LiveView {
  readonly #parts: LiveViewParts;
  /** With what each may do. */
  readonly #viewers = new Map<Viewer, Control | null>();
  readonly #undo: (() => void)[] = [];
  #watch: ScreencastWatch | null = null;
  #demand = '';
  /** For one who comes while nothing moves. */
  #latest: LiveFrame | null = null;
  #frames = 0;
  #stateTimer: NodeJS.Timeout | null = null;
  #demandTimer: NodeJS.Timeout | null = null;

  constructor(parts: LiveViewParts) {
    this.#parts = parts;
  }

  /** Takes a socket over. `hold` is told how to close it, and gives what undoes that. */
  join(socket: Socket, { scope, hold }: { scope: ViewerScope; hold: (close: (reason: ViewCloseReason) => void) => () => void }): void {
    const { session, clock } = this.#parts;
    let release = (): void => undefined;
    const viewer = new Viewer(socket, {
      scope,
      clock,
      events: {
        onCommand: (command) => this.#onCommand(viewer, command),
        onLeft: () => {
          release();
          this.#leave(viewer);
        },
      },
    });
    if (session.abort.signal.aborted) return this.#refuse(viewer, ...this.#endOfSession());
    if (this.#viewers.size >= viewersMax) return this.#refuse(viewer, 'limit');
    this.#viewers.set(viewer, scope === 'control' ? new Control({ ...this.#parts, say: (message) => viewer.say(message) }) : null);
    release = hold((reason) => viewer.end(reason));
    if (this.#viewers.size === 1) this.#start();
    this.#count(viewer, 1);
    const { sessionId, expiresAt } = session.record;
    viewer.say({ type: 'hello', session_id: sessionId, scope, expires_at: expiresAt.toISOString() });
    viewer.tellState(this.#state());
    if (this.#latest) viewer.show(this.#latest);
    this.#weighDemandSoon();
  }

  #refuse(viewer: Viewer, ...why: Parameters<Viewer['end']>): void {
    viewer.end(...why);
    if (this.#viewers.size === 0) this.#parts.onEmpty();
  }

  #start(): void {
    const { session, machine } = this.#parts;
    const demand = this.#combinedDemand();
    this.#demand = JSON.stringify(demand);
    this.#watch = machine.browser.watch(demand, (frame) => {
      this.#frames += 1;
      this.#latest = toLiveFrame(frame, this.#frames);
      for (const viewer of this.#viewers.keys()) viewer.show(this.#latest);
    });
    const ticker = setInterval(() => this.#look(), lookMs).unref();
    const onEnd = (): void => this.#endAll();
    session.abort.signal.addEventListener('abort', onEnd, { once: true });
    this.#undo.push(
      machine.browser.onTabsChanged(() => this.#tellStateSoon()),
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
    this.#parts.onEmpty();
  }

  #leave(viewer: Viewer): void {
    const control = this.#viewers.get(viewer);
    if (control === undefined) return;
    this.#viewers.delete(viewer);
    control?.end();
    this.#count(viewer, -1);
    if (this.#viewers.size === 0) this.#stop();
    else this.#weighDemandSoon();
  }

  #count({ scope }: Viewer, by: 1 | -1): void {
    countViewer({ session: this.#parts.session, scope, by });
    this.#tellStateSoon();
  }

  #endAll(): void {
    for (const viewer of [...this.#viewers.keys()]) viewer.end(...this.#endOfSession());
  }

  #endOfSession(): [reason: ViewCloseReason, told: string] {
    const { session } = this.#parts;
    const reason = endOf(session);
    return [reason, session.record.endedReason ?? reason];
  }

  #onCommand(viewer: Viewer, command: Command): void {
    if (command.type === 'fit') return this.#weighDemandSoon();
    if (command.type === 'ack') return;
    const control = this.#viewers.get(viewer);
    if (control) control.run(command);
    else viewer.say({ type: 'failed', code: 'not_allowed', message: 'This link is for watching only.' });
  }

  #look(): void {
    for (const viewer of [...this.#viewers.keys()]) viewer.look();
    this.#weighDemandSoon();
  }

  #weighDemandSoon(): void {
    if (!this.#watch) return;
    this.#demandTimer ??= setTimeout(() => {
      this.#demandTimer = null;
      this.#weighDemand();
    }, demandMs).unref();
  }

  #weighDemand(): void {
    const demand = this.#combinedDemand();
    const text = JSON.stringify(demand);
    if (text === this.#demand) return;
    this.#demand = text;
    this.#watch?.change(demand);
  }

  /** The best that anybody can use: the others leave frames out. */
  #combinedDemand(): ScreencastDemand {
    const demands = [...this.#viewers.keys()].map((viewer) => viewer.demand());
    const most = (of: keyof ScreencastDemand): number => Math.max(...demands.map((demand) => demand[of]));
    return { maxWidth: most('maxWidth'), maxHeight: most('maxHeight'), quality: most('quality'), framesPerSecond: most('framesPerSecond') };
  }

  #tellStateSoon(): void {
    if (!this.#watch) return;
    this.#stateTimer ??= setTimeout(() => {
      this.#stateTimer = null;
      const text = this.#state();
      for (const viewer of this.#viewers.keys()) viewer.tellState(text);
    }, stateMs).unref();
  }

  #state(): string {
    const { session, machine } = this.#parts;
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

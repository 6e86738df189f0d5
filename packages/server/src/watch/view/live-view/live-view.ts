import type { LiveState, ViewCloseReason } from '@berth/contract/live-view';
import type { Drive } from '../../../sessions/drive/drive.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { LiveSession, Machine, SessionEvent, Sessions } from '../../../sessions/sessions/sessions.ts';
import type { ControlCommand } from './live-view-commands.ts';
import { LiveViewControl } from './live-view-control.ts';
import { noPrompt, toLiveDownload, toLivePrompt, toLiveTab } from './live-view-messages.ts';
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
/** Interval of updates of the state for changes that no event reports, such as DevTools clients that connect. */
const refreshMs = 2000;
/** A call of the API counts as driving for so long. */
const apiDrivesMs = 10_000;
/** The newest ones are offered to be saved. */
const downloadsMax = 20;

/** All viewers of one session: the state that they see and their commands. Each attaches to the screencast by itself. */
export class LiveView {
  readonly #deps: LiveViewDeps;
  /** The viewers with their control, which is null for viewers that only watch. */
  readonly #viewers = new Map<Viewer, LiveViewControl | null>();
  readonly #undo: (() => void)[] = [];
  #stateTimer: NodeJS.Timeout | null = null;
  #history: LiveState['history'] = { back: false, forward: false };
  /** Monotonic time of the last call of the API that drove the session. */
  #apiCallMs = -Infinity;

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
      scope === 'control' ? new LiveViewControl({ ...this.#deps, sendMessage: (message) => viewer.sendMessage(message) }) : null,
    );
    unregister = registerConnection((reason) => viewer.end(reason));
    if (this.#viewers.size === 1) this.#start();
    this.#count(viewer, 1);
    const { sessionId } = session.record;
    viewer.sendMessage({ type: 'hello', session_id: sessionId, scope, expires_at: session.endsAt().toISOString() });
    this.#send(viewer);
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
    const timer = setInterval(() => this.#scheduleState(), refreshMs).unref();
    this.#undo.push(
      () => clearInterval(timer),
      session.events.subscribe((event) => this.#onEvent(event)),
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
      for (const viewer of this.#viewers.keys()) this.#send(viewer);
      void this.#refreshHistory();
    }, stateIntervalMs).unref();
  }

  #send(viewer: Viewer): void {
    viewer.sendLatest('state', JSON.stringify({ type: 'state', ...this.#state(viewer) }));
    const { browser } = this.#deps.machine;
    const activeId = browser.tabs().find(({ active }) => active)?.tabId;
    const prompt = browser.prompts().find(({ tabId }) => tabId === activeId);
    viewer.sendLatest('prompt', prompt ? JSON.stringify({ type: 'prompt', prompt: toLivePrompt(prompt) }) : noPrompt);
  }

  #state({ scope }: Viewer): LiveState {
    const { session, machine, clock } = this.#deps;
    const { browser } = machine;
    const { name } = session.record;
    const api = clock.monotonicMs() - this.#apiCallMs < apiDrivesMs;
    return {
      tabs: browser.tabs().map(toLiveTab),
      viewers: session.viewers,
      session: { name, expires_at: session.endsAt().toISOString() },
      drivers: { people: [...this.#viewers.values()].filter((control) => control !== null).length, clients: browser.clientCount(), api },
      history: this.#history,
      downloads: scope === 'control' ? browser.downloads().slice(0, downloadsMax).map(toLiveDownload) : [],
    };
  }

  #onEvent({ type, data }: SessionEvent): void {
    // The dashboard reads the storage state beside the view.
    if (type === 'action' && data['by'] !== 'viewer' && data['name'] !== 'storage_state') this.#apiCallMs = this.#deps.clock.monotonicMs();
    if (type === 'action' || type === 'session.expiring' || type.startsWith('download.')) this.#scheduleState();
  }

  /** The browser process answers at once; a page that hangs does not matter. */
  async #refreshHistory(): Promise<void> {
    const { browser } = this.#deps.machine;
    const active = browser.tabs().find((tab) => tab.active);
    const history = active ? await browser.historyOf(active.tabId).catch(() => null) : null;
    const { back, forward } = this.#history;
    if (!history || (history.back === back && history.forward === forward)) return;
    this.#history = history;
    this.#scheduleState();
  }
}

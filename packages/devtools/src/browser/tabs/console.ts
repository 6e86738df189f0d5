/**
 * Console lines of pages, and their uncaught errors.
 *
 * A page can detect that the Runtime domain is enabled, because it reads logged
 * objects. The deprecated Console domain reports the same lines as text and reads
 * nothing, but has no uncaught errors: for those see `uncaught-errors.ts`.
 */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import { systemClock } from '@berth/lib/clock.ts';
import type { Connection } from '../cdp/connection.ts';
import type { Tab } from './tab.ts';
import { UncaughtErrors } from './uncaught-errors.ts';
import type { ConsoleEntry } from '../screencast/clients.ts';

const textCharsMax = 2000;
const urlCharsMax = 2048;
/** Console output of a tab per second, with an overhead for each line. A tab that exceeds it is muted until it navigates. */
const charsPerSecondMax = 400_000;
const charsPerLine = 200;

interface ConsoleDeps {
  connection: Connection;
  /** Undefined for sessions of private pages. */
  tabOf(sessionId: string | undefined): Tab | undefined;
  /** All attached sessions: pages, and frames and workers in them. */
  sessions(): Iterable<readonly [sessionId: string, tab: Tab]>;
}

interface Volume {
  sinceMs: number;
  chars: number;
  isMuted: boolean;
}

export class Console {
  readonly #deps: ConsoleDeps;
  readonly #listeners = new Set<(entry: ConsoleEntry) => void>();
  #volumes = new WeakMap<Tab, Volume>();
  /** Sessions that still replay earlier lines of their document, until `enable` has replied. */
  readonly #replayingSessions = new Set<string>();
  #errors: UncaughtErrors | null = null;
  #undo: (() => void)[] = [];
  #listening: Promise<unknown> = Promise.resolve();

  constructor(deps: ConsoleDeps) {
    this.#deps = deps;
  }

  subscribe(listener: (entry: ConsoleEntry) => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#end();
    };
  }

  /** Resolves when the pages that were there at the first `subscribe` report their lines. One that hangs does not reply. */
  async listening(): Promise<void> {
    await this.#listening;
  }

  /** Call before the first script of a page, frame or worker. */
  listenTo(sessionId: string): void {
    if (this.#listeners.size === 0 || !this.#deps.tabOf(sessionId)) return;
    void this.#enable(sessionId);
    this.#errors?.listenTo(sessionId);
  }

  #start(): void {
    const { connection } = this.#deps;
    this.#errors = new UncaughtErrors({ ...this.#deps, onError: (tab, entry) => this.#report(tab, entry) });
    this.#undo = [
      connection.on('Console.messageAdded', ({ message }, from) => this.#onMessage(message, from)),
      connection.on('Log.entryAdded', ({ entry }, from) => this.#onLog(entry, from)),
      connection.on('Page.frameNavigated', ({ frame }, from) => frame.parentId === undefined && this.#onNavigated(from)),
    ];
    const late: Promise<void>[] = [];
    for (const [sessionId] of this.#deps.sessions()) {
      late.push(this.#enableLate(sessionId));
      this.#errors.listenTo(sessionId);
    }
    this.#listening = Promise.all(late);
  }

  #end(): void {
    for (const undo of this.#undo) undo();
    this.#errors?.end();
    this.#errors = null;
    this.#volumes = new WeakMap();
    for (const [sessionId] of this.#deps.sessions()) this.#disable(sessionId);
  }

  #onMessage({ text, level, url, line }: Protocol.Console.ConsoleMessage, from: string | undefined): void {
    const tab = this.#deps.tabOf(from);
    if (tab && !this.#replayingSessions.has(from ?? '')) this.#report(tab, { level, text, url: url || null, line: line ?? null });
  }

  #onLog({ source, text, level, url, lineNumber }: Protocol.Log.LogEntry, from: string | undefined): void {
    const tab = this.#deps.tabOf(from);
    // A worker's lines are reported in its own session, and its errors in its page.
    if (!tab || source === 'worker' || this.#replayingSessions.has(from ?? '')) return;
    // The Log domain counts lines from 0.
    this.#report(tab, {
      level: level === 'verbose' ? 'debug' : level,
      text,
      url: url || null,
      line: lineNumber === undefined ? null : lineNumber + 1,
    });
  }

  #report(tab: Tab, { level, text, url, line }: Omit<ConsoleEntry, 'tabId'>): void {
    const shouldReport = this.#countChars(tab, text.length);
    if (shouldReport)
      this.#emit({ tabId: tab.id, level, text: cutText(text, textCharsMax), url: url === null ? null : cutText(url, urlCharsMax), line });
  }

  #emit(entry: ConsoleEntry): void {
    for (const listener of this.#listeners) listener(entry);
  }

  #countChars(tab: Tab, chars: number): boolean {
    const now = systemClock.monotonicMs();
    const volume = this.#volumes.get(tab) ?? { sinceMs: now, chars: 0, isMuted: false };
    this.#volumes.set(tab, volume);
    if (volume.isMuted) return false;
    if (now - volume.sinceMs > 1000) Object.assign(volume, { sinceMs: now, chars: 0 });
    volume.chars += chars + charsPerLine;
    if (volume.chars <= charsPerSecondMax) return true;
    volume.isMuted = true;
    for (const [sessionId, owner] of this.#deps.sessions()) if (owner === tab) this.#disable(sessionId);
    this.#emit({
      tabId: tab.id,
      level: 'warning',
      text: 'The page writes too much to its console. Further lines are omitted until it navigates.',
      url: null,
      line: null,
    });
    return false;
  }

  /** A process that replaces the page's before it has replied replays lines of its own document: they are new. */
  #onNavigated(sessionId: string | undefined): void {
    this.#replayingSessions.delete(sessionId ?? '');
    this.#unmute(this.#deps.tabOf(sessionId));
  }

  /** Enabling replays the lines since the navigation. */
  #unmute(tab: Tab | undefined): void {
    if (!tab || this.#volumes.get(tab)?.isMuted !== true) return;
    this.#volumes.delete(tab);
    for (const [sessionId, owner] of this.#deps.sessions()) if (owner === tab) void this.#enable(sessionId);
  }

  #enable(sessionId: string): Promise<unknown> {
    return Promise.all([this.#send('Console.enable', sessionId), this.#send('Log.enable', sessionId)]);
  }

  /** Enables the reports for a target that already has a document. */
  async #enableLate(sessionId: string): Promise<void> {
    this.#replayingSessions.add(sessionId);
    await this.#enable(sessionId);
    this.#replayingSessions.delete(sessionId);
  }

  #disable(sessionId: string): void {
    void this.#send('Console.disable', sessionId);
    void this.#send('Log.disable', sessionId);
  }

  /** Some kinds of targets have no console. */
  #send(method: 'Console.enable' | 'Console.disable' | 'Log.enable' | 'Log.disable', sessionId: string): Promise<unknown> {
    return this.#deps.connection.send(method, undefined, { sessionId }).catch(() => {});
  }
}

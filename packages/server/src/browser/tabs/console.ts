/**
 * What pages write to their consoles, and what they fail to catch.
 *
 * A page can tell that the Runtime domain is enabled: its objects are looked
 * at. The old Console domain tells the same lines as text and looks at nothing,
 * but says nothing of uncaught errors: for those see `uncaught-errors.ts`.
 */
import type { Protocol } from 'devtools-protocol';
import { systemClock } from '../../lib/clock.ts';
import type { Connection } from '../cdp/connection.ts';
import type { Tab } from './tab.ts';
import { UncaughtErrors } from './uncaught-errors.ts';
import type { ConsoleEntry } from '../screencast/model.ts';

const longestText = 2000;
const longestUrl = 2048;
/** Lines of a tab in one second, as letters and something for each line: far more than anybody reads. One that writes more is not heard until it moves on. */
const lettersPerSecond = 400_000;
const lettersOfLine = 200;

export interface ConsoleParts {
  connection: Connection;
  /** Undefined for what is nobody's business, as a private page's. */
  tabOf(sessionId: string | undefined): Tab | undefined;
  /** All that are attached to, of pages and of frames and workers in them. */
  sessions(): Iterable<readonly [sessionId: string, tab: Tab]>;
}

interface Volume {
  sinceMs: number;
  letters: number;
  isMuted: boolean;
}

export class Console {
  readonly #parts: ConsoleParts;
  readonly #listeners = new Set<(entry: ConsoleEntry) => void>();
  #volumes = new WeakMap<Tab, Volume>();
  /** Sessions that repeat what their document wrote before, as they do until they have answered. */
  readonly #repeating = new Set<string>();
  #errors: UncaughtErrors | null = null;
  #undo: (() => void)[] = [];

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
  }

  listen(listener: (entry: ConsoleEntry) => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#begin();
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#end();
    };
  }

  /** Before the first script of a page, frame or worker. */
  hear(sessionId: string): void {
    if (this.#listeners.size === 0 || !this.#parts.tabOf(sessionId)) return;
    void this.#enable(sessionId);
    this.#errors?.hear(sessionId);
  }

  #begin(): void {
    const { connection } = this.#parts;
    this.#errors = new UncaughtErrors({ ...this.#parts, tell: (tab, entry) => this.#tell(tab, entry) });
    this.#undo = [
      connection.on('Console.messageAdded', ({ message }, from) => this.#onMessage(message, from)),
      connection.on('Log.entryAdded', ({ entry }, from) => this.#onLog(entry, from)),
      connection.on('Page.frameNavigated', ({ frame }, from) => frame.parentId === undefined && this.#unmute(this.#parts.tabOf(from))),
    ];
    for (const [sessionId] of this.#parts.sessions()) {
      this.#enableLate(sessionId);
      this.#errors.hear(sessionId);
    }
  }

  #end(): void {
    for (const undo of this.#undo) undo();
    this.#errors?.end();
    this.#errors = null;
    this.#volumes = new WeakMap();
    for (const [sessionId] of this.#parts.sessions()) this.#silence(sessionId);
  }

  #onMessage({ text, level, url, line }: Protocol.Console.ConsoleMessage, from: string | undefined): void {
    const tab = this.#parts.tabOf(from);
    if (tab && !this.#repeating.has(from ?? '')) this.#tell(tab, { level, text, url: url || null, line: line ?? null });
  }

  #onLog({ source, text, level, url, lineNumber }: Protocol.Log.LogEntry, from: string | undefined): void {
    const tab = this.#parts.tabOf(from);
    // What a worker writes is told in its own session, and what it throws in its page.
    if (!tab || source === 'worker' || this.#repeating.has(from ?? '')) return;
    // This domain counts lines from 0.
    this.#tell(tab, {
      level: level === 'verbose' ? 'debug' : level,
      text,
      url: url || null,
      line: lineNumber === undefined ? null : lineNumber + 1,
    });
  }

  #tell(tab: Tab, { level, text, url, line }: Omit<ConsoleEntry, 'tabId'>): void {
    const heard = this.#isHeard(tab, text.length);
    if (heard) this.#give({ tabId: tab.id, level, text: text.slice(0, longestText), url: url?.slice(0, longestUrl) ?? null, line });
  }

  #give(entry: ConsoleEntry): void {
    for (const listener of this.#listeners) listener(entry);
  }

  #isHeard(tab: Tab, letters: number): boolean {
    const now = systemClock.monotonicMs();
    const volume = this.#volumes.get(tab) ?? { sinceMs: now, letters: 0, isMuted: false };
    this.#volumes.set(tab, volume);
    if (volume.isMuted) return false;
    if (now - volume.sinceMs > 1000) Object.assign(volume, { sinceMs: now, letters: 0 });
    volume.letters += letters + lettersOfLine;
    if (volume.letters <= lettersPerSecond) return true;
    volume.isMuted = true;
    for (const [sessionId, owner] of this.#parts.sessions()) if (owner === tab) this.#silence(sessionId);
    this.#give({
      tabId: tab.id,
      level: 'warning',
      text: 'The page writes too much: what it writes from here on is left out.',
      url: null,
      line: null,
    });
    return false;
  }

  /** What it wrote since it moved on is repeated to us now. */
  #unmute(tab: Tab | undefined): void {
    if (!tab || this.#volumes.get(tab)?.isMuted !== true) return;
    this.#volumes.delete(tab);
    for (const [sessionId, owner] of this.#parts.sessions()) if (owner === tab) void this.#enable(sessionId);
  }

  #enable(sessionId: string): Promise<unknown> {
    return Promise.all([this.#send('Console.enable', sessionId), this.#send('Log.enable', sessionId)]);
  }

  /** Where there is a document already. */
  #enableLate(sessionId: string): void {
    this.#repeating.add(sessionId);
    void this.#enable(sessionId).then(() => this.#repeating.delete(sessionId));
  }

  #silence(sessionId: string): void {
    void this.#send('Console.disable', sessionId);
    void this.#send('Log.disable', sessionId);
  }

  /** What is attached to may be of a kind that has no console. */
  #send(method: 'Console.enable' | 'Console.disable' | 'Log.enable' | 'Log.disable', sessionId: string): Promise<unknown> {
    return this.#parts.connection.send(method, undefined, { sessionId }).catch(() => {});
  }
}

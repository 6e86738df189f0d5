/**
 * Errors that pages do not catch, without the Runtime domain, which they would
 * notice.
 *
 * Such an error is told in the page's own world only. So a script of ours goes
 * there before the page's first, keeps what is told, and hands it to our world
 * by events with a name that the page cannot know. It leaves nothing that a
 * page can reach, and touches nothing that a page may have made: what it uses
 * it takes before the page's scripts run, and it reads no object of theirs but
 * such as have no code in them.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../cdp/connection.ts';
import type { Tab } from './tab.ts';
import type { ConsoleEntry } from '../screencast/model.ts';

/** A document may throw without end: then the first of each batch are told. */
const linesPerBatch = 50;
const batchMs = 250;
/** Between two batches also where the page's own pause was done away with: a browser that a page has taken over must not keep the worker busy. */
const roundMs = 100;
const longestLine = 4096;
/** More frames are not listened to; advertising has dozens. */
const framesMax = 100;
/** A document that never throws is waited for as long as it is there. */
const waitMs = 2 ** 31 - 1;

const keeping = (ask: string, tell: string): string => `(() => {
  const { apply, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const { hasOwn } = Object, { isError } = Error;
  const { document, CustomEvent, EventTarget, setTimeout, String } = globalThis;
  const reader = (of, name) => { const { get } = getOwnPropertyDescriptor(of.prototype, name); return (event) => apply(get, event, []); };
  const [messageOf, fileOf, lineOf] = ['message', 'filename', 'lineno'].map((name) => reader(ErrorEvent, name));
  const reasonOf = reader(PromiseRejectionEvent, 'reason'), isPrevented = reader(Event, 'defaultPrevented');
  const { dispatchEvent, addEventListener } = EventTarget.prototype;
  const slice = String.prototype.slice;
  const kinds = [TypeError, RangeError, ReferenceError, SyntaxError, URIError, EvalError].map((kind) => [kind.prototype, kind.name]);
  const kept = { __proto__: null };
  let count = 0;
  const give = (detail) => apply(dispatchEvent, document, [new CustomEvent('${tell}', { __proto__: null, detail })]);
  const keep = (event, url, line, text) => {
    if (!event.isTrusted || count >= ${linesPerBatch}) return;
    setTimeout(() => {
      if (isPrevented(event) || count >= ${linesPerBatch}) return;
      kept[count++] = line + '\\n' + apply(slice, url, [0, ${longestLine}]) + '\\n' + apply(slice, text, [0, ${longestLine}]);
      give(null);
    }, 0);
  };
  const words = (reason) => {
    if (reason === null || (typeof reason !== 'object' && typeof reason !== 'function')) return String(reason);
    if (!isError(reason)) return 'an object';
    const own = getOwnPropertyDescriptor(reason, 'message');
    const message = own && hasOwn(own, 'value') && typeof own.value === 'string' ? own.value : '';
    const above = getPrototypeOf(reason);
    let name = 'Error';
    for (let index = 0; index < 6; index += 1) if (kinds[index][0] === above) name = kinds[index][1];
    return message === '' ? name : name + ': ' + message;
  };
  apply(addEventListener, globalThis, ['error', (event) => keep(event, fileOf(event), lineOf(event), messageOf(event))]);
  apply(addEventListener, globalThis, ['unhandledrejection', (event) => keep(event, '', 0, 'Uncaught (in promise) ' + words(reasonOf(event)))]);
  apply(addEventListener, document, ['${ask}', () => {
    let all = '';
    for (let index = 0; index < count; index += 1) all += (index === 0 ? '' : '\\0') + kept[index];
    count = 0;
    if (all !== '') give(all);
  }]);
})()`;

/** Gives the next batch when there is one, after a pause. */
const waiting = (ask: string, tell: string): string => `() => new Promise((resolve) => {
  let all = '', ending = false;
  const take = () => {
    document.dispatchEvent(new Event('${ask}'));
    if (all === '') return;
    document.removeEventListener('${tell}', hear);
    resolve(all);
  };
  const hear = ({ detail }) => {
    if (typeof detail === 'string') all = detail;
    else if (!ending) { ending = true; setTimeout(take, ${batchMs}); }
  };
  document.addEventListener('${tell}', hear);
  take();
})`;

export interface UncaughtErrorsParts {
  connection: Connection;
  tabOf(sessionId: string | undefined): Tab | undefined;
  tell(tab: Tab, entry: Omit<ConsoleEntry, 'tabId'>): void;
}

export class UncaughtErrors {
  readonly #parts: UncaughtErrorsParts;
  readonly #ask = `b${randomBytes(16).toString('hex')}`;
  readonly #told = `b${randomBytes(16).toString('hex')}`;
  /** By session: what the browser calls the script there. */
  readonly #scripts = new Map<string, string>();
  /** By frame: who waits for what its document throws. */
  readonly #waiting = new Map<string, { sessionId: string; ending: AbortController }>();
  readonly #undo: (() => void)[];

  constructor(parts: UncaughtErrorsParts) {
    this.#parts = parts;
    const { connection, tabOf } = parts;
    this.#undo = [
      connection.on('Page.frameNavigated', ({ frame }, from) => from !== undefined && tabOf(from) && this.#waitIn(frame.id, from)),
      // A frame that moves to another process is told to go from the old one, perhaps after it came to the new.
      connection.on('Page.frameDetached', ({ frameId }, from) => this.#waiting.get(frameId)?.sessionId === from && this.#leave(frameId)),
      connection.on('Target.detachedFromTarget', ({ sessionId }) => this.#scripts.delete(sessionId)),
    ];
  }

  /** Before the first script of a page or frame; where there is a document already, from now on. */
  hear(sessionId: string): void {
    const { connection, tabOf } = this.#parts;
    const tab = tabOf(sessionId);
    if (!tab) return;
    // Only then are new documents told.
    connection.send('Page.enable', {}, { sessionId }).catch(() => {});
    const script = { source: keeping(this.#ask, this.#told), runImmediately: true };
    const added = connection.send('Page.addScriptToEvaluateOnNewDocument', script, { sessionId });
    // A worker has no documents.
    added.then(({ identifier }) => this.#scripts.set(sessionId, identifier)).catch(() => {});
    if (tab.sessionId === sessionId) this.#waitIn(tab.id, sessionId);
  }

  end(): void {
    for (const undo of this.#undo) undo();
    for (const frameId of this.#waiting.keys()) this.#leave(frameId);
    for (const [sessionId, identifier] of this.#scripts)
      this.#parts.connection.send('Page.removeScriptToEvaluateOnNewDocument', { identifier }, { sessionId }).catch(() => {});
  }

  #leave(frameId: string): void {
    this.#waiting.get(frameId)?.ending.abort();
    this.#waiting.delete(frameId);
  }

  #waitIn(frameId: string, sessionId: string): void {
    this.#leave(frameId);
    if (this.#waiting.size >= framesMax) return;
    const waiting = { sessionId, ending: new AbortController() };
    this.#waiting.set(frameId, waiting);
    void this.#listen(frameId, sessionId, waiting.ending.signal).catch(() => {
      // Its document has gone; whoever comes next in the frame is waited for anew.
      if (this.#waiting.get(frameId) === waiting) this.#waiting.delete(frameId);
    });
  }

  async #listen(frameId: string, sessionId: string, signal: AbortSignal): Promise<void> {
    const { connection, tabOf } = this.#parts;
    const { executionContextId } = await connection.send(
      'Page.createIsolatedWorld',
      { frameId, worldName: 'berth' },
      { sessionId, signal },
    );
    const functionDeclaration = waiting(this.#ask, this.#told);
    for (;;) {
      const asked = { functionDeclaration, executionContextId, awaitPromise: true, returnByValue: true };
      const { result } = await connection.send('Runtime.callFunctionOn', asked, { sessionId, signal, timeoutMs: waitMs });
      const tab = tabOf(sessionId);
      if (!tab || typeof result.value !== 'string' || result.value === '') return;
      for (const each of result.value.split('\0', linesPerBatch)) this.#read(tab, each);
      await sleep(roundMs, undefined, { ref: false, signal });
    }
  }

  #read(tab: Tab, told: string): void {
    const [line = '', url = '', ...text] = told.split('\n');
    this.#parts.tell(tab, { level: 'error', text: text.join('\n'), url: url === '' ? null : url, line: Number(line) || null });
  }
}

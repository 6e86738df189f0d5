/**
 * Uncaught errors of pages, without the Runtime domain, which pages can detect.
 *
 * Error events fire only in the page's main context. So a script of ours runs
 * there before the page's first, collects errors, and passes them to our isolated
 * context by events with a random name that the page cannot know. It leaves
 * nothing that a page can reach and uses nothing that a page can replace: it
 * captures what it needs before the page's scripts run, and reads only objects
 * of the page that cannot run code.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../cdp/connection.ts';
import type { Tab } from './tab.ts';
import type { ConsoleEntry } from '../screencast/clients.ts';

/** A document may throw without end: only the first errors of each batch are reported. */
const linesPerBatch = 50;
const batchMs = 250;
/** Minimum delay between batches, also if the page removed its own: a compromised browser must not keep the worker busy. */
const roundMs = 100;
const lineCharsMax = 4096;
/** Further frames are ignored; pages with ads have dozens. */
const framesMax = 100;
/** No limit: the call lasts as long as the document. */
const answerTimeoutMs = 2 ** 31 - 1;
/** The separator between errors of a batch. A page that has it in its texts only splits its own lines. */
const separator = '\x1e';

const collectorScript = (askEvent: string, replyEvent: string): string => `(() => {
  const { apply, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const { hasOwn } = Object, { isError } = Error;
  const { document, CustomEvent, EventTarget, setTimeout, String } = globalThis;
  const reader = (of, name) => { const { get } = getOwnPropertyDescriptor(of.prototype, name); return (event) => apply(get, event, []); };
  const [messageOf, fileOf, lineOf] = ['message', 'filename', 'lineno'].map((name) => reader(ErrorEvent, name));
  const reasonOf = reader(PromiseRejectionEvent, 'reason'), isPrevented = reader(Event, 'defaultPrevented');
  const { dispatchEvent, addEventListener } = EventTarget.prototype;
  const slice = String.prototype.slice;
  const kinds = [TypeError, RangeError, ReferenceError, SyntaxError, URIError, EvalError].map((kind) => [kind.prototype, kind.name]);
  const collected = { __proto__: null };
  let count = 0;
  const dispatch = (detail) => apply(dispatchEvent, document, [new CustomEvent('${replyEvent}', { __proto__: null, detail })]);
  const collect = (event, url, line, text) => {
    if (!event.isTrusted || count >= ${linesPerBatch}) return;
    setTimeout(() => {
      if (isPrevented(event) || count >= ${linesPerBatch}) return;
      collected[count++] = line + '\\n' + apply(slice, url, [0, ${lineCharsMax}]) + '\\n' + apply(slice, text, [0, ${lineCharsMax}]);
      dispatch(null);
    }, 0);
  };
  const textOf = (reason) => {
    if (reason === null || (typeof reason !== 'object' && typeof reason !== 'function')) return String(reason);
    if (!isError(reason)) return 'an object';
    const own = getOwnPropertyDescriptor(reason, 'message');
    const message = own && hasOwn(own, 'value') && typeof own.value === 'string' ? own.value : '';
    const above = getPrototypeOf(reason);
    let name = 'Error';
    for (let index = 0; index < 6; index += 1) if (kinds[index][0] === above) name = kinds[index][1];
    return message === '' ? name : name + ': ' + message;
  };
  apply(addEventListener, globalThis, ['error', (event) => collect(event, fileOf(event), lineOf(event), messageOf(event))]);
  const onRejection = (event) => collect(event, '', 0, 'Uncaught (in promise) ' + textOf(reasonOf(event)));
  apply(addEventListener, globalThis, ['unhandledrejection', onRejection]);
  apply(addEventListener, document, ['${askEvent}', () => {
    let all = '';
    for (let index = 0; index < count; index += 1) all += (index === 0 ? '' : '${separator}') + collected[index];
    count = 0;
    if (all !== '') dispatch(all);
  }]);
})()`;

/** Resolves with the next batch, after a delay. */
const waiterFunction = (askEvent: string, replyEvent: string): string => `() => new Promise((resolve) => {
  let all = '', isEnding = false;
  const requestBatch = () => {
    document.dispatchEvent(new Event('${askEvent}'));
    if (all === '') return;
    document.removeEventListener('${replyEvent}', onReply);
    resolve(all);
  };
  const onReply = ({ detail }) => {
    if (typeof detail === 'string') all = detail;
    else if (!isEnding) { isEnding = true; setTimeout(requestBatch, ${batchMs}); }
  };
  document.addEventListener('${replyEvent}', onReply);
  requestBatch();
})`;

interface UncaughtErrorsDeps {
  connection: Connection;
  tabOf(sessionId: string | undefined): Tab | undefined;
  onError(tab: Tab, entry: Omit<ConsoleEntry, 'tabId'>): void;
}

export class UncaughtErrors {
  readonly #deps: UncaughtErrorsDeps;
  readonly #askEvent = `b${randomBytes(16).toString('hex')}`;
  readonly #replyEvent = `b${randomBytes(16).toString('hex')}`;
  /** Script identifiers by session. */
  readonly #scripts = new Map<string, string>();
  /** Running waits by frame. */
  readonly #waiting = new Map<string, { sessionId: string; ending: AbortController }>();
  readonly #undo: (() => void)[];

  constructor(deps: UncaughtErrorsDeps) {
    this.#deps = deps;
    const { connection, tabOf } = deps;
    this.#undo = [
      connection.on('Page.frameNavigated', ({ frame }, from) => from !== undefined && tabOf(from) && this.#waitForErrors(frame.id, from)),
      // When a frame moves to another process, the old one may report the detach after the new one reported the frame.
      connection.on(
        'Page.frameDetached',
        ({ frameId }, from) => this.#waiting.get(frameId)?.sessionId === from && this.#stopWaiting(frameId),
      ),
      connection.on('Target.detachedFromTarget', ({ sessionId }) => this.#scripts.delete(sessionId)),
    ];
  }

  /** Call before the first script of a page or frame; a document that is already loaded is covered from now on. */
  listenTo(sessionId: string): void {
    const { connection, tabOf } = this.#deps;
    const tab = tabOf(sessionId);
    if (!tab) return;
    // Required for `Page.frameNavigated`.
    connection.send('Page.enable', {}, { sessionId }).catch(() => {});
    const script = { source: collectorScript(this.#askEvent, this.#replyEvent), runImmediately: true };
    const added = connection.send('Page.addScriptToEvaluateOnNewDocument', script, { sessionId });
    // A worker has no documents.
    added.then(({ identifier }) => this.#scripts.set(sessionId, identifier)).catch(() => {});
    if (tab.sessionId === sessionId) this.#waitForErrors(tab.id, sessionId);
  }

  end(): void {
    for (const undo of this.#undo) undo();
    for (const frameId of this.#waiting.keys()) this.#stopWaiting(frameId);
    for (const [sessionId, identifier] of this.#scripts)
      this.#deps.connection.send('Page.removeScriptToEvaluateOnNewDocument', { identifier }, { sessionId }).catch(() => {});
  }

  #stopWaiting(frameId: string): void {
    this.#waiting.get(frameId)?.ending.abort();
    this.#waiting.delete(frameId);
  }

  #waitForErrors(frameId: string, sessionId: string): void {
    this.#stopWaiting(frameId);
    if (this.#waiting.size >= framesMax) return;
    const waiting = { sessionId, ending: new AbortController() };
    this.#waiting.set(frameId, waiting);
    void this.#listen(frameId, sessionId, waiting.ending.signal).catch(() => {
      // The document was replaced; `Page.frameNavigated` starts the next wait.
      if (this.#waiting.get(frameId) === waiting) this.#waiting.delete(frameId);
    });
  }

  async #listen(frameId: string, sessionId: string, signal: AbortSignal): Promise<void> {
    const { connection, tabOf } = this.#deps;
    const { executionContextId } = await connection.send(
      'Page.createIsolatedWorld',
      { frameId, worldName: 'berth' },
      { sessionId, signal },
    );
    const functionDeclaration = waiterFunction(this.#askEvent, this.#replyEvent);
    for (;;) {
      const params = { functionDeclaration, executionContextId, awaitPromise: true, returnByValue: true };
      const { result } = await connection.send('Runtime.callFunctionOn', params, { sessionId, signal, timeoutMs: answerTimeoutMs });
      const tab = tabOf(sessionId);
      if (!tab || typeof result.value !== 'string' || result.value === '') return;
      for (const each of result.value.split(separator, linesPerBatch)) this.#report(tab, each);
      await sleep(roundMs, undefined, { ref: false, signal });
    }
  }

  #report(tab: Tab, entry: string): void {
    const [line = '', url = '', ...text] = entry.split('\n');
    this.#deps.onError(tab, { level: 'error', text: text.join('\n'), url: url === '' ? null : url, line: Number(line) || null });
  }
}

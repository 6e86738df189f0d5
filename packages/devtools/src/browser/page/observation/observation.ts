/** Records what a page does while it is inspected: its traffic with bodies, what it used of its sources, and its errors. */
import { cutText } from '@berth/lib/text/text.ts';
import type { Connection } from '../../cdp/connection.ts';
import type { NetworkLog } from '../../network/network-log.ts';
import { Traffic } from '../../network/traffic.ts';
import type { Tab } from '../../tabs/tab.ts';
import { UncaughtErrors } from '../../tabs/uncaught-errors.ts';
import { Coverage } from './coverage.ts';
import type { BrowserCookie, Observation, ObservedError, SourceCoverage, TrafficLimits } from '../private-model.ts';

const errorsMax = 200;
const textCharsMax = 2000;

interface ObservationDeps {
  connection: Connection;
  tab: Tab;
  log: NetworkLog;
  isOwnSession(sessionId: string | undefined): boolean;
  limits: TrafficLimits;
}

export class PageObservation implements Observation {
  readonly #deps: ObservationDeps;
  readonly #traffic: Traffic;
  readonly #coverage: Coverage;
  readonly #uncaught: UncaughtErrors;
  readonly #undo: (() => void)[];
  #errors: ObservedError[] = [];

  constructor(deps: ObservationDeps) {
    this.#deps = deps;
    const { connection, tab, log, isOwnSession } = deps;
    this.#traffic = new Traffic(deps);
    log.traffic = this.#traffic;
    this.#coverage = new Coverage(connection, tab.sessionId);
    const tabOf = (sessionId: string | undefined): Tab | undefined => (isOwnSession(sessionId) ? tab : undefined);
    this.#uncaught = new UncaughtErrors({ connection, tabOf, onError: (_, entry) => this.#add(entry) });
    this.#undo = [
      connection.on('Console.messageAdded', ({ message: { level, text, url, line } }, from) => {
        if (from === tab.sessionId && level === 'error') this.#add({ text, url: url ?? null, line: line ?? null });
      }),
      connection.on('Log.entryAdded', ({ entry: { level, text, url, lineNumber } }, from) => {
        if (from === tab.sessionId && level === 'error')
          this.#add({ text, url: url ?? null, line: lineNumber === undefined ? null : lineNumber + 1 });
      }),
    ];
  }

  get dropped(): Traffic['dropped'] {
    return this.#traffic.dropped;
  }

  async start({ signal }: { signal: AbortSignal }): Promise<void> {
    const { tab, connection } = this.#deps;
    this.#uncaught.listenTo(tab.sessionId);
    for (const method of ['Console.enable', 'Log.enable'] as const)
      void connection.send(method, undefined, { sessionId: tab.sessionId }).catch(() => {});
    await this.#traffic.start(signal);
  }

  async startPage({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#errors = [];
    await this.#coverage.start(signal);
  }

  async takePage({ signal }: { signal: AbortSignal }): Promise<{ coverage: SourceCoverage[]; errors: ObservedError[] }> {
    return { coverage: await this.#coverage.take(signal), errors: this.#errors };
  }

  bodiesRead(withinMs: number): Promise<void> {
    return this.#traffic.bodiesRead(withinMs);
  }

  async cookies({ signal }: { signal: AbortSignal }): Promise<BrowserCookie[]> {
    const { connection, tab } = this.#deps;
    const context = tab.contextId === undefined ? {} : { browserContextId: tab.contextId };
    const { cookies } = await connection.send('Storage.getCookies', context, { signal });
    return cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite, partitionKey }) => ({
      name,
      value,
      domain,
      path,
      expires: expires < 0 ? null : expires,
      httpOnly,
      secure,
      sameSite: sameSite ?? null,
      isPartitioned: partitionKey !== undefined,
    }));
  }

  end(): void {
    const { log, tab, connection } = this.#deps;
    log.traffic = null;
    for (const undo of this.#undo.splice(0)) undo();
    this.#uncaught.end();
    this.#coverage.end();
    this.#traffic.end();
    // A session's own tab may have a listener of its console.
    if (!tab.isPrivate) return;
    for (const method of ['Console.disable', 'Log.disable'] as const)
      void connection.send(method, undefined, { sessionId: tab.sessionId }).catch(() => {});
  }

  #add({ text, url, line }: ObservedError): void {
    if (this.#errors.length >= errorsMax) return;
    this.#errors.push({ text: cutText(text, textCharsMax), url: url === null || url === '' ? null : cutText(url, textCharsMax), line });
  }
}

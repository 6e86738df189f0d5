/** Gives clients that take no more than a host and a port a browser of the service. */
import { once } from 'node:events';
import type { Berth } from '@berth/sdk';
import type { Action, Context } from '../context.ts';
import { CommandError, exitCodes, usageError } from '../failures.ts';
import { ForwardPort, type Browsers, type Connection, type Told } from '../tunnel/forward-port.ts';
import { toPort } from '../options.ts';
import { report } from '../output.ts';
import { findOrCreate, idOf, newSession } from '../sessions.ts';

/** The port of Chromium's DevTools by custom, which tools propose. */
const portDefault = '9222';
/** The command has been told to end, so it does not wait for a service that is gone. */
const endMsMax = 10_000;

export const forward: Action = async (context) => {
  const { apiKey, url } = context.access;
  const berth = await context.berth();
  if (apiKey === undefined)
    throw new CommandError(exitCodes.unauthorized, 'no_key', 'Browsers need an API key.', 'Run `berth login`, or set BERTH_API_KEY.');
  const port = toPort(context.args[0] ?? portDefault, 'berth forward 9222');
  const isEach = context.options.flag('each');
  if (isEach && (context.options.flag('keep') || context.sessionName !== undefined))
    throw usageError('--each starts sessions that end with their connections: it goes with neither -s nor --keep.');
  const tell = (told: Told): void => context.output.tell(told, renderTold);
  const browsers = isEach ? new OneEach(context, { berth, tell }) : new OneForAll(context, { berth, tell });
  const forwarding = new ForwardPort({ browsers, service: { url, apiKey }, tell });
  await forwarding.listen(port);
  try {
    const data = { address: forwarding.address, cdp_url: forwarding.cdpUrl, sessions: isEach ? 'each' : 'one' };
    await context.output.print(report(data, ({ address }) => `Browsers of ${url} at ${address}. Ctrl+C ends it.`));
    if (!context.signal.aborted) await once(context.signal, 'abort');
  } finally {
    await forwarding.close();
    await browsers.end();
  }
  return undefined;
};

function renderTold({ event, session_id: id, message }: Told): string {
  if (event === 'session_started') return `Session ${id} has started.`;
  if (event === 'failed') return `Refused: ${message}`;
  return event === 'connected' ? `A client has connected to ${id}.` : `A client of ${id} has gone.`;
}

interface Using {
  berth: Berth;
  tell: (told: Told) => void;
}

abstract class ServiceBrowsers implements Browsers {
  protected readonly context: Context;
  protected readonly berth: Berth;
  protected readonly tell: (told: Told) => void;
  /** Sessions that this command ends. */
  protected readonly started = new Set<string>();

  constructor(context: Context, { berth, tell }: Using) {
    this.context = context;
    this.berth = berth;
    this.tell = tell;
  }

  abstract version(): Promise<object>;
  abstract list(): Promise<readonly object[]>;
  abstract protocol(): Promise<object>;
  abstract connect(): Promise<Connection>;

  protected get<T>(path: `/${string}`): Promise<T> {
    return this.berth.raw.request('GET', path, { signal: this.context.signal }) as Promise<T>;
  }

  protected noteStart(id: string): void {
    this.started.add(id);
    this.tell({ event: 'session_started', session_id: id });
  }

  /** Ends what was started. A session that cannot be ended now ends when it is idle. */
  async end(): Promise<void> {
    await Promise.all(Array.from(this.started, (id) => this.endSession(id)));
  }

  protected async endSession(id: string): Promise<void> {
    this.started.delete(id);
    try {
      await this.berth.sessions.end(id, { timeoutMs: endMsMax, maxRetries: 0 });
    } catch (error) {
      const { status } = error as { status?: number };
      if (status !== 404 && status !== 410)
        this.tell({
          event: 'failed',
          session_id: id,
          code: 'not_ended',
          message: `Session ${id} could not be ended; it ends when it is idle.`,
        });
    }
  }
}

/** The version of a service that has had no browser yet, which ChromeDriver refuses. */
const isUnknown = (version: Record<string, unknown>): boolean => version['User-Agent'] === '';

/** One session for all clients: that of the folder or of the name, started when the first one needs it. */
class OneForAll extends ServiceBrowsers {
  #finding: Promise<string> | undefined;
  #isNewWanted = this.context.options.flag('new');
  #current: string | undefined;

  /** The session, which is started again where it has ended. Clients that come at the same time wait for the same one. */
  #session(): Promise<string> {
    return (this.#finding ??= this.#find().finally(() => (this.#finding = undefined)));
  }

  async #find(): Promise<string> {
    // A start that was begun is finished also when the command ends, or nobody would end the session.
    const signal = new AbortController().signal;
    const { session, isNew } = await findOrCreate(this.context, this.berth, { isNewWanted: this.#isNewWanted, signal });
    this.#isNewWanted = false;
    if (isNew) this.noteStart(session.id);
    this.#current = session.id;
    return session.id;
  }

  async version(): Promise<object> {
    const known = await this.get<Record<string, unknown>>('/json/version');
    return isUnknown(known) ? this.get(`/v1/session/${await this.#session()}/cdp/json/version`) : known;
  }

  async list(): Promise<readonly object[]> {
    return this.get<object[]>(`/v1/session/${await this.#session()}/cdp/json/list`);
  }

  async protocol(): Promise<object> {
    return this.get(`/v1/session/${await this.#session()}/cdp/json/protocol`);
  }

  async connect(): Promise<Connection> {
    return { sessionId: await this.#session(), release: () => {} };
  }

  override async end(): Promise<void> {
    await this.#finding?.catch(() => {});
    if (this.context.options.flag('keep')) return;
    const stored = this.context.sessionFile?.read()?.session_id;
    if (stored !== undefined && stored === this.#current && this.started.has(stored)) this.context.sessionFile?.remove();
    await super.end();
  }
}

/** A session for each connection, which ends with it. */
class OneEach extends ServiceBrowsers {
  version(): Promise<object> {
    return this.get('/json/version');
  }

  /** The page that every browser starts with: ChromeDriver connects to none before it has seen a page. */
  list(): Promise<readonly object[]> {
    return Promise.resolve([{ id: 'first', type: 'page', title: 'about:blank', url: 'about:blank', description: '' }]);
  }

  protocol(): Promise<object> {
    throw usageError('With --each there is no browser without a connection: the client has to connect first.');
  }

  async connect(): Promise<Connection> {
    const id = idOf(await this.berth.sessions.create({ ...newSession(this.context), keep_alive: false }));
    this.noteStart(id);
    // The service ends it with its last connection; what never had one is ended here.
    const release = (wasConnected: boolean): void => void (wasConnected ? this.started.delete(id) : void this.endSession(id));
    return { sessionId: id, release };
  }
}

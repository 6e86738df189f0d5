/**
 * The browser in a machine, over its DevTools pipe: the worker's own driving,
 * and any number of customers' DevTools clients beside it.
 */
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Vm } from '../runtime/runtime.ts';
import { Connection, CommandTimeout } from './connection.ts';
import { BrowserGone, NavigationError, type Browser, type BrowserVersion, type DevtoolsClientOptions, type NavigationOrder } from './model.ts';
import { Multiplexer } from './multiplexer.ts';
import { navigate, type EgressReason } from './navigate.ts';
import { Tabs } from './tabs.ts';

export { BrowserGone, LastTab, NavigationError, TabLimitReached, TabNotFound } from './model.ts';
export type { Browser, BrowserSettings, BrowserVersion, DevtoolsClient, DevtoolsClientOptions, NavigationOrder, NavigationOutcome, TabInfo } from './model.ts';
export { listDocument, versionDocument, type TargetDocument, type VersionDocument } from './devtools.ts';
export { protocolDocument, type ProtocolDocument } from './protocol.ts';
export { egressHeader, failureOf, type EgressReason } from './navigate.ts';

/** A page of a thousand frames keeps the browser process busy for several seconds; one that needs this long for its version is frozen. */
const pingLimitMs = 15_000;

export interface AttachOptions {
  log: Log;
  clock: Clock;
  /** Why the gate refused this host lately: for https the browser itself knows only that its tunnel failed. */
  egressRefusal?: ((host: string) => EgressReason | null) | undefined;
}

/**
 * Takes over a machine's browser. Resolves when the browser has answered: its
 * first page may still be on its way, see `tabReady`.
 * @throws BrowserGone
 */
export async function attachBrowser(vm: Pick<Vm, 'cdp' | 'downloadsPath' | 'id'>, options: AttachOptions): Promise<Browser> {
  const log = options.log.child({ vm_id: vm.id });
  const attached = new AttachedBrowser(vm, { ...options, log });
  await attached.start();
  return attached;
}

class AttachedBrowser implements Browser {
  readonly #connection: Connection;
  readonly #tabs: Tabs;
  readonly #multiplexer: Multiplexer;
  readonly #options: AttachOptions;
  readonly gone: Promise<'closed' | 'unresponsive'>;
  version: BrowserVersion = { product: '', protocolVersion: '', userAgent: '', jsVersion: '' };
  lastActivityMs: number;

  constructor(vm: Pick<Vm, 'cdp' | 'downloadsPath'>, options: AttachOptions) {
    const { log, clock } = options;
    this.#options = options;
    this.lastActivityMs = clock.monotonicMs();
    this.#connection = new Connection(vm.cdp, log);
    this.#tabs = new Tabs(this.#connection, { log, clock, downloadsPath: vm.downloadsPath, clientWatches: (targetId) => this.#multiplexer.watches(targetId) });
    this.#multiplexer = new Multiplexer(this.#connection, {
      log,
      facts: () => ({ downloadsPath: vm.downloadsPath, acceptDownloads: this.#tabs.downloadsAccepted, tabsFree: this.#tabs.limit - this.#tabs.count }),
      onActivity: () => this.#touch(),
      onActivate: (targetId) => this.#tabs.activate(targetId),
      onClientGone: () => this.#tabs.restoreDownloads(),
    });
    this.gone = this.#connection.gone.then((reason) => {
      this.#tabs.stop();
      this.#multiplexer.end();
      return reason;
    });
  }

  async start(): Promise<void> {
    const { product, protocolVersion, userAgent, jsVersion } = await this.#tabs.start();
    this.version = { product, protocolVersion, userAgent, jsVersion };
  }

  prepare(settings: Parameters<Browser['prepare']>[0]): Promise<void> {
    return this.#tabs.apply(settings);
  }

  tabReady(): Promise<void> {
    return this.#tabs.fresh;
  }

  tabs(): ReturnType<Browser['tabs']> {
    return this.#tabs.list();
  }

  activeTab(): ReturnType<Browser['activeTab']> {
    return this.#tabs.active();
  }

  async openTab(options: { active: boolean; signal: AbortSignal }): ReturnType<Browser['openTab']> {
    return this.#drive(() => this.#tabs.open(options));
  }

  closeTab(tabId: string, { signal }: { signal: AbortSignal }): Promise<void> {
    return this.#drive(() => this.#tabs.close(tabId, signal));
  }

  navigate(tabId: string, order: NavigationOrder, { signal }: { signal: AbortSignal }): ReturnType<Browser['navigate']> {
    return this.#drive(async () => {
      const tab = this.#tabs.get(tabId);
      return navigate({ connection: this.#connection, tab, egressRefusal: this.#options.egressRefusal, keepNetwork: this.#tabs.needsNetwork }, order, signal);
    });
  }

  connectClient(options: DevtoolsClientOptions): ReturnType<Browser['connectClient']> {
    this.#touch();
    return this.#multiplexer.connect(options);
  }

  clientCount(): number {
    return this.#multiplexer.count;
  }

  async ping({ signal }: { signal: AbortSignal }): Promise<void> {
    try {
      await this.#connection.send('Browser.getVersion', undefined, { signal, timeoutMs: pingLimitMs });
    } catch (error) {
      if (!(error instanceof CommandTimeout)) throw error;
      this.#connection.end('unresponsive');
      throw new BrowserGone('the browser does not answer', { cause: error });
    }
  }

  detach(): void {
    this.#connection.end('closed');
  }

  #touch(): void {
    this.lastActivityMs = this.#options.clock.monotonicMs();
  }

  /** A call that came to nothing in time may mean a slow page or a frozen browser; a ping tells which. */
  async #drive<T>(work: () => Promise<T>): Promise<T> {
    this.#touch();
    try {
      return await work();
    } catch (error) {
      const late = error instanceof CommandTimeout || (error instanceof NavigationError && error.reason === 'timeout');
      if (late) void this.ping({ signal: AbortSignal.timeout(2 * pingLimitMs) }).catch(() => {});
      throw error;
    } finally {
      this.#touch();
    }
  }
}

/** Hears what other workers notify, over a connection of its own, which is opened again when it is lost. */
import { Client } from 'pg';
import type { Log } from '@berth/lib/log.ts';

export interface ListenerOptions {
  /** URL of the server itself: a pooler in transaction mode loses notifications. */
  databaseUrl: string;
  /** A name without quotes. */
  channel: string;
  log: Log;
}

const reconnectMs = 1000;
const connectMsMax = 5000;
/** It also ends the wait for a frozen server. */
const statementMsMax = 12_000;

export class Listener {
  readonly #options: ListenerOptions;
  #client: Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #onNews: () => void = () => undefined;
  #isStopped = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Calls `onNews` for each notification, and for each new connection: there may have been some before. */
  start(onNews: () => void): void {
    this.#onNews = onNews;
    void this.#connect();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    const { databaseUrl, channel, log } = this.#options;
    const limits = { connectionTimeoutMillis: connectMsMax, query_timeout: statementMsMax, keepAlive: true };
    const client = new Client({ connectionString: databaseUrl, application_name: `berth ${channel}`, ...limits });
    this.#client = client;
    client.on('notification', () => this.#onNews());
    client.on('error', (err: unknown) => this.#lose(client, err));
    client.on('end', () => this.#lose(client, null));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      this.#onNews();
    } catch (err) {
      log.debug({ err }, 'notifications not heard');
      this.#lose(client, err);
    }
  }

  #lose(client: Client, err: unknown): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#options.log.debug({ err }, 'connection for notifications lost');
    void client.end().catch(() => undefined);
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#connect(), reconnectMs);
  }
}

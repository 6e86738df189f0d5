/** Injects faults into the database driver of the service under test. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { slowMs, tables, type InjectedFault, type Table } from '../faults.ts';

type Query = (this: Client, config: unknown, ...rest: unknown[]) => Promise<unknown>;

export class FaultyDriver {
  readonly #databaseUrl: string;
  readonly #report: (text: string) => void;
  /** Faults that have not been injected yet; `nth` counts down. */
  #pending: InjectedFault[] = [];
  #isUsed = false;
  /** The tables named in the current transaction of a connection. */
  readonly #named = new WeakMap<Client, Set<Table>>();

  /** `report` must write synchronously: a kill may follow at once. */
  constructor({ databaseUrl, report }: { databaseUrl: string; report: (text: string) => void }) {
    this.#databaseUrl = databaseUrl;
    this.#report = report;
  }

  /** @throws Error where the service sends its statements by another copy of the driver, and no fault would be injected */
  assertUsed(): void {
    if (!this.#isUsed) throw new Error('no statement of the service has passed the driver that faults are injected into');
  }

  /** Replaces the pending faults. */
  arm(faults: readonly InjectedFault[]): void {
    this.#pending = faults.map((fault) => ({ ...fault }));
  }

  /** Patches the driver: every later statement of this process is counted. */
  install(): void {
    const run = (client: Client, text: string, send: () => Promise<unknown>): Promise<unknown> => this.#run(client, text, send);
    const prototype = Client.prototype as unknown as { query: Query };
    const plain = prototype.query;
    prototype.query = function (this: Client, config: unknown, ...rest: unknown[]): Promise<unknown> {
      const text = textOf(config);
      if (text === null || rest.length > 0) return plain.call(this, config, ...rest);
      return run(this, text, () => plain.call(this, config));
    };
  }

  async #run(client: Client, text: string, send: () => Promise<unknown>): Promise<unknown> {
    this.#isUsed = true;
    const due = this.#due(client, text);
    const before = due.filter(({ moment }) => moment === 'before');
    for (const fault of before) await this.#inject(fault, client, text);
    const answer = send();
    for (const fault of due.filter(({ moment }) => moment === 'sent')) {
      // The connection is dropped while the statement runs; either may finish first.
      answer.catch(() => undefined);
      await this.#inject(fault, client, text);
    }
    const result = await answer;
    for (const fault of due.filter(({ moment }) => moment === 'after')) {
      await this.#inject(fault, client, text);
      if (fault.what === 'cut') throw new Error('Connection terminated unexpectedly');
    }
    return result;
  }

  /** Counts the statement and returns the faults to inject at it. */
  #due(client: Client, text: string): InjectedFault[] {
    const [word = ''] = text.trimStart().toLowerCase().split(/\W/, 1);
    const named = this.#named.get(client) ?? new Set();
    // A read outside of a transaction changes nothing, so a fault there has no effect.
    const isWork = this.#named.has(client) || /\b(insert|update|delete)\b/i.test(text);
    const tablesNamed = isWork ? tables.filter((table) => namesTable(text, table)) : [];
    for (const table of tablesNamed) named.add(table);
    if (word === 'begin' || word === 'start') this.#named.set(client, new Set());
    const isCommit = word === 'commit';
    if (isCommit || word === 'rollback') this.#named.delete(client);
    const counted = this.#pending.filter(({ at, table }) => (at === 'commit' ? isCommit && named.has(table) : tablesNamed.includes(table)));
    for (const fault of counted) fault.nth -= 1;
    const due = counted.filter(({ nth }) => nth === 0);
    this.#pending = this.#pending.filter((fault) => !due.includes(fault));
    return due;
  }

  async #inject(fault: InjectedFault, client: Client, text: string): Promise<void> {
    const { what, moment, at, table } = fault;
    this.#report(`${what} ${moment === 'sent' ? 'with' : moment} a ${at} on ${table}: ${text.trim().replace(/\s+/g, ' ').slice(0, 160)}`);
    if (what === 'kill') process.kill(process.pid, 'SIGKILL');
    else if (what === 'slow') await sleep(slowMs);
    else await this.#cut(client);
  }

  async #cut(client: Client): Promise<void> {
    const { processID } = client as unknown as { processID: number };
    const other = new Client({ connectionString: this.#databaseUrl });
    await other.connect();
    await other.query('select pg_terminate_backend($1::int)', [processID]);
    await other.end();
  }
}

function textOf(config: unknown): string | null {
  if (typeof config === 'string') return config;
  const isPlain = typeof config === 'object' && config !== null && 'text' in config && !('submit' in config);
  return isPlain && typeof config.text === 'string' ? config.text : null;
}

const namesTable = (text: string, table: Table): boolean => new RegExp(`\\b${table}\\b`).test(text);

import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { Client, type CustomTypesConfig, Pool, type PoolClient, type PoolConfig, type QueryResult, types } from 'pg';
import { tracedChild } from '@berth/lib/tracing.ts';
import { isBroken, isStalePlan, storeUnavailable, translateQueryError } from './errors.ts';

/** Ten connections keep two cores busy; more would only wait for each other. */
const connectionsMax = 10;
/** Statements take milliseconds; one that takes this long is stuck. */
const statementTimeoutMs = 10_000;
/** Observes the store for metrics. Called for every statement: it must be cheap and never throw. */
export interface StoreObserver {
  /** A statement was executed, or failed. */
  onStatement(operation: StatementOperation, ms: number): void;
  /** A connection was free, or has been opened. */
  onConnection(waitedMs: number): void;
}

export const statementOperations = ['select', 'insert', 'update', 'delete', 'with', 'begin', 'commit', 'rollback', 'other'] as const;
export type StatementOperation = (typeof statementOperations)[number];

/** Limits the memory of prepared statements in each connection. */
const preparedMax = 200;

/** int8 as a number: no count or byte sum comes near 2^53. timestamptz is a Date and jsonb an object by default. */
const typeParsers: CustomTypesConfig = {
  getTypeParser: (id, format) => (id === types.builtins.INT8 ? Number : types.getTypeParser(id, format)),
};

/**
 * The connection pool for Kysely. Connection failures are thrown as
 * `store_unavailable`. Statements with parameters are prepared once for each
 * connection, which halves their cost.
 */
export class Connections implements PostgresPool {
  readonly Client = Client;
  readonly #pool: Pool;
  readonly #clients = new WeakMap<PoolClient, PostgresPoolClient>();
  /** Names of prepared statements, by their text. */
  readonly #names = new Map<string, string>();
  /** Number of times that all statements were given new names. */
  #renamed = 0;
  readonly #isPooled: boolean;
  observer: StoreObserver | null = null;

  /**
   * `isPooled`: the URL is that of a pooler in transaction mode, behind which each statement may reach another
   * connection. Nothing is prepared and no setting is sent; the server's own limits apply.
   */
  constructor(config: PoolConfig, { isPooled = false }: { isPooled?: boolean } = {}) {
    this.#isPooled = isPooled;
    this.#pool = new Pool({
      max: connectionsMax,
      min: 1,
      idleTimeoutMillis: 30_000,
      connectionTimeoutMillis: 5_000,
      // Also ends the wait for a frozen server, which cannot enforce its own timeout.
      query_timeout: statementTimeoutMs + 2_000,
      application_name: 'berth',
      keepAlive: true,
      types: typeParsers,
      ...(isPooled ? {} : { statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: 30_000 }),
      ...config,
    });
    // The next statement reports a lost connection; an unhandled error event would end the process.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  get options(): object {
    return this.#pool.options;
  }

  async connect(): Promise<PostgresPoolClient> {
    const startMs = performance.now();
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw storeUnavailable(error);
    });
    this.observer?.onConnection(performance.now() - startMs);
    const known = this.#clients.get(client) ?? this.#wrap(client);
    this.#clients.set(client, known);
    return known;
  }

  get counts(): { busy: number; idle: number; waiting: number } {
    const { totalCount, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { busy: totalCount - idle, idle, waiting };
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  #wrap(client: PoolClient): PostgresPoolClient {
    let broken = false;
    const query = async (text: string, values: readonly unknown[] = []): Promise<PostgresQueryResult<unknown>> => {
      const operation = operationOf(text);
      const startMs = performance.now();
      try {
        const result = await tracedChild('store', { 'db.system.name': 'postgresql', 'db.operation.name': operation }, () =>
          this.#execute(client, text, values),
        );
        return result as PostgresQueryResult<unknown>;
      } catch (error) {
        broken ||= isBroken(error);
        throw translateQueryError(error);
      } finally {
        this.observer?.onStatement(operation, performance.now() - startMs);
      }
    };
    return { query: query as PostgresPoolClient['query'], release: (destroy) => client.release(destroy === true || broken) };
  }

  /** Executes a statement, once more where its plan is stale. Inside a transaction, which is aborted, whoever began it repeats it. */
  async #execute(client: PoolClient, text: string, values: readonly unknown[]): Promise<QueryResult> {
    const name = values.length > 0 ? this.#nameOf(text) : undefined;
    const statement = { text, values: [...values] };
    try {
      return await client.query(name ? { name, ...statement } : statement);
    } catch (error) {
      if (!isStalePlan(error)) throw error;
      this.#renameAll(text, name);
      if (client.getTransactionStatus() !== 'I') throw error;
      return await client.query(statement);
    }
  }

  #nameOf(text: string): string | undefined {
    if (this.#isPooled) return undefined;
    const known = this.#names.get(text);
    if (known || this.#names.size >= preparedMax) return known;
    const name = `berth_${this.#renamed}_${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }

  /** A migration alters several tables, and every connection has plans: all are prepared anew, before they fail one by one. */
  #renameAll(text: string, name: string | undefined): void {
    // Another connection may have done so since this statement began.
    if (name === undefined || this.#names.get(text) !== name) return;
    this.#names.clear();
    this.#renamed += 1;
  }
}

/** The first word of a statement, as far as it is one of the list. */
export function operationOf(text: string): StatementOperation {
  const end = text.indexOf(' ');
  const word = (end < 0 ? text : text.slice(0, end)).toLowerCase();
  return statementOperations.find((each) => each === word) ?? 'other';
}

/** What the database holds of some owners, read in one moment. */
import { Client, type CustomTypesConfig, type QueryResultRow, types } from 'pg';

export interface Entry {
  entryId: number;
  opId: string;
  owner: string;
  from: string;
  to: string;
  amount: number;
  /** The meter that a charge is for; null for others. */
  meterId: string | null;
}
export interface WalletRow {
  balance: number;
  held: number;
}
export interface CodeRow {
  redeemedBy: string | null;
}
export interface MeterRow {
  meterId: string;
  owner: string;
  month: string;
  actions: number;
  browserMs: number;
  sessions: number;
}
export interface OwnerRow {
  tier: string;
  trialTier: string | null;
}

/** What is counted. */
export interface Ledger {
  /** In the order in which they were entered. */
  journal: Entry[];
  wallets: Map<string, WalletRow>;
  holds: { opId: string; owner: string; amount: number }[];
  meters: MeterRow[];
  months: Omit<MeterRow, 'meterId'>[];
}

export interface Books extends Ledger {
  /** By their digests. */
  creditCodes: Map<string, CodeRow>;
  promoCodes: Map<string, CodeRow>;
  /** Those that became ready are started. */
  sessions: Map<string, { owner: string; isStarted: boolean }>;
  owners: Map<string, OwnerRow>;
  events: { eventId: string; owner: string; created: number; isApplied: boolean }[];
  keys: Map<string, { owner: string; isRevoked: boolean }>;
  /** Who did what, in the order in which it was written down. */
  audit: { action: string; owner: string; why: string | null }[];
}

const numbers: CustomTypesConfig = {
  getTypeParser: (id, format) => (id === types.builtins.INT8 ? Number : types.getTypeParser(id, format)),
};

/** A connection of its own: what the service under test does to its connections is no business of this one. */
export class Reader {
  readonly #client: Client;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(databaseUrl: string): Promise<Reader> {
    const client = new Client({ connectionString: databaseUrl, application_name: 'berth-ledger-reader', types: numbers });
    await client.connect();
    return new Reader(client);
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  /** Nobody hears any more of workers that are none: as if the last heartbeat were long ago. */
  async silence(workerIds: string[]): Promise<void> {
    await this.#inTurn(() =>
      this.#client.query(`update workers set heartbeat_at = now() - interval '1 day' where worker_id = any($1)`, [workerIds]),
    );
  }

  /** Of the owners whose names begin so. */
  readLedger(prefix: string): Promise<Ledger> {
    return this.#atOneMoment(() => this.#ledger(`${prefix}%`));
  }

  /** With the codes of these digests. */
  read(prefix: string, digests: string[]): Promise<Books> {
    return this.#atOneMoment(async () => ({ ...(await this.#ledger(`${prefix}%`)), ...(await this.#rest(`${prefix}%`, digests)) }));
  }

  #atOneMoment<R>(read: () => Promise<R>): Promise<R> {
    return this.#inTurn(async () => {
      await this.#client.query('begin isolation level repeatable read read only');
      try {
        return await read();
      } finally {
        await this.#client.query('commit');
      }
    });
  }

  #inTurn<R>(work: () => Promise<R>): Promise<R> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #ledger(pattern: string): Promise<Ledger> {
    const rows = <R>(text: string) => this.#rows<R>(text, pattern);
    return {
      journal:
        await rows<Entry>(`select entry_id as "entryId", op_id as "opId", owner_id as owner, from_account as "from", to_account as "to", amount,
        details ->> 'meter_id' as "meterId" from credit_journal where owner_id like $1 order by entry_id`),
      wallets: byKey(await rows<Keyed<WalletRow>>('select owner_id as key, balance, held from wallets where owner_id like $1')),
      holds: await rows('select op_id as "opId", owner_id as owner, amount from credit_holds where owner_id like $1'),
      meters: await rows(`select meter_id as "meterId", owner_id as owner, month, actions, browser_ms as "browserMs", sessions
        from usage_meters where owner_id like $1`),
      months: await rows(
        'select owner_id as owner, month, actions, browser_ms as "browserMs", sessions from usage_months where owner_id like $1',
      ),
    };
  }

  async #rest(pattern: string, digests: string[]): Promise<Omit<Books, keyof Ledger>> {
    const rows = <R>(text: string) => this.#rows<R>(text, pattern);
    const codes = async (table: 'credit_codes' | 'promo_codes') =>
      byKey(
        await this.#rows<Keyed<CodeRow>>(
          `select encode(digest, 'hex') as key, redeemed_by as "redeemedBy" from ${table} where encode(digest, 'hex') = any($1)`,
          digests,
        ),
      );
    return {
      creditCodes: await codes('credit_codes'),
      promoCodes: await codes('promo_codes'),
      sessions: byKey(
        await rows(
          `select session_id as key, owner_id as owner, started_at is not null as "isStarted" from sessions where owner_id like $1`,
        ),
      ),
      owners: byKey(await rows('select owner_id as key, tier, trial_tier as "trialTier" from owners where owner_id like $1')),
      events:
        await rows(`select event_id as "eventId", owner_id as owner, extract(epoch from created_at)::bigint as created, applied as "isApplied"
        from billing_events where owner_id like $1`),
      keys: byKey(
        await rows('select key_id as key, owner_id as owner, revoked_at is not null as "isRevoked" from api_keys where owner_id like $1'),
      ),
      audit: await rows(
        `select action, owner_id as owner, details ->> 'why' as why from audit_log where owner_id like $1 order by entry_id`,
      ),
    };
  }

  async #rows<R>(text: string, of: string | string[]): Promise<R[]> {
    return (await this.#client.query<R & QueryResultRow>(text, [of])).rows;
  }
}

type Keyed<V> = V & { key: string };

const byKey = <V>(found: Keyed<V>[]): Map<string, V> => new Map(found.map(({ key, ...row }) => [key, row as V]));

/** Of one schedule alone: names of owners are no beginnings of one another. */
export function booksOf(books: Books, name: string): Books {
  const isOwn = ({ owner }: { owner: string }): boolean => owner.startsWith(`${name}-`);
  const own = <V extends { owner: string }>(map: Map<string, V>) => new Map([...map].filter(([, value]) => isOwn(value)));
  const named = <V>(map: Map<string, V>) => new Map([...map].filter(([owner]) => isOwn({ owner })));
  return {
    ...books,
    journal: books.journal.filter(isOwn),
    wallets: named(books.wallets),
    holds: books.holds.filter(isOwn),
    meters: books.meters.filter(isOwn),
    months: books.months.filter(isOwn),
    sessions: own(books.sessions),
    owners: named(books.owners),
    events: books.events.filter(isOwn),
    keys: own(books.keys),
    audit: books.audit.filter(isOwn),
  };
}

/** Reads all data of some owners in one database snapshot. */
import { Client, type CustomTypesConfig, type QueryResultRow, types } from 'pg';

export interface Entry {
  entryId: number;
  opId: string;
  owner: string;
  from: string;
  to: string;
  amount: number;
  /** The meter that was charged; null for other entries. */
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

export interface Ledger {
  /** Entries in insertion order. */
  journal: Entry[];
  wallets: Map<string, WalletRow>;
  holds: { opId: string; owner: string; amount: number }[];
  meters: MeterRow[];
  months: Omit<MeterRow, 'meterId'>[];
}

export interface LedgerSnapshot extends Ledger {
  /** Codes by digest. */
  creditCodes: Map<string, CodeRow>;
  promoCodes: Map<string, CodeRow>;
  /** `isStarted`: the session became ready. */
  sessions: Map<string, { owner: string; isStarted: boolean }>;
  owners: Map<string, OwnerRow>;
  events: { eventId: string; owner: string; created: number; isApplied: boolean }[];
  keys: Map<string, { owner: string; isRevoked: boolean }>;
  /** Entries of the audit log in insertion order. */
  audit: { action: string; owner: string; reason: string | null }[];
}

const numbers: CustomTypesConfig = {
  getTypeParser: (id, format) => (id === types.builtins.INT8 ? Number : types.getTypeParser(id, format)),
};

/** Uses its own connection, which injected faults do not affect. */
export class LedgerReader {
  readonly #client: Client;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(databaseUrl: string): Promise<LedgerReader> {
    const client = new Client({ connectionString: databaseUrl, application_name: 'berth-ledger-reader', types: numbers });
    await client.connect();
    return new LedgerReader(client);
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  /** Takes the leases of workers, as another worker does that has seen no heartbeat for long enough. */
  async takeLeases(workerIds: string[]): Promise<void> {
    await this.#serialize(() =>
      this.#client.query(`update workers set lease_epoch = lease_epoch + 1, lost_heartbeat = heartbeat_at where worker_id = any($1)`, [
        workerIds,
      ]),
    );
  }

  /** Reads the owners whose names have this prefix. */
  readLedger(prefix: string): Promise<Ledger> {
    return this.#inSnapshot(() => this.#readLedger(`${prefix}%`));
  }

  /** Reads the owners with this prefix and the codes with these digests. */
  read(prefix: string, digests: string[]): Promise<LedgerSnapshot> {
    return this.#inSnapshot(async () => ({
      ...(await this.#readLedger(`${prefix}%`)),
      ...(await this.#readDetails(`${prefix}%`, digests)),
    }));
  }

  #inSnapshot<R>(read: () => Promise<R>): Promise<R> {
    return this.#serialize(async () => {
      await this.#client.query('begin isolation level repeatable read read only');
      try {
        return await read();
      } finally {
        await this.#client.query('commit');
      }
    });
  }

  #serialize<R>(work: () => Promise<R>): Promise<R> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #readLedger(pattern: string): Promise<Ledger> {
    const rows = <R>(text: string) => this.#rows<R>(text, pattern);
    return {
      journal: await rows<Entry>(`select entry_id as "entryId", op_id as "opId", owner_id as owner, from_account as "from",
        to_account as "to", amount, details ->> 'meter_id' as "meterId" from credit_journal where owner_id like $1 order by entry_id`),
      wallets: byKey(await rows<Keyed<WalletRow>>('select owner_id as key, balance, held from wallets where owner_id like $1')),
      holds: await rows('select op_id as "opId", owner_id as owner, amount from credit_holds where owner_id like $1'),
      meters: await rows(`select meter_id as "meterId", owner_id as owner, month, actions, browser_ms as "browserMs", sessions
        from usage_meters where owner_id like $1`),
      months: await rows(
        'select owner_id as owner, month, actions, browser_ms as "browserMs", sessions from usage_months where owner_id like $1',
      ),
    };
  }

  async #readDetails(pattern: string, digests: string[]): Promise<Omit<LedgerSnapshot, keyof Ledger>> {
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
      events: await rows(`select event_id as "eventId", owner_id as owner, extract(epoch from created_at)::bigint as created,
        applied as "isApplied" from billing_events where owner_id like $1`),
      keys: byKey(
        await rows('select key_id as key, owner_id as owner, revoked_at is not null as "isRevoked" from api_keys where owner_id like $1'),
      ),
      audit: await rows(
        `select action, owner_id as owner, details ->> 'why' as reason from audit_log where owner_id like $1 order by entry_id`,
      ),
    };
  }

  async #rows<R>(text: string, parameter: string | string[]): Promise<R[]> {
    return (await this.#client.query<R & QueryResultRow>(text, [parameter])).rows;
  }
}

type Keyed<V> = V & { key: string };

const byKey = <V>(rows: Keyed<V>[]): Map<string, V> => new Map(rows.map(({ key, ...row }) => [key, row as V]));

/** Returns the part of one schedule: no owner name is a prefix of another. */
export function snapshotOf(snapshot: LedgerSnapshot, name: string): LedgerSnapshot {
  const isOwn = ({ owner }: { owner: string }): boolean => owner.startsWith(`${name}-`);
  const own = <V extends { owner: string }>(map: Map<string, V>) => new Map([...map].filter(([, value]) => isOwn(value)));
  const named = <V>(map: Map<string, V>) => new Map([...map].filter(([owner]) => isOwn({ owner })));
  return {
    ...snapshot,
    journal: snapshot.journal.filter(isOwn),
    wallets: named(snapshot.wallets),
    holds: snapshot.holds.filter(isOwn),
    meters: snapshot.meters.filter(isOwn),
    months: snapshot.months.filter(isOwn),
    sessions: own(snapshot.sessions),
    owners: named(snapshot.owners),
    events: snapshot.events.filter(isOwn),
    keys: own(snapshot.keys),
    audit: snapshot.audit.filter(isOwn),
  };
}

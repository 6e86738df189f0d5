import { sql, type Selectable } from 'kysely';
import type { Tables } from '../../store/store.ts';
import type { CreditCode, Entry, Hold, Wallet, Writes } from './ledger.ts';

interface HoldTable {
  op_id: string;
  owner_id: string;
  amount: number;
  worker_id: string;
  created_at: Date;
  expires_at: Date;
}
interface CreditTables {
  wallets: { owner_id: string; balance: number; held: number };
  credit_holds: HoldTable;
  lost_workers: { worker_id: string };
  credit_journal: {
    op_id: string;
    owner_id: string;
    from_account: string;
    to_account: string;
    amount: number;
    details: Record<string, unknown>;
  };
  credit_codes: { code_id: string; digest: Buffer; amount: number; created_at: Date; expires_at: Date | null; redeemed_by: string | null };
}

const own = (tables: Tables) => tables.tables<CreditTables>();

const toHold = (row: Selectable<HoldTable>): Hold => ({
  opId: row.op_id,
  owner: row.owner_id,
  amount: row.amount,
  workerId: row.worker_id,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});

/**
 * The first statement of a transaction. Unless `isDurable`, the commit does not
 * wait for the disk, and a crash within the next half second may undo the whole
 * transaction. A stricter `synchronous_commit`, such as for replicas, is kept.
 *
 * Prepared plans live as long as their connection, so sequential scans, which
 * are good only while a table is small, are disabled.
 */
export async function beginOperations(tx: Tables, isDurable: boolean): Promise<void> {
  const setting = isDurable ? 'on' : 'off';
  await sql`select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    case when (current_setting('synchronous_commit') = 'off') = ${isDurable}::boolean
      then set_config('synchronous_commit', ${setting}, true) end`.execute(own(tx));
}

/** Creates missing wallets, empty. */
export async function createWallets(tables: Tables, owners: string[]): Promise<void> {
  await sql`insert into wallets (owner_id) select unnest(${owners}::text[]) order by 1 on conflict do nothing`.execute(own(tables));
}

/** Locks until the transaction ends, sorted by owner, so that two workers never deadlock. */
export async function lockWallets(tx: Tables, owners: string[]): Promise<Map<string, Wallet>> {
  const query = own(tx)
    .selectFrom('wallets')
    .selectAll()
    .where('owner_id', '=', sql<string>`any(${owners})`)
    .orderBy('owner_id')
    .forUpdate();
  return new Map((await query.execute()).map(({ owner_id, ...wallet }) => [owner_id, wallet]));
}

export async function readWallet(tables: Tables, owner: string): Promise<Wallet | undefined> {
  return own(tables).selectFrom('wallets').select(['balance', 'held']).where('owner_id', '=', owner).executeTakeFirst();
}

/** Balances of those owners that have a wallet. */
export async function readBalances(tables: Tables, owners: readonly string[]): Promise<Map<string, number>> {
  const rows = await own(tables)
    .selectFrom('wallets')
    .select(['owner_id', 'balance'])
    .where('owner_id', '=', sql<string>`any(${owners})`)
    .execute();
  return new Map(rows.map(({ owner_id, balance }) => [owner_id, balance]));
}

export async function findHolds(tables: Tables, opIds: string[]): Promise<Map<string, Hold>> {
  const rows = await own(tables)
    .selectFrom('credit_holds')
    .selectAll()
    .where('op_id', '=', sql<string>`any(${opIds})`)
    .execute();
  return new Map(rows.map((row) => [row.op_id, toHold(row)]));
}

export async function findEntries(tables: Tables, opIds: string[]): Promise<Map<string, Entry>> {
  const rows = await own(tables)
    .selectFrom('credit_journal')
    .select(['op_id', 'owner_id', 'from_account', 'to_account', 'amount', 'details'])
    .where('op_id', '=', sql<string>`any(${opIds})`)
    .execute();
  return new Map(
    rows.map(({ op_id, owner_id, from_account, to_account, amount, details }) => [
      op_id,
      { opId: op_id, owner: owner_id, from: from_account, to: to_account, amount, details },
    ]),
  );
}

/** Locks until the transaction ends, so that a code is redeemed once. */
export async function lockCodes(tx: Tables, codeIds: string[]): Promise<Map<string, CreditCode>> {
  const rows = await own(tx)
    .selectFrom('credit_codes')
    .select(['code_id', 'amount', 'expires_at', 'redeemed_by'])
    .where('code_id', '=', sql<string>`any(${codeIds})`)
    .orderBy('code_id')
    .forUpdate()
    .execute();
  return new Map(
    rows.map((row) => [row.code_id, { codeId: row.code_id, amount: row.amount, expiresAt: row.expires_at, redeemedBy: row.redeemed_by }]),
  );
}

export async function findCode(tables: Tables, digest: Buffer): Promise<string | undefined> {
  const row = await own(tables).selectFrom('credit_codes').select('code_id').where('digest', '=', digest).executeTakeFirst();
  return row?.code_id;
}

interface NewCodes {
  codeIds: string[];
  digests: Buffer[];
  amount: number;
  createdAt: Date;
  expiresAt: Date | null;
}

export async function insertCodes(tx: Tables, { codeIds, digests, amount, createdAt, expiresAt }: NewCodes): Promise<void> {
  await sql`insert into credit_codes (code_id, digest, amount, created_at, expires_at)
    select code_id, digest, ${amount}, ${createdAt}, ${expiresAt}
    from unnest(${codeIds}::text[], ${digests}::bytea[]) as new (code_id, digest)`.execute(own(tx));
}

/** Writes all changes of a batch. Requires the locks of its wallets and codes. */
export async function writeLedger(tx: Tables, writes: Writes, at: Date): Promise<void> {
  await writeUsual(tx, writes, at);
  if (writes.renewedHolds.length > 0) await renewHolds(tx, writes.renewedHolds);
  if (writes.redeemed.length > 0) await markRedeemed(tx, writes.redeemed, at);
}

/** The changes of nearly every batch, in one statement. */
async function writeUsual(tx: Tables, { applied, createdHolds, freedHolds, wallets }: Writes, at: Date): Promise<void> {
  const entries = applied.map(({ entry }) => entry);
  const changed = [...wallets];
  await sql`
    with entered as (
      insert into credit_journal (op_id, at, owner_id, from_account, to_account, amount, details)
      select op_id, ${at}::timestamptz, owner_id, from_account, to_account, amount, details::jsonb
      from unnest(
        ${entries.map(({ opId }) => opId)}::text[], ${entries.map(({ owner }) => owner)}::text[],
        ${entries.map(({ from }) => from)}::text[],
        ${entries.map(({ to }) => to)}::text[], ${entries.map(({ amount }) => amount)}::bigint[],
        ${entries.map(({ details }) => JSON.stringify(details))}::text[]
      ) as new (op_id, owner_id, from_account, to_account, amount, details)
    ), made as (
      insert into credit_holds (op_id, owner_id, amount, worker_id, created_at, expires_at)
      select * from unnest(
        ${createdHolds.map(({ opId }) => opId)}::text[], ${createdHolds.map(({ owner }) => owner)}::text[],
        ${createdHolds.map(({ amount }) => amount)}::bigint[], ${createdHolds.map(({ workerId }) => workerId)}::text[],
        ${createdHolds.map(({ createdAt }) => createdAt)}::timestamptz[], ${createdHolds.map(({ expiresAt }) => expiresAt)}::timestamptz[]
      )
    ), freed as (
      delete from credit_holds where op_id = any(${freedHolds}::text[])
    )
    update wallets set balance = new.balance, held = new.held
    from unnest(
      ${changed.map(([owner]) => owner)}::text[], ${changed.map(([, { balance }]) => balance)}::bigint[],
      ${changed.map(([, { held }]) => held)}::bigint[]
    ) as new (owner_id, balance, held)
    where wallets.owner_id = new.owner_id`.execute(own(tx));
}

async function renewHolds(tx: Tables, holds: Hold[]): Promise<void> {
  await sql`update credit_holds set worker_id = new.worker_id, created_at = new.created_at, expires_at = new.expires_at
    from unnest(
      ${holds.map(({ opId }) => opId)}::text[], ${holds.map(({ workerId }) => workerId)}::text[],
      ${holds.map(({ createdAt }) => createdAt)}::timestamptz[], ${holds.map(({ expiresAt }) => expiresAt)}::timestamptz[]
    ) as new (op_id, worker_id, created_at, expires_at)
    where credit_holds.op_id = new.op_id`.execute(own(tx));
}

async function markRedeemed(tx: Tables, codes: CreditCode[], at: Date): Promise<void> {
  await sql`update credit_codes set redeemed_by = new.redeemed_by, redeemed_at = ${at}
    from unnest(
      ${codes.map(({ codeId }) => codeId)}::text[], ${codes.map(({ redeemedBy }) => redeemedBy)}::text[]
    ) as new (code_id, redeemed_by)
    where credit_codes.code_id = new.code_id`.execute(own(tx));
}

interface StaleHoldsQuery {
  now: Date;
  /** A worker whose holds from before its restart are stale. */
  restarted: { workerId: string; startedAt: Date };
  limit: number;
}

/** Holds that will not be committed: expired ones, and those of lost or restarted workers. */
export async function staleHolds(tables: Tables, { now, restarted, limit }: StaleHoldsQuery): Promise<Hold[]> {
  const rows = await own(tables)
    .selectFrom('credit_holds')
    .selectAll()
    .where((where) =>
      where.or([
        where('expires_at', '<=', now),
        where('worker_id', 'in', where.selectFrom('lost_workers').select('worker_id')),
        where.and([where('worker_id', '=', restarted.workerId), where('created_at', '<', restarted.startedAt)]),
      ]),
    )
    .limit(limit)
    .execute();
  return rows.map(toHold);
}

/** The next owners with a wallet, sorted by id. */
export async function ownersAfter(tables: Tables, after: string, limit: number): Promise<string[]> {
  const rows = await own(tables)
    .selectFrom('wallets')
    .select('owner_id')
    .where('owner_id', '>', after)
    .orderBy('owner_id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.owner_id);
}

/** How far an owner's journal has been summed up. Entries of one owner are only appended. */
export interface Reading {
  owner: string;
  entryId: number;
  sum: number;
}

export interface Sums extends Reading {
  balance: number;
  held: number;
  holds: number;
  /** Number of entries read; if it equals the limit, there may be more. */
  entries: number;
}

/** Continues each reading by at most `limit` entries. One statement, so that all sums are of one snapshot. */
export async function readSums(tables: Tables, readings: Reading[], limit: number): Promise<Sums[]> {
  const { rows } = await sql<Sums>`
    select wallets.owner_id as owner, coalesce(added.entry_id, reading.entry_id) as "entryId", (reading.sum + added.sum)::bigint as sum,
      wallets.balance, wallets.held, holds.sum as holds, added.entries
    from unnest(
      ${readings.map(({ owner }) => owner)}::text[], ${readings.map(({ entryId }) => entryId)}::bigint[],
      ${readings.map(({ sum }) => sum)}::bigint[]
    ) as reading (owner_id, entry_id, sum)
    join wallets using (owner_id)
    cross join lateral (
      select count(*) as entries, max(entry_id) as entry_id,
        coalesce(sum(case when to_account = 'wallet:' || part.owner_id then amount else -amount end), 0)::bigint as sum
      from (
        select * from credit_journal where owner_id = reading.owner_id and entry_id > reading.entry_id order by entry_id limit ${limit}
      ) as part
    ) as added
    cross join lateral (
      select coalesce(sum(amount), 0)::bigint as sum from credit_holds where owner_id = reading.owner_id
    ) as holds`.execute(own(tables));
  return rows;
}

/** Matches the partial index of the journal. */
const isGift = sql<boolean>`(from_account like 'source:%' or to_account like 'source:%')`;
const given = sql`case when from_account like 'source:%' then amount else -amount end`;

/** Gifts to all wallets, less what was taken back, and what is in them. One statement, so that both are of one snapshot. */
export async function readTotals(tables: Tables): Promise<{ granted: number; balance: number }> {
  const { rows } = await sql<{ granted: number; balance: number }>`
    select (select coalesce(sum(${given}), 0)::bigint from credit_journal where ${isGift}) as granted,
      (select coalesce(sum(balance), 0)::bigint from wallets) as balance`.execute(own(tables));
  return rows[0] ?? { granted: 0, balance: 0 };
}

/** One entry of an owner's journal, in millionths. */
export interface LedgerEntry {
  entryId: number;
  at: Date;
  from: string;
  to: string;
  /** Negative if it was taken from the wallet. */
  amount: number;
  /** Balance after the entry. */
  balance: number;
  /** Session or route that was charged; null if none was. */
  meterId: string | null;
}

/** The entry after which a page begins, and the balance before it. */
export interface LedgerPosition {
  entryId: number;
  balance: number;
}

/** An owner's entries, newest first, with the balance after each. One statement, so that balance and entries are of one snapshot. */
export async function readLedger(
  tables: Tables,
  { owner, after, limit }: { owner: string; after?: LedgerPosition | undefined; limit: number },
): Promise<LedgerEntry[]> {
  const { rows } = await sql<LedgerEntry>`
    with start as (
      select coalesce(${after?.balance ?? null}::bigint, (select balance from wallets where owner_id = ${owner}), 0) as balance
    ), page as (
      select journal.*, case when to_account = 'wallet:' || owner_id then amount else -amount end as delta
      from credit_journal journal where owner_id = ${owner} and entry_id < ${after?.entryId ?? Number.MAX_SAFE_INTEGER}
      order by entry_id desc limit ${limit}
    )
    select entry_id as "entryId", at, from_account as "from", to_account as "to", delta as amount,
      (start.balance - coalesce(sum(delta) over (order by entry_id desc rows between unbounded preceding and 1 preceding), 0))::bigint as balance,
      coalesce(details ->> 'meter_id', substring(op_id from '^session:(.+):start$')) as "meterId"
    from page, start order by entry_id desc`.execute(own(tables));
  return rows;
}

export interface CreditFlow {
  owner: string;
  /** Credits from operators, less what they took back. */
  granted: number;
  redeemed: number;
  spent: number;
}

/** What owners were given and charged from `since` on. */
export async function readFlows(tables: Tables, since: Date): Promise<CreditFlow[]> {
  const { rows } = await sql<CreditFlow>`
    select owner_id as owner,
      coalesce(sum(${given}) filter (where 'source:grants' in (from_account, to_account)), 0)::bigint as granted,
      coalesce(sum(${given}) filter (where 'source:codes' in (from_account, to_account)), 0)::bigint as redeemed,
      coalesce(sum(amount) filter (where to_account like 'revenue:%'), 0)::bigint as spent
    from credit_journal where at >= ${since} group by owner_id`.execute(own(tables));
  return rows;
}

import { sql, type Generated, type Selectable } from 'kysely';
import type { Tables } from '../../store/store.ts';
import type { Status } from './notice.ts';
import type { Subscriber } from './subscriber.ts';

interface BillingTables {
  owners: {
    owner_id: string;
    tier: string;
    trial_tier: string | null;
    trial_ends_at: Date | null;
    customer_id: string | null;
    subscription_id: string | null;
    subscription_status: Status | null;
    subscription_started_at: Date | null;
    billing_event_at: Date | null;
  };
  promo_codes: {
    code_id: string;
    digest: Buffer;
    tier: string;
    trial_days: number;
    created_at: Date;
    expires_at: Date | null;
    redeemed_by: Generated<string | null>;
    redeemed_at: Generated<Date | null>;
  };
  billing_events: { event_id: string; owner_id: string; type: string; created_at: Date; received_at: Date; applied: Generated<boolean> };
}

/** A promo code, without the secret code itself. */
export interface Promo {
  codeId: string;
  tier: string;
  trialDays: number;
  createdAt: Date;
  expiresAt: Date | null;
  redeemedBy: string | null;
}

export interface Trial {
  tier: string;
  endsAt: Date;
}

const own = (tables: Tables) => tables.tables<BillingTables>();

const toPromo = (row: Selectable<BillingTables['promo_codes']>): Promo => ({
  codeId: row.code_id,
  tier: row.tier,
  trialDays: row.trial_days,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  redeemedBy: row.redeemed_by,
});

/** False where the event is a duplicate. Waits for a concurrent transaction with the same event. */
export async function insertEvent(
  tx: Tables,
  { eventId, owner, type, madeAt, receivedAt }: { eventId: string; owner: string; type: string; madeAt: Date; receivedAt: Date },
): Promise<boolean> {
  const row = await own(tx)
    .insertInto('billing_events')
    .values({ event_id: eventId, owner_id: owner, type, created_at: madeAt, received_at: receivedAt, applied: false })
    .onConflict((on) => on.column('event_id').doNothing())
    .returning('event_id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function markApplied(tx: Tables, eventId: string): Promise<void> {
  await own(tx).updateTable('billing_events').set({ applied: true }).where('event_id', '=', eventId).execute();
}

/** Deletes the oldest events, at most `limit`, and returns their number. */
export async function deleteEvents(tables: Tables, before: Date, limit: number): Promise<number> {
  const aged = own(tables)
    .selectFrom('billing_events')
    .select('event_id')
    .where('received_at', '<', before)
    .orderBy('received_at')
    .limit(limit);
  const { numDeletedRows } = await own(tables).deleteFrom('billing_events').where('event_id', 'in', aged).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export async function readSubscriber(tables: Tables, owner: string): Promise<Subscriber | undefined> {
  const row = await own(tables)
    .selectFrom('owners')
    .select(['tier', 'customer_id', 'subscription_id', 'subscription_status', 'subscription_started_at', 'billing_event_at'])
    .where('owner_id', '=', owner)
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    tier: row.tier,
    customerId: row.customer_id,
    subscriptionId: row.subscription_id,
    status: row.subscription_status,
    startedAt: row.subscription_started_at,
    eventAt: row.billing_event_at,
  };
}

/** Updates all fields except the tier. */
export async function updateSubscriber(tx: Tables, owner: string, subscriber: Subscriber): Promise<void> {
  const { customerId, subscriptionId, status, startedAt, eventAt } = subscriber;
  await own(tx)
    .updateTable('owners')
    .set({
      customer_id: customerId,
      subscription_id: subscriptionId,
      subscription_status: status,
      subscription_started_at: startedAt,
      billing_event_at: eventAt,
    })
    .where('owner_id', '=', owner)
    .execute();
}

/** One JSON parameter, so that the statement has the same text for any number of codes. */
export async function insertPromos(tx: Tables, promos: { promo: Promo; digest: Buffer }[]): Promise<void> {
  const rows = promos.map(({ promo, digest }) => ({
    code_id: promo.codeId,
    digest: `\\x${digest.toString('hex')}`,
    tier: promo.tier,
    trial_days: promo.trialDays,
    created_at: promo.createdAt,
    expires_at: promo.expiresAt,
  }));
  await sql`insert into promo_codes select * from jsonb_populate_recordset(null::promo_codes, ${JSON.stringify(rows)}::jsonb)`.execute(
    own(tx),
  );
}

export async function findPromo(tables: Tables, digest: Buffer): Promise<string | undefined> {
  const row = await own(tables).selectFrom('promo_codes').select('code_id').where('digest', '=', digest).executeTakeFirst();
  return row?.code_id;
}

/** Locks the row until the transaction ends. */
export async function lockPromo(tx: Tables, codeId: string): Promise<Promo> {
  return toPromo(await own(tx).selectFrom('promo_codes').selectAll().where('code_id', '=', codeId).forUpdate().executeTakeFirstOrThrow());
}

export async function markRedeemed(tx: Tables, codeId: string, { by, at }: { by: string; at: Date }): Promise<void> {
  await own(tx).updateTable('promo_codes').set({ redeemed_by: by, redeemed_at: at }).where('code_id', '=', codeId).execute();
}

/** The owner's last trial, which may have ended. */
export async function readTrial(tables: Tables, owner: string): Promise<Trial | undefined> {
  const row = await own(tables)
    .selectFrom('owners')
    .select(['trial_tier', 'trial_ends_at'])
    .where('owner_id', '=', owner)
    .executeTakeFirst();
  return row?.trial_tier && row.trial_ends_at ? { tier: row.trial_tier, endsAt: row.trial_ends_at } : undefined;
}

export interface SubscriptionRecord {
  owner: string;
  tier: string;
  status: Status;
}

/** Subscriptions of all owners in one of these statuses. */
export async function listSubscriptions(tables: Tables, statuses: readonly Status[]): Promise<SubscriptionRecord[]> {
  const rows = await own(tables)
    .selectFrom('owners')
    .select(['owner_id', 'tier', 'subscription_status'])
    .where('subscription_status', 'in', statuses)
    .execute();
  return rows.flatMap(({ owner_id: owner, tier, subscription_status: status }) => (status ? [{ owner, tier, status }] : []));
}

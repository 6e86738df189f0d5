import type { Audit, AuditEvent } from '../audit/audit.ts';
import type { Clock } from '../lib/clock.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store, Tables } from '../store/store.ts';
import { toCredits } from './amounts.ts';
import { Ledger, type Applied, type Order, type Outcome } from './ledger.ts';
import { findEntries, findHolds, lockCodes, lockWallets, makeWallets, beginOrders, writeLedger } from './store.ts';

export interface WriteDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
  workerId: string;
}

export interface Written {
  /** What each order came to; an Error where it was refused, and then nothing was written for it. */
  outcomes: (Outcome | Error)[];
  applied: Applied[];
}

/**
 * Carries out orders in one transaction, in their order. Several workers may do
 * so at once: the wallets are locked while it is decided.
 */
export async function writeOrders(deps: WriteDeps, orders: readonly Order[]): Promise<Written> {
  const written = await tryOrders(deps, orders);
  if (written) return written;
  // Apart from the transaction: nothing is lost where it fails, and nobody waits for it.
  await makeWallets(deps.store, ownersOf(orders));
  const retried = await tryOrders(deps, orders);
  if (!retried) throw new Error('wallets that were made are gone');
  return retried;
}

/** null where an owner has no wallet yet. */
function tryOrders(deps: WriteDeps, orders: readonly Order[]): Promise<Written | null> {
  const owners = ownersOf(orders);
  return deps.store.transaction(async (tx) => {
    await beginOrders(tx, !orders.every(mayBeLost));
    const wallets = await lockWallets(tx, owners);
    if (wallets.size < owners.length) return null;
    const at = deps.clock.now();
    const ledger = new Ledger({ wallets, ...(await readRest(tx, orders)) }, { at, workerId: deps.workerId });
    const outcomes = orders.map((order) => attempt(() => ledger.apply(order)));
    const writes = ledger.writes();
    await writeLedger(tx, writes, at);
    await tell(tx, writes.applied, deps);
    return { outcomes, applied: writes.applied };
  });
}

/** A hold that a crash undoes was for a call that died with it, and one that a crash brings back is voided by its time. */
const mayBeLost = ({ kind }: Order): boolean => kind === 'reserve' || kind === 'release';

const ownersOf = (orders: readonly Order[]): string[] => [...new Set(orders.map(({ owner }) => owner))];

/** Read when the wallets are locked, so that it is what the last holder of the locks has left. */
async function readRest(tx: Tables, orders: readonly Order[]) {
  const opIds = [...new Set(orders.map(({ opId }) => opId))];
  const codeIds = orders.flatMap((order) => (order.kind === 'redeem' ? [order.codeId] : []));
  const codes = codeIds.length > 0 ? await lockCodes(tx, codeIds) : new Map();
  return { holds: await findHolds(tx, opIds), journal: await findEntries(tx, opIds), codes };
}

function attempt(apply: () => Outcome): Outcome | Error {
  try {
    return apply();
  } catch (error) {
    return error instanceof Error ? error : new Error('an order failed', { cause: error });
  }
}

/** Who was given credits is an owner from then on, and the audit log says who gave them. */
async function tell(tx: Tables, applied: readonly Applied[], { owners, audit }: WriteDeps): Promise<void> {
  const granted = new Map(applied.flatMap(({ order }) => (order.kind === 'grant' ? [[order.owner, order.actor]] : [])));
  for (const [owner, actor] of granted) await owners.ensure(tx, owner, undefined, actor);
  await audit.record(tx, ...applied.flatMap(auditOf));
}

function auditOf({ order, entry }: Applied): AuditEvent[] {
  const { owner } = order;
  const amount = toCredits(entry.amount);
  if (order.kind === 'grant')
    return [{ actor: order.actor, action: 'credits.granted', owner, subject: order.opId, details: { amount, note: order.note } }];
  if (order.kind === 'redeem')
    return [{ actor: order.actor, action: 'credits.redeemed', owner, subject: order.codeId, details: { amount } }];
  return [];
}

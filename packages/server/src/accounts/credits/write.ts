import type { Audit, AuditEvent } from '../audit/audit.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store, Tables } from '../../store/store.ts';
import { Ledger, toCredits, type Applied, type LedgerOperation, type Outcome } from './ledger.ts';
import { beginOperations, createWallets, findEntries, findHolds, lockCodes, lockWallets, writeLedger } from './store.ts';

interface WriteDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
  workerId: string;
}

interface WriteResult {
  /** The outcome of each operation; an Error where it was refused and nothing was written. */
  outcomes: (Outcome | Error)[];
  applied: Applied[];
}

/**
 * Applies operations in one transaction, in sequence. Safe with several workers:
 * the wallets are locked.
 */
export async function writeOperations(deps: WriteDeps, operations: readonly LedgerOperation[]): Promise<WriteResult> {
  const result = await tryWriteOperations(deps, operations);
  if (result) return result;
  // Outside the transaction, so that it holds no locks.
  await createWallets(deps.store, ownersOf(operations));
  const retried = await tryWriteOperations(deps, operations);
  if (!retried) throw new Error('created wallets are missing');
  return retried;
}

/** null where an owner has no wallet yet. */
function tryWriteOperations(deps: WriteDeps, operations: readonly LedgerOperation[]): Promise<WriteResult | null> {
  const owners = ownersOf(operations);
  return deps.store.transaction(async (tx) => {
    await beginOperations(tx, !operations.every(isVolatile));
    const wallets = await lockWallets(tx, owners);
    if (wallets.size < owners.length) return null;
    const at = deps.clock.now();
    const ledger = new Ledger({ wallets, ...(await readLedgerState(tx, operations)) }, { at, workerId: deps.workerId });
    const outcomes = operations.map((operation) => attempt(() => ledger.apply(operation)));
    const writes = ledger.writes();
    await writeLedger(tx, writes, at);
    await recordGrants(tx, writes.applied, deps);
    return { outcomes, applied: writes.applied };
  });
}

/** Whether a crash may undo it: a lost hold was for a call that died as well, and a restored hold expires. */
const isVolatile = ({ kind }: LedgerOperation): boolean => kind === 'reserve' || kind === 'release';

const ownersOf = (operations: readonly LedgerOperation[]): string[] => [...new Set(operations.map(({ owner }) => owner))];

/** Read under the wallets' locks, so that it includes the writes of the last lock holder. */
async function readLedgerState(tx: Tables, operations: readonly LedgerOperation[]) {
  const opIds = [...new Set(operations.map(({ opId }) => opId))];
  const codeIds = operations.flatMap((operation) => (operation.kind === 'redeem' ? [operation.codeId] : []));
  const codes = codeIds.length > 0 ? await lockCodes(tx, codeIds) : new Map();
  return { holds: await findHolds(tx, opIds), journal: await findEntries(tx, opIds), codes };
}

function attempt(apply: () => Outcome): Outcome | Error {
  try {
    return apply();
  } catch (error) {
    return error instanceof Error ? error : new Error('a ledger operation failed', { cause: error });
  }
}

/** Creates owners of granted credits and writes the audit log. */
async function recordGrants(tx: Tables, applied: readonly Applied[], { owners, audit }: WriteDeps): Promise<void> {
  const granted = new Map(applied.flatMap(({ operation }) => (operation.kind === 'grant' ? [[operation.owner, operation.actor]] : [])));
  for (const [owner, actor] of granted) await owners.ensure(tx, owner, undefined, actor);
  await audit.record(tx, ...applied.flatMap(auditOf));
}

function auditOf({ operation, entry }: Applied): AuditEvent[] {
  const { owner } = operation;
  const amount = toCredits(entry.amount);
  if (operation.kind === 'grant' || operation.kind === 'correct') {
    const action = operation.kind === 'grant' ? 'credits.granted' : 'credits.corrected';
    return [{ actor: operation.actor, action, owner, subject: operation.opId, details: { amount, note: operation.note } }];
  }
  if (operation.kind === 'redeem')
    return [{ actor: operation.actor, action: 'credits.redeemed', owner, subject: operation.codeId, details: { amount } }];
  return [];
}

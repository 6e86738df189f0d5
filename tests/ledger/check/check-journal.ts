/** Checks the journal: acknowledged operations are entered exactly once, all others at most once. */
import { codeDigest } from '@berth/lib/code.ts';
import type { CodeRow, Entry } from '../ledger-reader.ts';
import type { Charge, Grant, Redemption, Trial } from '../history.ts';
import type { CheckInput, EntryOrigins } from './check-input.ts';
import { walletsOf } from '../schedule.ts';

export function* checkJournal(input: CheckInput, origins: EntryOrigins): Generator<string> {
  yield* checkGrants(input, origins);
  yield* checkCharges(input, origins);
  yield* checkRedemptions(input, origins);
  yield* checkEntryOrigins(input);
  yield* checkNoHoldsRemain(input);
  yield* checkAuditEntries(input);
}

/** Each granted amount is unique. */
function* checkGrants({ snapshot, history }: CheckInput, origins: EntryOrigins): Generator<string> {
  const granted = snapshot.journal.filter(({ from }) => from === 'source:grants');
  const entries = Map.groupBy(granted, ({ amount }) => amount);
  for (const operation of history.of('grant')) yield* checkEnteredOnce(operation, entries.get(operation.amount) ?? [], origins);
}

function* checkCharges({ snapshot, history }: CheckInput, origins: EntryOrigins): Generator<string> {
  const entries = Map.groupBy(snapshot.journal, ({ opId }) => opId);
  for (const operation of history.of('charge')) {
    const own = entries.get(operation.id) ?? [];
    yield* checkEnteredOnce(operation, own, origins);
    for (const { amount } of own) yield* checkChargedAmount(operation, amount);
  }
}

function* checkChargedAmount({ id, outcome, charged, amount: requested, allowOverdraft }: Charge, amount: number): Generator<string> {
  if (outcome === 'done' && amount !== charged) yield `${id}: ${charged} were reported as charged, and ${amount} are entered`;
  if (amount > requested) yield `${id}: ${amount} are charged for ${requested}`;
  if (allowOverdraft && amount !== requested) yield `${id}: only ${amount} of ${requested} are charged in spite of overdraft`;
}

function* checkEnteredOnce(operation: Grant | Charge, entries: Entry[], origins: EntryOrigins): Generator<string> {
  const what = `${operation.kind} ${operation.id} of ${operation.amount}`;
  const [entry] = entries;
  if (entry) origins.set(entry, operation);
  if (entries.length > 1) yield `${what} was entered ${entries.length} times`;
  if (operation.outcome === 'done' && entries.length === 0) yield `${what} was reported as done, and is not entered`;
  if (entry && entry.owner !== operation.owner) yield `${what} of ${operation.owner} went to ${entry.owner}`;
}

/** A code is redeemed by one owner, who receives its amount. */
function* checkRedemptions({ snapshot, history }: CheckInput, origins: EntryOrigins): Generator<string> {
  const operations = history.of('redemption');
  const rowOf = (code: string): CodeRow | undefined => snapshot.creditCodes.get(codeDigest(code).toString('hex'));
  for (const [code, attempts] of Map.groupBy(operations, (operation) => operation.code)) yield* checkRedeemer(attempts, rowOf(code));
  for (const [amount, attempts] of Map.groupBy(operations, (operation) => operation.amount)) {
    const redeemed = [...new Set(attempts.map(({ code }) => code))].filter((code) => rowOf(code)?.redeemedBy != null);
    const entries = snapshot.journal.filter((entry) => entry.from === 'source:codes' && entry.amount === amount);
    if (entries.length !== redeemed.length) yield `${redeemed.length} codes of ${amount} are redeemed, and ${entries.length} entered`;
    attributeEntries(entries, attempts, origins);
  }
}

/** Entries of an owner who redeemed several codes of the same amount cannot be attributed. */
function attributeEntries(entries: Entry[], attempts: Redemption[], origins: EntryOrigins): void {
  for (const [owner, own] of Map.groupBy(entries, (entry) => entry.owner)) {
    const winners = attempts.filter((operation) => operation.owner === owner && operation.outcome === 'done');
    const [entry, operation] = [own[0], winners[0]];
    if (own.length === 1 && winners.length === 1 && entry && operation) origins.set(entry, operation);
  }
}

/** `attempts` are all operations with this code. */
export function* checkRedeemer(attempts: (Redemption | Trial)[], row: CodeRow | undefined): Generator<string> {
  const what = `the code that ${attempts.map(({ id }) => id).join(', ')} used`;
  if (!row) return yield `${what} is not there`;
  const { redeemedBy } = row;
  const winners = attempts.filter(({ outcome }) => outcome === 'done');
  if (winners.length > 1) yield `${what} was redeemed by ${winners.map(({ id }) => id).join(' and ')}`;
  for (const { owner } of winners) if (redeemedBy !== owner) yield `${what}: ${owner} won, and ${redeemedBy} is stored`;
  const unanswered = attempts.filter(
    ({ outcome, owner, unanswered }) => outcome !== 'done' && owner === redeemedBy && (unanswered > 0 || outcome === 'unknown'),
  );
  if (redeemedBy !== null && winners.length === 0 && unanswered.length === 0)
    yield `${what} is redeemed by ${redeemedBy}, and no operation did it`;
  const isWronglyRefused = redeemedBy === null && attempts.some(({ kind, outcome }) => kind === 'redemption' && outcome === 'refused');
  if (isWronglyRefused) yield `${what} was refused as redeemed, and is not`;
}

/** Every entry stems from a client's request or from a session's usage. */
function* checkEntryOrigins({ snapshot, history }: CheckInput): Generator<string> {
  const amounts = new Set([...history.of('grant'), ...history.of('redemption')].map(({ amount }) => amount));
  const requested = new Set(history.of('charge').map(({ id }) => id));
  for (const entry of snapshot.journal) {
    const isRequested = entry.from.startsWith('source:')
      ? amounts.has(entry.amount)
      : requested.has(entry.opId) || snapshot.sessions.has(entry.meterId ?? '');
    if (!isRequested) yield `no client requested ${JSON.stringify(entry)}`;
  }
}

function* checkNoHoldsRemain({ snapshot }: CheckInput): Generator<string> {
  for (const { owner, opId, amount } of snapshot.holds) yield `${amount} of ${owner} are still held for ${opId}`;
}

/** Every credit to a wallet has one audit entry. */
function* checkAuditEntries({ schedule, snapshot }: CheckInput): Generator<string> {
  const sources = { 'credits.granted': 'source:grants', 'credits.redeemed': 'source:codes' };
  for (const owner of walletsOf(schedule))
    for (const [action, from] of Object.entries(sources)) {
      const entered = snapshot.journal.filter((entry) => entry.owner === owner && entry.from === from).length;
      const audited = snapshot.audit.filter((entry) => entry.owner === owner && entry.action === action).length;
      if (audited !== entered) yield `${action} of ${owner} happened ${entered} times, and has ${audited} audit entries`;
    }
}

/** Checks the history of a fleet's clients: see README.md. Pure; each violation is one sentence. */
import { checkSessions } from './check-sessions.ts';
import { callsOf, type Action, type FleetHistory, type JobRead, type Ledger, type Period } from './history.ts';

/**
 * How long a revoked key may be accepted: other workers cache it for a second, and a lookup that began before may take as
 * long as a slow database.
 */
const revocationMsMax = 8000;
/** Price of an action, in millionths of a credit. */
const actionPrice = 10_000;

export const checkHistory = (history: FleetHistory): string[] => [
  ...checkSessions(history),
  ...checkKeys(history),
  ...checkJobs(history),
  ...(history.ledger ? checkCredits(history, history.ledger) : []),
];

/** An acknowledged key works until its revocation is sent, and soon after the answer to it no more. */
function* checkKeys(history: FleetHistory): Generator<string> {
  const revocations = new Map(callsOf(history, 'key revocation').map((call) => [call.keyId, call]));
  const creations = new Map(callsOf(history, 'key creation').map((call) => [call.keyId, call]));
  for (const { id, keyId, outcome, sentMs, answeredMs } of callsOf(history, 'key call')) {
    const [creation, revocation] = [creations.get(keyId), revocations.get(keyId)];
    const isMade = creation?.outcome === 'done' && sentMs > creation.answeredMs;
    if (outcome === 'refused' && isMade && answeredMs < (revocation?.sentMs ?? Number.POSITIVE_INFINITY))
      yield `${id}: the key ${keyId} was acknowledged, and refused`;
    const isRevoked = revocation?.outcome === 'done' && sentMs > revocation.answeredMs + revocationMsMax;
    if (outcome === 'done' && isRevoked) yield `${id}: the key ${keyId} was accepted long after it was revoked`;
  }
}

/** An acknowledged job ends once, with one result, and is never forgotten. */
function* checkJobs(history: FleetHistory): Generator<string> {
  const reads = Map.groupBy(callsOf(history, 'job read'), ({ jobId }) => jobId);
  for (const [jobId, own] of reads) yield* checkResult(jobId, own);
  for (const { jobId, outcome, answeredMs } of callsOf(history, 'submission')) {
    if (outcome !== 'done' || jobId === null) continue;
    const own = reads.get(jobId) ?? [];
    for (const { id, state, sentMs } of own)
      if (state === 'missing' && sentMs > answeredMs) yield `${id} does not know the job ${jobId}, which was acknowledged`;
    const isOpen = own.some(({ state, sentMs }) => state === 'pending' && sentMs >= history.quietMs);
    if (isOpen) yield `the job ${jobId} has not ended`;
  }
}

function* checkResult(jobId: string, reads: JobRead[]): Generator<string> {
  const over = reads.filter(({ state }) => state === 'over');
  const results = new Set(over.map(({ result }) => result));
  if (results.size > 1) yield `the job ${jobId} has ${results.size} results: ${[...results].join(' and ')}`;
  const endedMs = Math.min(...over.map(({ answeredMs }) => answeredMs));
  for (const { id, state, sentMs } of reads)
    if (state === 'pending' && sentMs > endedMs) yield `${id} read the job ${jobId} as pending again`;
}

function* checkCredits(history: FleetHistory, ledger: Ledger): Generator<string> {
  yield* checkWallets(ledger);
  yield* checkGrants(history, ledger);
  yield* checkCharges(history, ledger);
}

/** A wallet is the sum of its journal, and nothing is held when everything is quiet. */
function* checkWallets({ journal, wallets, holds }: Ledger): Generator<string> {
  const entries = Map.groupBy(journal, ({ owner }) => owner);
  for (const [owner, { balance, held }] of wallets) {
    const signed = (entries.get(owner) ?? []).map(({ to, amount }) => (to === `wallet:${owner}` ? amount : -amount));
    const sum = signed.reduce((total, amount) => total + amount, 0);
    if (balance !== sum) yield `the wallet of ${owner} has ${balance}, and its journal sums to ${sum}`;
    if (balance < 0) yield `the wallet of ${owner} has ${balance}`;
    if (held !== 0) yield `${held} of the wallet of ${owner} are still held`;
  }
  for (const { owner, opId, amount } of holds) yield `${amount} of ${owner} are still held for ${opId}`;
}

/** An acknowledged grant is entered once, any other at most once. */
function* checkGrants(history: FleetHistory, { journal }: Ledger): Generator<string> {
  const grants = callsOf(history, 'grant');
  const granted = Map.groupBy(
    journal.filter(({ from }) => from === 'source:grants'),
    ({ amount }) => amount,
  );
  for (const { id, owner, amount, outcome } of grants) {
    const own = granted.get(amount) ?? [];
    if (own.length > 1) yield `${id}: the grant of ${amount} was entered ${own.length} times`;
    if (outcome === 'done' && own.length === 0) yield `${id}: the grant of ${amount} was acknowledged, and is not entered`;
    for (const entry of own) if (entry.owner !== owner) yield `${id}: the grant of ${amount} to ${owner} went to ${entry.owner}`;
  }
  const amounts = new Set(grants.map(({ amount }) => amount));
  for (const [amount, [entry]] of granted) if (!amounts.has(amount)) yield `nobody granted ${amount} to ${entry?.owner}`;
}

/** A session pays its start once, and each of its actions at most once; those that could be charged, exactly once. */
function* checkCharges(history: FleetHistory, { journal }: Ledger): Generator<string> {
  const charges = Map.groupBy(journal, ({ meterId }) => meterId);
  const actions = Map.groupBy(callsOf(history, 'action'), ({ sessionId }) => sessionId);
  for (const { sessionId, outcome, owner, sentMs, answeredMs } of callsOf(history, 'creation')) {
    if (sessionId === null) continue;
    const own = charges.get(sessionId) ?? [];
    const starts = own.filter(({ to }) => to === 'revenue:session');
    if (starts.length > 1) yield `the start of ${sessionId} was charged ${starts.length} times`;
    if (outcome === 'done' && starts.length === 0 && !isDisturbed(history, { fromMs: sentMs, toMs: answeredMs }))
      yield `the start of ${sessionId} was acknowledged, and not charged`;
    for (const entry of own) if (entry.owner !== owner) yield `${entry.owner} paid for ${sessionId} of ${owner}`;
    const charged = own.filter(({ to }) => to === 'revenue:action').reduce((sum, { amount }) => sum + amount, 0);
    yield* checkActionCharges(history, { sessionId, charged, actions: actions.get(sessionId) ?? [] });
  }
}

function* checkActionCharges(
  history: FleetHistory,
  { sessionId, charged, actions }: { sessionId: string; charged: number; actions: Action[] },
): Generator<string> {
  const possible = actions.filter(({ outcome }) => outcome !== 'refused').length;
  const certain = actions.filter(
    ({ outcome, sentMs, answeredMs }) => outcome === 'done' && !isDisturbed(history, { fromMs: sentMs, toMs: answeredMs }),
  ).length;
  if (charged > possible * actionPrice) yield `${sessionId} paid ${charged} for at most ${possible} actions`;
  if (charged < certain * actionPrice) yield `${sessionId} paid ${charged} for at least ${certain} actions`;
}

const isDisturbed = ({ databaseFaults }: FleetHistory, { fromMs, toMs }: Period): boolean =>
  databaseFaults.some((fault) => fault.fromMs <= toMs && fromMs <= fault.toMs);

/** Checks the usage of sessions: charged at most once, and counted only when it happened. */
import { isEnforced, sumBy } from './invariants.ts';
import type { Entry } from '../ledger-reader.ts';
import type { Action, SessionCreation, Operation, UsageRead } from '../history.ts';
import type { CheckInput, EntryOrigins } from './check-input.ts';

export const prices = { action: 10_000, session: 1_000_000 };

export function* checkUsage(input: CheckInput, origins: EntryOrigins): Generator<string> {
  yield* checkSessions(input, origins);
  yield* checkActions(input);
  yield* checkOverdraftCharges(input);
  yield* checkMeters(input);
  for (const operation of input.history.of('usage')) yield* checkUsageRead(operation, input);
}

const chargesTo = (account: string, { snapshot }: CheckInput): Entry[] => snapshot.journal.filter(({ to }) => to === account);

/** A session is charged at most once: never if it did not become ready, always if the create was answered. */
function* checkSessions(input: CheckInput, origins: EntryOrigins): Generator<string> {
  const charged = Map.groupBy(chargesTo('revenue:session', input), ({ meterId }) => meterId ?? '');
  for (const [meterId, entries] of charged) yield* checkSessionCharge(meterId, entries, input);
  const made = input.history.of('session');
  const created = new Map(
    made.flatMap((operation): [string, SessionCreation][] => (operation.sessionId === null ? [] : [[operation.sessionId, operation]])),
  );
  for (const [sessionId, operation] of created) {
    const [entry] = charged.get(sessionId) ?? [];
    if (entry) origins.set(entry, operation);
    else yield `the session ${sessionId} was made and not charged`;
  }
  const unknown = [...charged.keys()].filter((meterId) => !created.has(meterId)).length;
  const unanswered = made.reduce((sum, operation) => sum + operation.unanswered, 0);
  if (unknown > unanswered) yield `${unknown} sessions unknown to clients were charged, and ${unanswered} creates were not answered`;
}

function* checkSessionCharge(meterId: string, entries: Entry[], { snapshot }: CheckInput): Generator<string> {
  const session = snapshot.sessions.get(meterId);
  if (entries.length > 1) yield `the session ${meterId} was charged ${entries.length} times`;
  if (!session?.isStarted || session.owner !== entries[0]?.owner)
    yield `the session ${meterId} was charged and never ready: ${JSON.stringify(session)}`;
  for (const { amount } of entries) if (amount !== prices.session) yield `the session ${meterId} was charged ${amount}`;
}

function* checkActions(input: CheckInput): Generator<string> {
  const charged = Map.groupBy(chargesTo('revenue:action', input), ({ meterId }) => meterId ?? '');
  const attempts = actionsBySession(input);
  for (const sessionId of new Set([...charged.keys(), ...attempts.keys()])) {
    const entries = charged.get(sessionId) ?? [];
    const operations = attempts.get(sessionId) ?? [];
    if (operations.some(({ owner }) => !isEnforced(owner))) continue;
    const min = operations.filter(({ outcome }) => outcome === 'done').length;
    if (entries.length < min || entries.length > operations.length)
      yield `${min} to ${operations.length} actions were done in ${sessionId}, and ${entries.length} are charged`;
    for (const { amount } of entries) if (amount !== prices.action) yield `an action in ${sessionId} was charged ${amount}`;
  }
}

/** Actions that may have been executed. */
const actionsBySession = ({ history }: CheckInput): Map<string, Action[]> =>
  Map.groupBy(
    history.of('action').filter(({ outcome }) => outcome !== 'refused'),
    ({ sessionId }) => sessionId,
  );

/** Owners with overdraft are charged by their meters. Usage that a crash lost may have been charged before. */
function* checkOverdraftCharges(input: CheckInput): Generator<string> {
  const { snapshot } = input;
  const owing = snapshot.journal.filter(({ owner, from, meterId }) => !isEnforced(owner) && from === `wallet:${owner}` && meterId !== null);
  const attempts = actionsBySession(input);
  for (const [meterId, entries] of Map.groupBy(owing, (entry) => entry.meterId ?? '')) {
    const paid = sumBy(
      entries,
      ({ to }) => to,
      ({ amount }) => amount,
    );
    const done = { action: attempts.get(meterId)?.length ?? 0, session: snapshot.sessions.get(meterId)?.isStarted ? 1 : 0 };
    for (const axis of ['action', 'session'] as const) {
      const amount = paid.get(`revenue:${axis}`) ?? 0;
      if (amount > prices[axis] * done[axis]) yield `${meterId} has paid ${amount} for ${done[axis]} of the axis ${axis}`;
    }
  }
}

/** Usage before a flush or a graceful stop is counted completely; nothing is counted that did not happen. */
function* checkMeters(input: CheckInput): Generator<string> {
  const { history, snapshot, lastRun } = input;
  const meters = Map.groupBy(snapshot.meters, ({ meterId }) => meterId);
  const flushes = history.of('flush').filter(({ outcome }) => outcome === 'done');
  const isFlushed = ({ run, completedAt }: Operation): boolean =>
    flushes.some((flush) => flush.run === run && flush.startedAt > completedAt);
  const isSafe = (operation: Operation): boolean => operation.outcome === 'done' && (operation.run === lastRun || isFlushed(operation));
  const attempts = actionsBySession(input);
  for (const operation of history.of('session')) {
    if (operation.sessionId === null) continue;
    const rows = meters.get(operation.sessionId) ?? [];
    const operations = attempts.get(operation.sessionId) ?? [];
    const [min, max, counted] = [operations.filter(isSafe).length, operations.length, rows.reduce((sum, row) => sum + row.actions, 0)];
    if (counted < min || counted > max) yield `${min} to ${max} actions of ${operation.sessionId} should be counted, and ${counted} are`;
    const starts = rows.reduce((sum, row) => sum + row.sessions, 0);
    if (starts > 1 || (isSafe(operation) && starts === 0)) yield `the session ${operation.sessionId} is counted ${starts} times`;
  }
  for (const { meterId, browserMs } of snapshot.meters) if (browserMs < 0) yield `${meterId} has a negative time`;
}

/** Reported usage happened, and it includes everything that this run had already acknowledged. */
function* checkUsageRead(read: UsageRead, { history }: CheckInput): Generator<string> {
  if (read.outcome !== 'done') return;
  const own = ({ owner }: Operation): boolean => owner === read.owner;
  const isAcknowledged = (operation: Operation): boolean =>
    read.isAlone && operation.outcome === 'done' && operation.run === read.run && operation.completedAt < read.startedAt;
  const actions = history
    .of('action')
    .filter((operation) => own(operation) && operation.outcome !== 'refused' && operation.startedAt < read.completedAt);
  const sessions = history.of('session').filter((operation) => own(operation) && operation.startedAt < read.completedAt);
  const starts = sessions.reduce((sum, operation) => sum + operation.unanswered + (operation.outcome === 'refused' ? 0 : 1), 0);
  const what = `${read.id} reported`;
  const [actionsMin, sessionsMin] = [actions.filter(isAcknowledged).length, sessions.filter(isAcknowledged).length];
  if (read.actions < actionsMin || read.actions > actions.length)
    yield `${what} ${read.actions} actions, and ${actionsMin} to ${actions.length} were done`;
  if (read.sessions < sessionsMin || read.sessions > starts)
    yield `${what} ${read.sessions} sessions, and ${sessionsMin} to ${starts} were made`;
}

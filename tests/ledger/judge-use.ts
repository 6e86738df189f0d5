/** What sessions used: paid for once, or not at all, and never counted where it was not done. */
import { isEnforced, sumBy } from './always.ts';
import type { Entry } from './books.ts';
import type { Action, Created, Deed, UsageRead } from './history.ts';
import type { Case, Origins } from './case.ts';

export const prices = { action: 10_000, session: 1_000_000 };

export function* useFaults(of: Case, origins: Origins): Generator<string> {
  yield* sessions(of, origins);
  yield* actions(of);
  yield* debts(of);
  yield* counts(of);
  for (const deed of of.history.of('usage')) yield* wrongUsage(deed, of);
}

const chargesTo = (account: string, { books }: Case): Entry[] =>
  books.journal.filter(({ owner, to }) => to === account && isEnforced(owner));

/** Charged once, or never; never if it did not become ready, and always if its caller was told that it is. */
function* sessions(of: Case, origins: Origins): Generator<string> {
  const charged = Map.groupBy(chargesTo('revenue:session', of), ({ meterId }) => meterId ?? '');
  for (const [meterId, entries] of charged) yield* wrongCharge(meterId, entries, of);
  const made = of.history.of('session').filter(({ owner }) => isEnforced(owner));
  const known = new Map(made.flatMap((deed): [string, Created][] => (deed.sessionId === null ? [] : [[deed.sessionId, deed]])));
  for (const [sessionId, deed] of known) {
    const [entry] = charged.get(sessionId) ?? [];
    if (entry) origins.set(entry, deed);
    else yield `the session ${sessionId} was made and not charged`;
  }
  const unknown = [...charged.keys()].filter((meterId) => !known.has(meterId)).length;
  const lost = made.reduce((sum, deed) => sum + deed.lost, 0);
  if (unknown > lost) yield `${unknown} sessions were charged that nobody knows of, and ${lost} creates were not answered`;
}

function* wrongCharge(meterId: string, entries: Entry[], { books }: Case): Generator<string> {
  const session = books.sessions.get(meterId);
  if (entries.length > 1) yield `the session ${meterId} was charged ${entries.length} times`;
  if (!session?.isStarted || session.owner !== entries[0]?.owner)
    yield `the session ${meterId} was charged and never ready: ${JSON.stringify(session)}`;
  for (const { amount } of entries) if (amount !== prices.session) yield `the session ${meterId} was charged ${amount}`;
}

function* actions(of: Case): Generator<string> {
  const charged = Map.groupBy(chargesTo('revenue:action', of), ({ meterId }) => meterId ?? '');
  const tried = actionsBySession(of);
  for (const sessionId of new Set([...charged.keys(), ...tried.keys()])) {
    const entries = charged.get(sessionId) ?? [];
    const deeds = tried.get(sessionId) ?? [];
    if (deeds.some(({ owner }) => !isEnforced(owner))) continue;
    const least = deeds.filter(({ outcome }) => outcome === 'done').length;
    if (entries.length < least || entries.length > deeds.length)
      yield `${least} to ${deeds.length} actions were done in ${sessionId}, and ${entries.length} are charged`;
    for (const { amount } of entries) if (amount !== prices.action) yield `an action in ${sessionId} was charged ${amount}`;
  }
}

/** Those that may have been done. */
const actionsBySession = ({ history }: Case): Map<string, Action[]> =>
  Map.groupBy(
    history.of('action').filter(({ outcome }) => outcome !== 'refused'),
    ({ sessionId }) => sessionId,
  );

/** Whoever may owe pays by its meters, and only for what was done. What a crash has lost of the counts may have been paid before. */
function* debts(of: Case): Generator<string> {
  const { books } = of;
  const owing = books.journal.filter(({ owner, from, meterId }) => !isEnforced(owner) && from === `wallet:${owner}` && meterId !== null);
  const tried = actionsBySession(of);
  for (const [meterId, entries] of Map.groupBy(owing, (entry) => entry.meterId ?? '')) {
    const paid = sumBy(
      entries,
      ({ to }) => to,
      ({ amount }) => amount,
    );
    const done = { action: tried.get(meterId)?.length ?? 0, session: books.sessions.get(meterId)?.isStarted ? 1 : 0 };
    for (const axis of ['action', 'session'] as const) {
      const amount = paid.get(`revenue:${axis}`) ?? 0;
      if (amount > prices[axis] * done[axis]) yield `${meterId} has paid ${amount} for ${done[axis]} of the axis ${axis}`;
    }
  }
}

/** Nothing is counted that was not done, and all is counted that was done before a flush or before a life's orderly end. */
function* counts(of: Case): Generator<string> {
  const { history, books, lastLife } = of;
  const meters = Map.groupBy(books.meters, ({ meterId }) => meterId);
  const flushes = history.of('flush').filter(({ outcome }) => outcome === 'done');
  const isFlushed = ({ life, settledAt }: Deed): boolean => flushes.some((flush) => flush.life === life && flush.startedAt > settledAt);
  const isSafe = (deed: Deed): boolean => deed.outcome === 'done' && (deed.life === lastLife || isFlushed(deed));
  const tried = actionsBySession(of);
  for (const deed of history.of('session')) {
    if (deed.sessionId === null) continue;
    const rows = meters.get(deed.sessionId) ?? [];
    const deeds = tried.get(deed.sessionId) ?? [];
    const [least, most, counted] = [deeds.filter(isSafe).length, deeds.length, rows.reduce((sum, row) => sum + row.actions, 0)];
    if (counted < least || counted > most) yield `${least} to ${most} actions of ${deed.sessionId} should be counted, and ${counted} are`;
    const starts = rows.reduce((sum, row) => sum + row.sessions, 0);
    if (starts > 1 || (isSafe(deed) && starts === 0)) yield `the session ${deed.sessionId} is counted ${starts} times`;
  }
  for (const { meterId, browserMs } of books.meters) if (browserMs < 0) yield `${meterId} has less than no time`;
}

/** What is told as used was done, and what this life has told to be done before is in it. */
function* wrongUsage(told: UsageRead, { history }: Case): Generator<string> {
  if (told.outcome !== 'done') return;
  const own = ({ owner }: Deed): boolean => owner === told.owner;
  const isKnown = (deed: Deed): boolean =>
    told.isAlone && deed.outcome === 'done' && deed.life === told.life && deed.settledAt < told.startedAt;
  const actions = history.of('action').filter((deed) => own(deed) && deed.outcome !== 'refused' && deed.startedAt < told.settledAt);
  const sessions = history.of('session').filter((deed) => own(deed) && deed.startedAt < told.settledAt);
  const starts = sessions.reduce((sum, deed) => sum + deed.lost + (deed.outcome === 'refused' ? 0 : 1), 0);
  const what = `${told.id} was told`;
  const [leastActions, leastSessions] = [actions.filter(isKnown).length, sessions.filter(isKnown).length];
  if (told.actions < leastActions || told.actions > actions.length)
    yield `${what} ${told.actions} actions, and ${leastActions} to ${actions.length} were done`;
  if (told.sessions < leastSessions || told.sessions > starts)
    yield `${what} ${told.sessions} sessions, and ${leastSessions} to ${starts} were made`;
}

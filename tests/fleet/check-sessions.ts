/** Sessions are in one place, have a name of their own, keep to the limit, and are never forgotten. */
import { callsOf, type Action, type BrowserAct, type Creation, type FleetHistory, type SessionRead } from './history.ts';

/** Everything of one session. */
interface SessionHistory {
  sessionId: string;
  owner: string;
  creation: Creation | undefined;
  actions: Action[];
  reads: SessionRead[];
  acts: BrowserAct[];
  /** Time from which it is certain that the session is over; infinite when nobody was informed. */
  overMs: number;
}

export function* checkSessions(history: FleetHistory): Generator<string> {
  const sessions = sessionsOf(history);
  for (const session of sessions) {
    yield* checkPlace(session);
    yield* checkEnd(session);
    yield* checkRemembered(session);
  }
  yield* checkActsOnce(history);
  yield* checkTakings(history);
  for (const own of Map.groupBy(sessions, ({ owner }) => owner).values()) {
    yield* checkNames(own);
    yield* checkLimit(own, history.sessionsMax);
  }
}

function sessionsOf(history: FleetHistory): SessionHistory[] {
  const creations = new Map(callsOf(history, 'creation').map((call) => [call.sessionId, call]));
  const actions = Map.groupBy(callsOf(history, 'action'), ({ sessionId }) => sessionId);
  const reads = Map.groupBy(callsOf(history, 'session read'), ({ sessionId }) => sessionId);
  const endings = Map.groupBy(callsOf(history, 'ending'), ({ sessionId }) => sessionId);
  const sessionOfCall = new Map(callsOf(history, 'action').map(({ id, sessionId }) => [id, sessionId]));
  const acts = Map.groupBy(history.acts, ({ callId }) => sessionOfCall.get(callId));
  const ids = new Set([...creations.keys(), ...actions.keys(), ...reads.keys()].filter((id) => id !== null));
  return [...ids].map((sessionId) => {
    const [creation, own] = [creations.get(sessionId), reads.get(sessionId) ?? []];
    const ends = [
      ...own.filter(({ state }) => state === 'over'),
      ...(endings.get(sessionId) ?? []).filter(({ outcome }) => outcome === 'done'),
      ...(actions.get(sessionId) ?? []).filter(({ code }) => code === 'session_ended'),
    ];
    return {
      sessionId,
      owner: creation?.owner ?? own[0]?.owner ?? '',
      creation,
      actions: actions.get(sessionId) ?? [],
      reads: own,
      acts: acts.get(sessionId) ?? [],
      overMs: Math.min(...ends.map(({ answeredMs }) => answeredMs), Number.POSITIVE_INFINITY),
    };
  });
}

/** One worker runs it, and one browser answers. */
function* checkPlace({ sessionId, actions, reads, acts }: SessionHistory): Generator<string> {
  const done = actions.filter(({ outcome }) => outcome === 'done');
  const places = {
    'tabs answered for': distinct(done.map(({ tab }) => tab)),
    'workers answered for': distinct(done.map(({ worker }) => worker)),
    'workers are named as the owner of': distinct(reads.map(({ runsOn }) => runsOn)),
    'workers acted for': distinct(acts.map(({ worker }) => worker)),
    'browsers acted for': distinct(acts.map(({ browser }) => browser)),
  };
  for (const [what, all] of Object.entries(places)) if (all.length > 1) yield `${all.length} ${what} ${sessionId}: ${all.join(', ')}`;
}

/** A session that was reported as over does nothing more, and stays over. */
function* checkEnd({ sessionId, actions, reads, acts, overMs }: SessionHistory): Generator<string> {
  for (const { id, outcome, sentMs } of actions)
    if (outcome === 'done' && sentMs > overMs)
      yield `${id} was done in ${sessionId}, which was over ${Math.round(sentMs - overMs)} ms before`;
  for (const { callId, worker, atMs } of acts)
    if (atMs > overMs) yield `${worker} acted for ${callId} in ${sessionId}, which was over ${Math.round(atMs - overMs)} ms before`;
  for (const { id, state, sentMs } of reads)
    if (state === 'live' && sentMs > overMs)
      yield `${id} read ${sessionId} as live, which was over ${Math.round(sentMs - overMs)} ms before`;
}

function* checkRemembered({ sessionId, creation, reads }: SessionHistory): Generator<string> {
  if (creation?.outcome !== 'done') return;
  for (const { id, state, sentMs } of reads)
    if (state === 'missing' && sentMs > creation.answeredMs) yield `${id} does not know ${sessionId}, which was acknowledged`;
}

/** Nothing that a client sent once reaches a browser twice. */
function* checkActsOnce({ acts }: FleetHistory): Generator<string> {
  for (const [callId, own] of Map.groupBy(acts, (act) => act.callId))
    if (own.length > 1) yield `${callId} was done ${own.length} times, by ${own.map(({ worker }) => worker).join(' and ')}`;
}

/** Whatever began this long before a lease was taken belongs to that lease: a worker joins anew only when it has ended all. */
const leaseAgeMs = 1500;

/** A worker has ended its browsers before others take its lease, unless it was frozen, and drives none of its sessions from then on. */
function* checkTakings(history: FleetHistory): Generator<string> {
  const creations = callsOf(history, 'creation').filter(({ outcome }) => outcome === 'done');
  const actions = Map.groupBy(callsOf(history, 'action'), (call): string | null => call.sessionId);
  for (const { worker, atMs } of history.takings) {
    const isOf = (other: { worker: string | null }): boolean => other.worker === worker;
    const isFrozen = history.freezes.some((freeze) => isOf(freeze) && freeze.fromMs <= atMs && atMs <= freeze.toMs);
    const left = history.browsers.filter((browser) => isOf(browser) && browser.fromMs < atMs - leaseAgeMs && browser.toMs > atMs);
    if (!isFrozen && left.length > 0) yield `${worker} ran ${left.length} browsers when its lease was taken`;
    for (const { sessionId } of creations.filter((call) => isOf(call) && call.answeredMs < atMs - leaseAgeMs))
      for (const { id, outcome, sentMs } of actions.get(sessionId) ?? [])
        if (outcome === 'done' && sentMs > atMs)
          yield `${id} was done in ${sessionId}, whose worker lost its lease ${Math.round(sentMs - atMs)} ms before`;
  }
}

/**
 * The time in which a session certainly lived: from the answer to its creation until the last call was sent that found
 * it alive. It may have lived longer at both ends.
 */
function certainLife({ creation, actions, reads }: SessionHistory): { fromMs: number; toMs: number } | null {
  if (creation?.outcome !== 'done') return null;
  const alive = [...actions.filter(({ outcome }) => outcome === 'done'), ...reads.filter(({ state }) => state === 'live')];
  const toMs = Math.max(...alive.map(({ sentMs }) => sentMs), Number.NEGATIVE_INFINITY);
  return toMs > creation.answeredMs ? { fromMs: creation.answeredMs, toMs } : null;
}

function* checkNames(sessions: SessionHistory[]): Generator<string> {
  for (const [name, all] of Map.groupBy(sessions, ({ creation }) => creation?.name ?? null)) {
    if (name === null) continue;
    const lives = all.flatMap((session) => ({ session, life: certainLife(session) }));
    for (const [index, { session, life }] of lives.entries())
      for (const other of lives.slice(index + 1))
        if (life && other.life && life.fromMs < other.life.toMs && other.life.fromMs < life.toMs)
          yield `${session.sessionId} and ${other.session.sessionId} of ${session.owner} had the name ${name} at once`;
  }
}

function* checkLimit(sessions: SessionHistory[], sessionsMax: number): Generator<string> {
  const lives = sessions.flatMap((session) => certainLife(session) ?? []);
  for (const { fromMs } of lives) {
    const alive = lives.filter((life) => life.fromMs <= fromMs && fromMs < life.toMs).length;
    if (alive > sessionsMax) return yield `${sessions[0]?.owner} had ${alive} sessions at once, of ${sessionsMax}`;
  }
}

const distinct = (values: (string | null)[]): string[] => [...new Set(values.filter((value) => value !== null))];

/**
 * What this process does on its main thread, and for whom, so that a stall of
 * the event loop can be attributed. There is one event loop, so this is state
 * of the module.
 *
 * A section is synchronous: what its work goes on with after an `await` is no
 * longer part of it. Such work enters sections of its own, which know by the
 * asynchronous context for whom they run.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** An operation of the API with its request, or a loop. */
export interface Caller {
  name: string;
  requestId?: string;
  /** The session that the request is about, once it is known. */
  sessionId?: string;
}

export interface Section {
  /** `start` of the caller, or the name of the work. */
  name: string;
  caller: Caller | null;
}

export interface SectionTime extends Section {
  ms: number;
}

const callers = new AsyncLocalStorage<Caller>();

/** Runs the work, asynchronous or not, for this caller. Its synchronous beginning is a section. */
export const runFor = <T>(caller: Caller, work: () => T): T => callers.run(caller, () => section('start', work));

/** The caller for whom the present work runs, also after an `await`. */
export const currentCaller = (): Readonly<Caller> | undefined => callers.getStore();

/** Names the session that the present request is about, for its log lines. */
export function nameSession(sessionId: string): void {
  const caller = callers.getStore();
  if (caller?.requestId !== undefined) caller.sessionId = sessionId;
}

/** Runs synchronous work as a section. */
export function section<T>(name: string, work: () => T): T {
  const outer = current;
  enter({ name, caller: callers.getStore() ?? null });
  try {
    return work();
  } finally {
    enter(outer);
  }
}

/** More changes between two reads are forgotten, oldest first. */
const changesMax = 1024;
const times = new Float64Array(changesMax);
const sections = Array<Section | null>(changesMax).fill(null);
let changes = 0;
let current: Section | null = null;

function enter(next: Section | null): void {
  current = next;
  times[changes % changesMax] = performance.now();
  sections[changes % changesMax] = next;
  changes += 1;
}

/** The section in which most of the time passed, by `performance.now()`; null when none was entered. */
export function longestSection(fromMs: number, toMs: number): SectionTime | null {
  const spent = new Map<string, SectionTime>();
  let endMs = toMs;
  for (let at = changes - 1; at >= Math.max(0, changes - changesMax) && endMs > fromMs; at -= 1) {
    const startMs = Math.min(endMs, times[at % changesMax] ?? endMs);
    const entered = sections[at % changesMax] ?? null;
    if (entered) add(spent, entered, endMs - Math.max(fromMs, startMs));
    endMs = startMs;
  }
  return [...spent.values()].reduce<SectionTime | null>((longest, each) => (longest && longest.ms >= each.ms ? longest : each), null);
}

function add(spent: Map<string, SectionTime>, entered: Section, ms: number): void {
  const key = `${entered.name} ${entered.caller?.name} ${entered.caller?.requestId}`;
  const time = spent.get(key);
  if (time) time.ms += ms;
  else spent.set(key, { ...entered, ms });
}

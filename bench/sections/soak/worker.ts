/** What a soak sees of the service from outside: its memory, its sessions' ends, and the processes of its machines. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Berth, machineProcs } from '../../berth.ts';
import { type Proc, argumentsOf, memoryMb, processorMs, stillExisting } from '../../proc.ts';
import { type Owner, authorizationOf } from './owner.ts';

export const sampleMs = 5000;
/** Whoever adopts a process reaps it within that. */
const dyingMsMax = 5000;

export interface MemorySample {
  atMs: number;
  megabytes: number;
}

export interface Watched {
  memory: MemorySample[];
  /** Processes of all machines, by their identity. */
  seen: Map<string, SeenProc>;
}

interface SeenProc extends Proc {
  command: string;
}

export async function watchWorker(berth: Berth, signal: AbortSignal): Promise<Watched> {
  const watched: Watched = { memory: [], seen: new Map() };
  while (!signal.aborted) {
    watched.memory.push({ atMs: performance.now(), megabytes: memoryMb([berth.pid]) });
    for (const proc of machineProcs(berth)) {
      const id = `${proc.pid} ${proc.startedAt}`;
      if (!watched.seen.has(id)) watched.seen.set(id, { ...proc, command: argumentsOf(proc.pid) });
    }
    await sleep(sampleMs, undefined, { signal }).catch(() => undefined);
  }
  return watched;
}

/** Names the processes of machines that outlive the service. Those that are only dying have some seconds. */
export async function nameLeft({ seen }: Watched): Promise<string[]> {
  const deadlineMs = performance.now() + dyingMsMax;
  let left = stillExisting([...seen.values()]);
  for (; left.length > 0 && performance.now() < deadlineMs; left = stillExisting(left)) await sleep(100);
  return left.map(({ pid, state, parent, startedAt }) => {
    const command = seen.get(`${pid} ${startedAt}`)?.command ?? '';
    return `${pid} (${state}, child of ${parent}) ${command.slice(0, 200)}`;
  });
}

export interface WorkerStats {
  /** MB in use by the JavaScript heap, and outside it by buffers. */
  heap: number;
  external: number;
  /** Delay of the event loop since the last reading. */
  delayMs: { p50: number; p99: number };
  /** Processor time of all threads so far. */
  processorMs: number;
}

export async function statsOf(berth: Berth): Promise<WorkerStats> {
  const response = await fetch(`${berth.url}/metrics`, { headers: { 'x-admin-key': berth.adminKey } });
  const text = await response.text();
  const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    heap: read('nodejs_heap_size_used_bytes') / 1024 ** 2,
    external: read('nodejs_external_memory_bytes') / 1024 ** 2,
    delayMs: { p50: read('nodejs_eventloop_lag_p50_seconds') * 1000, p99: read('nodejs_eventloop_lag_p99_seconds') * 1000 },
    processorMs: processorMs([berth.pid]).get(berth.pid) ?? Number.NaN,
  };
}

export interface EndedSession {
  session_id: string;
  /** `fetch`: a machine of the owner's fetches. */
  purpose: 'session' | 'fetch';
  ended_reason: string;
  ended_at: string;
}

/** An owner's sessions that have ended, and the machines of their fetches. */
export async function endedSessions(owner: Owner): Promise<EndedSession[]> {
  const sessions: EndedSession[] = [];
  for (const purpose of ['session', 'fetch']) {
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = `purpose=${purpose}&status=ended,failed&limit=500${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
      const response: Response = await fetch(`${owner.url}/v1/sessions?${query}`, { headers: authorizationOf(owner) });
      if (!response.ok) throw new Error(`GET /v1/sessions: ${response.status} ${await response.text()}`);
      sessions.push(...((await response.json()) as EndedSession[]));
      cursor = response.headers.get('x-next-cursor');
    }
  }
  return sessions;
}

/** Executes the tasks of a schedule's clients and records what they are answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  cancelJob,
  createKey,
  createSession,
  endSession,
  fetchPage,
  getCredits,
  getJob,
  getSession,
  grantCredits,
  listAllSessions,
  microPerCredit,
  navigate,
  revokeKey,
  type Endpoint,
  type JobResponse,
} from '@berth/contract';
import type { Request } from '../client.ts';
import type { Random } from '../ledger/random.ts';
import type { Answer, FleetClient } from './fleet-client.ts';
import { callsOf, nowMs, type Call, type CallOf, type Draft, type JobRead, type Kind, type Recorder, type SessionRead } from './history.ts';
import { firstGrant, type Client, type Schedule, type Task } from './schedule.ts';

type TaskOf<K extends Task['kind']> = Extract<Task, { kind: K }>;
type Caller = Pick<Client, 'random' | 'timeoutMs'> & { at?: string };
type Fields = { outcome: Answer['outcome']; code: string | null; worker: string | null };

/** Pause between two calls of a client. */
const pauseMs = { min: 20, max: 500 };
/** A job that is not over by then is read again when everything is quiet. */
const jobMsMax = 6000;
/** Longer than any answer takes when nothing is disturbed, also on a busy machine. */
const quietTimeoutMs = 60_000;
const attemptsMax = 10;
const revisitMsMax = 5000;
const recentSessions = 4;

export class Player {
  readonly #schedule: Schedule;
  readonly #client: FleetClient;
  readonly #recorder: Recorder;
  readonly #sessions: string[] = [];
  readonly #jobs: string[] = [];
  readonly #keys = new Map<string, string>();
  #key = '';
  #calls = 0;

  constructor(schedule: Schedule, { client, recorder }: { client: FleetClient; recorder: Recorder }) {
    this.#schedule = schedule;
    this.#client = client;
    this.#recorder = recorder;
  }

  /** Creates the owner before anything is disturbed. */
  async open(random: Random): Promise<void> {
    const caller = { random, timeoutMs: quietTimeoutMs };
    const made = await this.#send(createKey, { body: { owner: this.#schedule.owner, tier: 'fleet' } }, caller);
    if (made.outcome !== 'done') throw new Error(`${this.#schedule.owner} was not created: ${made.code}`);
    this.#key = (made.body as { key: string }).key;
    await this.#grant({ kind: 'grant', amount: firstGrant }, caller);
  }

  /** Plays until `over` is aborted. Clients that are done with their tasks visit the sessions of the others. */
  async play(over: AbortSignal): Promise<void> {
    await Promise.all(
      this.#schedule.clients.map(async (client) => {
        for (const task of client.tasks) if (!over.aborted) await this.#play(task, client);
        while (!over.aborted) {
          await this.#visit({ kind: 'visit', actions: 1 }, client);
          await this.#watch({ kind: 'watch', reads: 2 }, client);
        }
      }),
    );
  }

  /** These workers lost their leases: each is asked for what it ran before. */
  async revisit(workerIds: ReadonlySet<string>, random: Random): Promise<void> {
    const creations = callsOf(this.#recorder, 'creation').filter(({ worker }) => worker !== null && workerIds.has(worker));
    for (const { sessionId, worker } of creations)
      if (sessionId !== null && worker !== null) await this.#act(sessionId, { random, timeoutMs: revisitMsMax, at: worker });
  }

  /** Reads, when everything is quiet, that each worker knows everything that was acknowledged, and ends the sessions. */
  async close(random: Random): Promise<void> {
    const caller = { random, timeoutMs: quietTimeoutMs };
    for (const jobId of this.#jobs) await this.#readJob(jobId, caller);
    for (const keyId of this.#keys.keys()) await this.#useKey(keyId, caller);
    for (const sessionId of this.#sessions) {
      const state = await this.#readSession(sessionId, caller);
      if (state === 'live') await this.#act(sessionId, caller);
      await this.#end(sessionId, caller);
    }
    await this.#readPlaces(caller);
  }

  /** A session and an action succeed when nothing is disturbed, and some more of what the checks compare. */
  async proveService(random: Random): Promise<void> {
    const caller = { random, timeoutMs: quietTimeoutMs };
    const isDone = (kind: Kind): boolean =>
      this.#recorder.calls.some((call) => call.kind === kind && call.outcome === 'done' && call.sentMs > sinceMs);
    const sinceMs = nowMs();
    // Some machines fail to boot, and the owner may have a session that no client knows of.
    for (let attempt = 0; attempt < attemptsMax && !(isDone('creation') && isDone('action')); attempt += 1)
      await this.#session({ kind: 'session', name: null, actions: 5, isEnded: true }, caller);
    for (const kind of ['creation', 'action', 'ending'] as const)
      if (!isDone(kind)) this.#recorder.issues.push(`when nothing was disturbed any more, no ${kind} was done`);
  }

  /** Whether a job of this schedule still runs. */
  async hasOpenJob(random: Random): Promise<boolean> {
    const caller = { random, timeoutMs: quietTimeoutMs };
    for (const jobId of this.#jobs) if ((await this.#readJob(jobId, caller)) !== 'over') return true;
    return false;
  }

  #play(task: Task, client: Client): Promise<void> {
    switch (task.kind) {
      case 'session':
        return this.#session(task, client);
      case 'visit':
        return this.#visit(task, client);
      case 'watch':
        return this.#watch(task, client);
      case 'job':
        return this.#job(task, client);
      case 'key':
        return this.#makeKey(task, client);
      case 'grant':
        return this.#grant(task, client);
    }
  }

  async #session({ name, actions, isEnded }: TaskOf<'session'>, client: Caller): Promise<void> {
    const call = this.#begin('creation', { name, sessionId: null });
    const answer = await this.#send(createSession, { body: name === null ? {} : { name }, key: this.#key }, client);
    if (answer.outcome === 'done') {
      const { session_id: sessionId, status } = answer.body as { session_id: string; status: string };
      if (status !== 'ready') this.#recorder.issues.push(`${call.id} was answered with a session that is ${status}`);
      this.#sessions.push(sessionId);
      this.#recorder.finish(call, { ...toFields(answer), sessionId });
      for (let action = 0; action < actions; action += 1) await this.#act(sessionId, client);
      if (isEnded) await this.#end(sessionId, client);
    } else this.#finish(call, answer);
    await this.#pause(client);
  }

  async #visit({ actions }: TaskOf<'visit'>, client: Client): Promise<void> {
    for (let action = 0; action < actions; action += 1) {
      const sessionId = this.#anySession(client);
      if (sessionId === null) await this.#pause(client);
      else await this.#act(sessionId, client);
    }
  }

  async #watch({ reads }: TaskOf<'watch'>, client: Client): Promise<void> {
    for (let read = 0; read < reads; read += 1) {
      const sessionId = this.#anySession(client);
      if (sessionId !== null) await this.#readSession(sessionId, client);
      await this.#pause(client);
    }
    await this.#readPlaces(client);
  }

  async #job({ isCancelled }: TaskOf<'job'>, client: Client): Promise<void> {
    const call = this.#begin('submission', { jobId: null });
    const body = { url: `http://site.test/${call.id}`, mode: 'browser', async: true };
    const answer = await this.#send(fetchPage, { body, key: this.#key }, client);
    if (answer.outcome !== 'done') return this.#finish(call, answer);
    const { job_id: jobId } = answer.body as { job_id: string };
    this.#recorder.finish(call, { ...toFields(answer), jobId });
    this.#jobs.push(jobId);
    const startedMs = nowMs();
    if (isCancelled) {
      await this.#pause(client);
      await this.#readJob(jobId, client, cancelJob);
    }
    while (nowMs() - startedMs < jobMsMax && (await this.#readJob(jobId, client)) !== 'over') await this.#pause(client);
  }

  async #makeKey({ isRevoked }: TaskOf<'key'>, client: Client): Promise<void> {
    const call = this.#begin('key creation', { keyId: null });
    const answer = await this.#send(createKey, { body: { owner: this.#schedule.owner } }, client);
    if (answer.outcome !== 'done') return this.#finish(call, answer);
    const { key_id: keyId, key } = answer.body as { key_id: string; key: string };
    this.#recorder.finish(call, { ...toFields(answer), keyId });
    this.#keys.set(keyId, key);
    await this.#useKey(keyId, client);
    if (!isRevoked) return;
    const revocation = this.#begin('key revocation', { keyId });
    this.#finish(revocation, await this.#send(revokeKey, { params: { key_id: keyId } }, client));
    await this.#useKey(keyId, client);
  }

  async #useKey(keyId: string, caller: Caller): Promise<void> {
    const call = this.#begin('key call', { keyId });
    const answer = await this.#send(getCredits, { key: this.#keys.get(keyId) ?? '' }, caller);
    this.#finish(call, answer);
  }

  async #grant({ amount }: TaskOf<'grant'>, caller: Caller): Promise<void> {
    const call = this.#begin('grant', { amount });
    const request = {
      body: { owner: this.#schedule.owner, amount: amount / microPerCredit },
      headers: { 'idempotency-key': call.id },
    };
    let answer = await this.#send(grantCredits, request, caller);
    // Repeated with its key, as the documentation recommends.
    for (let attempt = 0; attempt < 3 && answer.outcome !== 'done'; attempt += 1) {
      await this.#pause(caller);
      answer = await this.#send(grantCredits, request, caller);
    }
    // A refused repetition does not say what became of the first one.
    if (answer.outcome === 'done') this.#finish(call, answer);
  }

  /** Each action is another address, by which its worker reports that it reached a browser. */
  async #act(sessionId: string, caller: Caller): Promise<void> {
    const call = this.#begin('action', { sessionId, tab: null });
    const request = { params: { session_id: sessionId }, body: { url: `http://act.test/?call=${call.id}` }, key: this.#key };
    const answer = await this.#send(navigate, request, caller);
    const tab = answer.outcome === 'done' ? (answer.body as { tab_id: string }).tab_id : null;
    this.#recorder.finish(call, { ...toFields(answer), tab });
    await this.#pause(caller);
  }

  async #end(sessionId: string, caller: Caller): Promise<void> {
    const call = this.#begin('ending', { sessionId });
    this.#finish(call, await this.#send(endSession, { params: { session_id: sessionId }, key: this.#key }, caller));
  }

  async #readSession(sessionId: string, caller: Caller): Promise<SessionRead['state']> {
    const call = this.#begin('session read', { sessionId, state: null, runsOn: null });
    const answer = await this.#send(getSession, { params: { session_id: sessionId }, key: this.#key }, caller);
    const state = answer.code === 'session_not_found' ? 'missing' : answer.outcome === 'done' ? stateOf(answer.body) : null;
    this.#recorder.finish(call, { ...toFields(answer), state });
    return state;
  }

  /** Reads on which workers the operator sees the sessions. */
  async #readPlaces(caller: Caller): Promise<void> {
    const sent = this.#sessions.map((sessionId) => this.#begin('session read', { sessionId, state: null, runsOn: null }));
    const answer = await this.#send(listAllSessions, { query: { owner: this.#schedule.owner, limit: '500' } }, caller);
    if (answer.outcome !== 'done') return;
    const listed = new Map((answer.body as Listed[]).map((session) => [session.session_id, session]));
    for (const call of sent) {
      const session = listed.get(call.sessionId);
      const state = session ? stateOf(session) : 'missing';
      this.#recorder.finish(call, { ...toFields(answer), state, runsOn: session?.worker_id ?? null });
    }
  }

  async #readJob(jobId: string, caller: Caller, endpoint: Endpoint = getJob): Promise<JobRead['state']> {
    const call = this.#begin('job read', { jobId, state: null, result: null });
    const answer = await this.#send(endpoint, { params: { job_id: jobId }, key: this.#key }, caller);
    const job = answer.outcome === 'done' ? (answer.body as JobResponse) : null;
    const state = answer.code === 'job_not_found' ? 'missing' : job && (job.status === 'pending' ? 'pending' : 'over');
    const result = job && state === 'over' ? JSON.stringify([job.status, job.error?.code, job.finished_at, job.result]) : null;
    this.#recorder.finish(call, { ...toFields(answer), state, result });
    return state;
  }

  /** Picks any session, also one that a worker lost: the worker may have been frozen, and not know yet. */
  #anySession({ random }: Caller): string | null {
    if (this.#sessions.length === 0) return null;
    return random.pick(random.chance(0.7) ? this.#sessions.slice(-recentSessions) : this.#sessions);
  }

  #send(endpoint: Endpoint, request: Request<Endpoint>, caller: Caller): Promise<Answer> {
    return this.#client.send(endpoint, request, caller);
  }

  #begin<K extends Kind>(kind: K, fields: Omit<Draft<K>, 'id' | 'owner'>): CallOf<K> {
    this.#calls += 1;
    const named = { ...fields, id: `${this.#schedule.name}-${this.#calls}`, owner: this.#schedule.owner };
    return this.#recorder.begin(kind, named as unknown as Draft<K>);
  }

  #finish(call: Call, answer: Answer): void {
    this.#recorder.finish(call, toFields(answer));
  }

  #pause({ random }: Caller): Promise<void> {
    return sleep(random.integer(pauseMs.min, pauseMs.max));
  }
}

interface Listed {
  session_id: string;
  worker_id: string;
  status: string;
}

const stateOf = (session: unknown): 'live' | 'over' =>
  ['starting', 'ready'].includes((session as { status: string }).status) ? 'live' : 'over';

const toFields = (answer: Answer): Fields => ({
  outcome: answer.outcome,
  code: answer.code,
  worker: answer.outcome === 'unknown' ? null : answer.worker,
});

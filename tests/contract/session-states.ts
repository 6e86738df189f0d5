/** Sessions in the states that tests need. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createSession, endSession, listAudit, navigate, type ErrorCode, ErrorBody } from '@berth/contract';
import type { FakeVm } from '@berth/machines/testing/fake/fake.ts';
import { Client, eventually, type Reply, type TestApp } from '../harness.ts';

/** The fake browser never answers for this host. */
export const hangingUrl = 'http://hang.test/';
/** The maximum number of queued drive calls. */
export const waitingMax = 16;

export async function endedSession(served: TestApp): Promise<string> {
  const { session_id } = await served.create();
  await served.call(endSession, { params: { session_id } });
  return session_id;
}

/** A session that stays starting. `release` ends it and removes the boot delay. */
export async function startingSession(served: TestApp, body: object = {}): Promise<{ sessionId: string; release: () => Promise<void> }> {
  served.runtime.delayBoot(60_000);
  const { session_id: sessionId, status } = await served.create({ ...body }, { query: { wait: 'false' } });
  assert.equal(status, 'starting');
  const release = async (): Promise<void> => {
    await served.call(endSession, { params: { session_id: sessionId } });
    served.runtime.delayBoot(0);
  };
  return { sessionId, release };
}

/**
 * Runs `work` while no machine starts. Not only the next one fails: a call whose browser fails before its job begins
 * tries another.
 */
export async function whileNoMachineStarts<T>({ runtime }: Pick<TestApp, 'runtime'>, work: () => Promise<T>): Promise<T> {
  runtime.failBoots(new Error(noMachine));
  try {
    return await work();
  } finally {
    runtime.failBoots(null);
  }
}

/** Why no machine starts; no caller must see it. */
export const noMachine = 'no memory';

/** The audit entries of a session, oldest first. */
export async function auditTrailOf(served: TestApp, sessionId: string): Promise<[actor: string, action: string, reason: unknown][]> {
  const { body } = await served.call(listAudit, { query: { limit: '500' } });
  const own = body.filter(({ subject }) => subject === sessionId);
  return own.map(({ actor, action, details }): [string, string, unknown] => [actor, action, details['reason']]).toReversed();
}

/** The session's simulated machine. */
export function machineOf(served: TestApp, sessionId: string): FakeVm {
  const id = served.app.sessions.live.get(sessionId)?.machine?.id ?? assert.fail('the session has no machine');
  return served.runtime.machines.get(id) ?? assert.fail('the machine does not exist');
}

/** The number of running and queued drive calls. */
export const drivingOf = (served: TestApp, sessionId: string): number => served.app.sessions.live.get(sessionId)?.driving ?? 0;

/** A page of the fake browser that becomes unresponsive. */
export const muteUrl = 'http://mute.test/';

/** A session whose page hangs. */
export async function muteSession(served: TestApp): Promise<string> {
  const { session_id } = await served.create();
  const { status, text } = await served.call(navigate, { params: { session_id }, body: { url: muteUrl } });
  assert.equal(status, 200, text);
  return session_id;
}

/** Adds a download to the session. Returns its id. */
export function plantDownload(
  served: TestApp,
  sessionId: string,
  {
    data = Buffer.alloc(0),
    name = 'file.bin',
    state = 'completed',
  }: { data?: Buffer; name?: string; state?: 'inProgress' | 'completed' | 'canceled' } = {},
): string {
  const { files, browser } = machineOf(served, sessionId);
  const guid = randomUUID();
  if (state === 'completed') files.downloads.set(guid, data);
  browser.download({ guid, url: `http://site.test/${guid}`, suggestedFilename: name, bytes: data.length, state });
  return guid;
}

/** Starts navigations that hang. Resolves when all of them are running or queued. */
export async function hang(served: TestApp, sessionId: string, count = 1): Promise<Promise<Reply>[]> {
  const client = new Client(served.url, served.key);
  const before = drivingOf(served, sessionId);
  const calls = Array.from({ length: count }, () =>
    client.call(navigate, { params: { session_id: sessionId }, body: { url: hangingUrl, timeout_ms: 120_000 } }),
  );
  await eventually('the navigations are running', () => drivingOf(served, sessionId) === before + count);
  return calls;
}

/** A session whose queue of drive calls is full. `release` ends it. */
export async function jammedSession(served: TestApp): Promise<{ sessionId: string; release: () => Promise<void> }> {
  const { session_id: sessionId } = await served.create();
  const calls = await hang(served, sessionId, waitingMax + 1);
  const release = async (): Promise<void> => {
    await served.call(endSession, { params: { session_id: sessionId } });
    await Promise.all(calls);
  };
  return { sessionId, release };
}

/** Queues a drive call behind a hanging one, crashes the browser and returns the call's reply. */
export async function callWhileBrowserDies(served: TestApp, call: (sessionId: string) => Promise<Reply>): Promise<Reply> {
  const { session_id: sessionId } = await served.create();
  const [hanging] = await hang(served, sessionId);
  const waiting = call(sessionId);
  await eventually('the call is queued', () => drivingOf(served, sessionId) === 2);
  machineOf(served, sessionId).crash();
  const [reply] = await Promise.all([waiting, hanging]);
  return reply;
}

/** Expects this error. Returns its details. */
export function assertError(reply: Reply, status: number, code: ErrorCode): Record<string, unknown> {
  assert.deepEqual([reply.status, (reply.body as { code?: string }).code], [status, code], reply.text);
  return ErrorBody.parse(reply.body).error.details;
}

/** The number of machines and sessions known to the host and the worker; all zero when nothing is left. */
export async function machinesLeft({ app, runtime }: TestApp): Promise<{ onHost: number; berths: number; live: number }> {
  // The end of a session, also one of an earlier test, is answered before its machine is gone.
  await Promise.all([...app.sessions.live.values()].map(({ disposed }) => disposed));
  await Promise.all([...app.fleet.slots.values()].map(async ({ releasing }) => releasing));
  const vms = await runtime.list();
  return { onHost: vms.length, berths: app.fleet.slots.size, live: app.sessions.live.size };
}

export const nothingLeft = { onHost: 0, berths: 0, live: 0 };

/** Creates sessions until one is refused with this code. */
export async function createUntil(served: TestApp, key: string, code: ErrorCode, max: number): Promise<Reply> {
  for (let tries = 0; tries < max; tries += 1) {
    const reply = await served.call(createSession, { key, body: {} });
    if (reply.status !== 201) {
      assert.equal((reply.body as unknown as { code: string }).code, code, reply.text);
      return reply;
    }
    await served.call(endSession, { key, params: { session_id: reply.body.session_id } });
  }
  return assert.fail(`${max} creates all succeeded`);
}

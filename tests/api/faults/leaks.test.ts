/** Two hundred sessions start and end without leaks. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connectSession, endSession, navigate } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';
import { machinesLeft, nothingLeft } from '../../contract/session-states.ts';
import { ViewSocket, cookieOf, open, tokenFor } from '../../prepare/view-links.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

async function liveOnce(n: number): Promise<void> {
  const { session_id } = await served.create({ name: `n${n}` });
  const params = { session_id };
  if (n % 2 === 0) await served.call(navigate, { params, body: { url: `http://site.test/${n}` } });
  if (n % 4 === 1) await watchOnce(session_id, n);
  if (n % 4 === 0) {
    const { cdp_url } = (await served.call(connectSession, { params })).body;
    const { send, socket, closed } = await openSocket(cdp_url);
    await send('Target.getTargets');
    // Every other client is still connected when its session ends.
    if (n % 8 === 0) {
      socket.close();
      await closed;
    }
  }
  await served.call(endSession, { params });
}

/** Opens a link and watches. Every other viewer is still connected when the session ends. */
async function watchOnce(sessionId: string, n: number): Promise<void> {
  const address = `${served.url}/v1/session/${sessionId}/live-view`;
  const token = await tokenFor(served, sessionId);
  const cookie = cookieOf(await open(`${address}?token=${token}`));
  const viewer = await ViewSocket.open(`${address.replace('http', 'ws')}/socket`, { cookie, origin: served.url });
  if (n % 8 !== 1) return;
  viewer.socket.close();
  await viewer.closed;
}

async function liveAndEnd(from: number, count: number): Promise<void> {
  const waiting = Array.from({ length: count }, (_, n) => from + n);
  const lane = async (): Promise<void> => {
    for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) await liveOnce(n);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));
}

/** Sockets and timers of this process by kind, including the test's own connections, whose number is constant. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

describe('two hundred sessions', () => {
  it('two hundred sessions leave no machine, timer, socket or row', async () => {
    await liveAndEnd(0, 40);
    const before = resources();
    await liveAndEnd(1000, 200);
    await eventually('timers and sockets are as few as before', () =>
      Object.entries(resources()).every(([kind, count]) => count <= (before[kind] ?? 0) + 4),
    ).catch((error: unknown) => assert.fail(`${String(error)}: before ${JSON.stringify(before)}, after ${JSON.stringify(resources())}`));
    const { booted, destroyed } = served.runtime.counts;
    assert.equal(booted, destroyed);
    const rows = await served.app.fleet.deps.store.tables<{ machines: { vm_id: string } }>().selectFrom('machines').selectAll().execute();
    assert.deepEqual(rows, []);
  });
});

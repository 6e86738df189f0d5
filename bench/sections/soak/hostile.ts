/**
 * One hostile owner. A process of its own with a low priority, because the
 * computers of real attackers are not the service's.
 *
 *     node hostile.ts URL KEY PORT KIND
 */
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { serveHostilePages } from './hostile-pages.ts';
import { type Owner, authorizationOf, call, createSession } from './owner.ts';

const nice = 15;

type Attack = (owner: Owner, site: string) => Promise<unknown>;

const repeatedly = (times: number, work: () => Promise<unknown>): Promise<unknown> =>
  Promise.all(
    Array.from({ length: times }, async () => {
      // A request that is refused at once is sent again soon: an attacker does not wait.
      for (;;) await work().catch(() => sleep(50));
    }),
  );

const fetches =
  (path: string, times: number, options: object = {}): Attack =>
  (owner, site) =>
    repeatedly(times, () => call(owner, 'POST', '/v1/fetch', { url: site + path, mode: 'http', formats: ['markdown'], ...options }));

const opens =
  (path: string, sessions = 1): Attack =>
  (owner, site) =>
    repeatedly(sessions, async () => {
      const { session_id } = await createSession(owner);
      await call(owner, 'POST', `/v1/session/${session_id}/navigate`, { url: site + path, timeout_ms: 5000 }).catch(() => undefined);
      for (;;) {
        await sleep(2000);
        await call(owner, 'GET', `/v1/session/${session_id}/tabs`);
      }
    });

async function socketOf(owner: Owner, cdpUrl: string): Promise<WebSocket> {
  const socket = new WebSocket(cdpUrl, { headers: authorizationOf(owner), perMessageDeflate: false });
  socket.on('error', () => undefined);
  await once(socket, 'open');
  return socket;
}

/** Commands as fast as the socket takes them; no reply is waited for. */
const floods: Attack = (owner) =>
  repeatedly(2, async () => {
    const socket = await socketOf(owner, (await createSession(owner)).cdp_url);
    for (let id = 1; socket.readyState === WebSocket.OPEN; id += 1) {
      socket.send(JSON.stringify({ id, method: 'Target.getTargets', params: {} }));
      if (socket.bufferedAmount > 1e6 || id % 100 === 0) await sleep(socket.bufferedAmount > 1e6 ? 5 : 0);
    }
  });

/** Messages that never end. */
const unfinished: Attack = async (owner) => {
  const { cdp_url } = await createSession(owner);
  const part = Buffer.alloc(1e6, 32);
  return repeatedly(10, async () => {
    const socket = await socketOf(owner, cdp_url);
    for (let sent = 0; sent < 240 && socket.readyState === WebSocket.OPEN; sent += 1) {
      socket.send(part, { fin: false });
      while (socket.bufferedAmount > 4e6 && socket.readyState === WebSocket.OPEN) await sleep(5);
    }
    await Promise.race([once(socket, 'close'), sleep(10_000)]);
    socket.terminate();
  });
};

/** Scripts of 50 MB, one after another. */
const largeMessages: Attack = (owner) =>
  repeatedly(2, async () => {
    const socket = await socketOf(owner, (await createSession(owner)).cdp_url);
    const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: ' '.repeat(50e6) } });
    while (socket.readyState === WebSocket.OPEN) {
      socket.send(message);
      await Promise.race([once(socket, 'message'), once(socket, 'close')]);
    }
  });

const badHeaders = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`bad name ${i}`, 'x']));

/** Viewers that never read. */
const stalledViewers: Attack = async (owner, site) => {
  const { session_id } = await createSession(owner);
  const path = `/v1/session/${session_id}`;
  await call(owner, 'POST', `${path}/navigate`, { url: `${site}/moving` });
  return repeatedly(5, async () => {
    const { token } = (await call(owner, 'POST', `${path}/view-token`, { scope: 'view' })) as { token: string };
    const socket = new WebSocket(`${owner.url.replace(/^http/, 'ws')}${path}/live-view/socket?token=${token}`);
    socket.on('error', () => undefined);
    await once(socket, 'open');
    socket.pause();
    await sleep(20_000);
    socket.terminate();
  });
};

export const attacks: Record<string, Attack> = {
  'robots.txt of 14 000 agents': fetches('/page', 4, { respect_robots: true }),
  'a head of 7 MB': fetches('/titles', 4),
  'conversions of deep pages': fetches('/deep', 40),
  '60 000 bad header names': (owner, site) => repeatedly(4, () => call(owner, 'POST', '/v1/fetch', { url: site, headers: badHeaders })),
  'two flooding CDP clients': floods,
  'ten unfinished CDP messages': unfinished,
  'CDP messages of 50 MB': largeMessages,
  'viewers that never read': stalledViewers,
  'addresses of 2 MB': opens('/addresses'),
  'names without an answer': opens('/names'),
  'sixty busy workers': opens('/workers'),
  'all memory of a page': opens('/memory'),
  'endless downloads': opens('/downloads'),
  'titles and console lines that are no text': opens('/text'),
};

/** Lowers the priority of this process and its session: where tasks are grouped by session, a nice value only counts within one. */
function lowerPriority(): void {
  setPriority(nice);
  if (existsSync('/proc/self/autogroup')) writeFileSync('/proc/self/autogroup', String(nice));
}

if (import.meta.main) {
  const [url = '', key = '', port = '', kind = ''] = process.argv.slice(2);
  lowerPriority();
  await serveHostilePages(Number(port));
  process.on('unhandledRejection', () => undefined);
  await attacks[kind]?.({ url, key }, `http://127.0.0.1:${port}`);
}

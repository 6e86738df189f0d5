/**
 * Processes of PostgreSQL and of browsers are killed at random while clients work. What was acknowledged is there
 * afterwards, once, and nothing is left behind. BERTH_TEST_SEED repeats a run, BERTH_TEST_ROUNDS makes it longer.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, it } from 'node:test';
import {
  createKey,
  createSession,
  endSession,
  getCredits,
  getSession,
  grantCredits,
  health,
  listCreditEntries,
  listSessions,
  navigate,
} from '@berth/contract';
import { seeded } from '@berth/lib/testing/seeded.ts';
import { Service, eventually, stopAll } from '../service.ts';
import { startSite, type Site } from '../site.ts';

const rounds = Number(process.env['BERTH_TEST_ROUNDS'] ?? 2);
const seed = Number(process.env['BERTH_TEST_SEED'] ?? 1);
const clients = 3;

/** Why a session may be over that its client has not ended. */
const lossReasons = new Set(['requested', 'browser_crashed', 'browser_unresponsive', 'start_failed', 'worker_lost']);

interface History {
  granted: { acknowledged: number; open: number };
  /** Acknowledged with 201; whether its end was acknowledged. */
  sessions: Map<string, { isEnded: boolean }>;
  /** Status and code of each failed call, with how often. */
  failures: Map<string, number>;
}

const childrenOf = (pid: number): number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
};
const descendantsOf = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
const nameOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
};

describe('random kills of the database and of browsers under load', { timeout: 120_000 + rounds * 60_000 }, () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-kills-'));
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const keys = { saver: '', browser: '' };
  const history: History = { granted: { acknowledged: 0, open: 0 }, sessions: new Map(), failures: new Map() };
  let service: Service;
  let site: Site;

  before(async () => {
    site = await startSite();
    service = await Service.start({ dataDir, environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '1' } });
    for (const owner of ['saver', 'browser'] as const)
      keys[owner] = (await service.client.call(createKey, { body: { owner } })).body.key ?? '';
  });
  after(async () => {
    await stopAll();
    await site.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const note = (status: number, code: string): void => {
    const name = `${status} ${code}`;
    history.failures.set(name, (history.failures.get(name) ?? 0) + 1);
  };
  const codeOf = (body: unknown): string => (body as { code?: string }).code ?? '';

  async function grant(): Promise<void> {
    const { status, body } = await service.client.call(grantCredits, { body: { owner: 'saver', amount: 1 } });
    if (status === 200) history.granted.acknowledged += 1;
    else {
      history.granted.open += 1;
      // Refusals come at once.
      await sleep(20);
      note(status, codeOf(body));
    }
  }

  async function browse(): Promise<void> {
    const { client } = service;
    const key = keys.browser;
    const created = await client.call(createSession, { key, body: {} });
    if (created.status !== 201) {
      note(created.status, codeOf(created.body));
      await sleep(20);
      return;
    }
    const { session_id } = created.body;
    const session = { isEnded: false };
    history.sessions.set(session_id, session);
    const visited = await client.call(navigate, { key, params: { session_id }, body: { url: `${site.url}/second` } });
    if (visited.status !== 200) note(visited.status, codeOf(visited.body));
    const ended = await client.call(endSession, { key, params: { session_id } });
    if (ended.status === 204) session.isEnded = true;
    else note(ended.status, codeOf(ended.body));
  }

  /** Ids of the sessions whose start is in the ledger. */
  async function chargedSessions(): Promise<string[]> {
    const charged: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const query = { limit: '100', ...(cursor === undefined ? {} : { cursor }) };
      const { body, headers } = await service.client.call(listCreditEntries, { key: keys.browser, query });
      for (const { type, session_id } of body) if (type === 'session' && session_id !== null) charged.push(session_id);
      cursor = headers.get('x-next-cursor');
    }
    return charged;
  }

  /** Kills one process of the database, at times the one that all others depend on, or one of a browser. */
  function kill(): string {
    const [postmaster = 0] = readFileSync(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8').split('\n').map(Number);
    const browsers = descendantsOf(service.pid).filter((pid) => /^(chrom|headless)/.test(nameOf(pid)));
    const victims = random() < 0.5 ? [random() < 0.5 ? postmaster : (pick(childrenOf(postmaster)) ?? postmaster)] : browsers;
    const pid = pick(victims);
    const name = pid === undefined ? '' : nameOf(pid);
    if (pid === undefined || !/^(postgres|chrom|headless)/.test(name)) return 'nothing';
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      return 'nothing';
    }
    return name;
  }

  it(`random kills of the database and of browsers under load lose nothing that was acknowledged in ${rounds} rounds, with seed ${seed}`, async (t) => {
    const killed: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const state = { isOver: false };
      const work = Array.from({ length: clients }, async (_, client) => {
        while (!state.isOver) await (client === 0 ? browse() : grant());
      });
      for (let kills = 0; kills < 3; kills += 1) {
        await sleep(300 + random() * 1200);
        killed.push(kill());
      }
      await sleep(500);
      state.isOver = true;
      await Promise.all(work);
      await eventually('the service is well', async () => (await service.client.call(health, { key: null })).status === 200, 60_000);
    }
    t.diagnostic(`killed: ${killed.join(', ')}; failures: ${JSON.stringify([...history.failures])}`);
    assert.ok(killed.some((name) => name.startsWith('postgres')) && history.granted.acknowledged > rounds);

    const unexpected = [...history.failures.keys()].filter(
      (name) => !/^(409 session_(ended|not_ready)|429 rate_limited|50[234] \w+|500 internal_error)$/.test(name),
    );
    assert.deepEqual(unexpected, []);
    const { acknowledged, open } = history.granted;
    const { balance } = (await service.client.call(getCredits, { key: keys.saver })).body;
    assert.ok(balance >= acknowledged && balance <= acknowledged + open, `${balance}: ${acknowledged} and ${open} open`);
    await eventually('no session is left', async () => {
      const { body } = await service.client.call(listSessions, { key: keys.browser, query: { status: 'ready' } });
      for (const { session_id } of body) await service.client.call(endSession, { key: keys.browser, params: { session_id } });
      return body.length === 0;
    });
    for (const [session_id, { isEnded }] of history.sessions) {
      const { status, ended_reason: reason } = (await service.client.call(getSession, { key: keys.browser, params: { session_id } })).body;
      assert.ok(['ending', 'ended', 'failed'].includes(status), `${session_id}: ${status}`);
      assert.ok(lossReasons.has(reason ?? ''), `${session_id}: ${reason}, ${isEnded}`);
    }
    const charged = await chargedSessions();
    assert.equal(new Set(charged).size, charged.length, 'a session is charged once');
    assert.deepEqual(
      [...history.sessions.keys()].filter((id) => !charged.includes(id)),
      [],
      'a session that was acknowledged is charged',
    );
    await eventually(
      'no browser is left but the warm one',
      () => descendantsOf(service.pid).filter((pid) => nameOf(pid) === 'bwrap').length <= 4 || undefined,
    );
  });
});

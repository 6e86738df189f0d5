/** Sessions in virtual machines, from the first create to the clean-up after a crash. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createSession,
  createVncToken,
  endSession,
  getPool,
  getSession,
  health,
  listAllSessions,
  navigate,
  resizePool,
  runActions,
  screenshot,
  type SessionResponse,
} from '@berth/contract';
import { chromium } from 'playwright-core';
import { readPng } from '@berth/devtools/testing/images.ts';
import { Service, eventually, stopAll } from '../e2e/service.ts';
import { page, startSite, type Site } from '../e2e/site.ts';
import { ViewerBrowser, isBlank } from '../e2e/watch/viewing.ts';

/** Fewer sessions by default, for daily runs. */
const sessionsWanted = Number(process.env['BERTH_TEST_SESSIONS'] ?? 3);
/** A page takes seconds under emulation, and longer in parallel. */
const pageMs = 120_000;

describe('sessions in virtual machines', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-microvm-'));
  let site: Site;
  let service: Service;
  const sessions: SessionResponse[] = [];
  before(async () => {
    site = await startSite({ pages: { '/blue': page('Blue', '<style>body { background: #0000ff }</style>') } });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host }, dataDir });
  });
  after(async () => {
    await stopAll();
    await site?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const params = ({ session_id }: SessionResponse) => ({ session_id });

  it('sessions in virtual machines are created sequentially, each in its own machine', async () => {
    for (let n = 0; n < sessionsWanted; n += 1) {
      const kind = n === 0 ? 'full_browser' : 'headless';
      const reply = await service.client.call(createSession, { body: { kind } });
      assert.equal(reply.status, 201, reply.text);
      assert.equal(reply.body.isolation, 'microvm');
      assert.match(reply.body.runtime, /^qemu-(kvm|tcg)$/);
      sessions.push(reply.body);
    }
    const all = (await service.client.call(listAllSessions, { query: { status: 'ready' } })).body;
    assert.equal(new Set(all.map(({ vm_id: id }) => id)).size, sessionsWanted);
    assert.equal(new Set(all.map(({ pid }) => pid)).size, sessionsWanted);
    const report = (await service.client.call(health)).body;
    assert.match(report.checks['machines']?.note ?? '', /qemu-(kvm|tcg) runtime \(microvm\)/);
  });

  it('sessions in virtual machines load different pages', async () => {
    for (const [n, session] of sessions.entries()) {
      const reply = await service.client.call(navigate, {
        params: params(session),
        body: { url: `${site.url}/second?${n}`, timeout_ms: pageMs },
      });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.body.status_code, 200);
      assert.equal(reply.body.title, 'Second');
    }
    for (const [n, session] of sessions.entries()) {
      const { body } = await service.client.call(getSession, { params: params(session) });
      assert.equal(body.current_url, `${site.url}/second?${n}`);
    }
  });

  it('sessions in virtual machines are driven by actions and by Playwright, with screenshots and live view', async () => {
    const session = sessions.at(-1);
    assert.ok(session);
    const form = await service.client.call(runActions, {
      params: params(session),
      body: {
        timeout_ms: pageMs,
        actions: [
          { type: 'navigate', url: `${site.url}/form` },
          { type: 'fill', selectors: ['#name'], value: 'Ada' },
          { type: 'click', selectors: ['#greet'] },
        ],
      },
    });
    assert.ok(form.status === 200 && form.body.results.every(({ status }) => status === 'ok'), form.text);
    const browser = await chromium.connectOverCDP(session.cdp_url, {
      headers: { authorization: `Bearer ${service.key}` },
      timeout: pageMs,
    });
    const tab = browser.contexts()[0]?.pages()[0];
    assert.equal(await tab?.title(), 'Hello Ada');
    await tab?.goto(`${site.url}/blue`, { timeout: pageMs });
    await browser.close();
    const shot = await service.client.call(screenshot, { params: params(session), body: { format: 'png', timeout_ms: pageMs } });
    assert.equal(shot.status, 200, shot.text.slice(0, 500));
    assert.deepEqual(readPng(Buffer.from(shot.body.data_base64 ?? '', 'base64')).at(600, 400), [0, 0, 255, 255]);
  });

  it('sessions in virtual machines show the window of a headful browser by VNC', async () => {
    const [windowed] = sessions;
    assert.ok(windowed);
    const { url } = (await service.client.call(createVncToken, { params: params(windowed), body: {} })).body;
    const viewers = await ViewerBrowser.launch();
    try {
      const viewer = await viewers.newViewer({ origin: service.url });
      await viewer.open(url ?? '');
      await eventually('the window is rendered', async () => !(await isBlank(viewer.page.locator('canvas').first())), pageMs);
    } finally {
      await viewers.close();
    }
  });

  it('sessions in virtual machines are listed by the pool, which warms and removes machines', async () => {
    const pool = (await service.client.call(resizePool, { body: { target: 1 } })).body;
    assert.equal(pool.target, 1);
    const warm = await eventually(
      'a machine is warm',
      async () => (await service.client.call(getPool)).body.vms.find(({ state }) => state === 'ready'),
      pageMs,
    );
    assert.ok(warm.idle_seconds !== null);
    const { body } = await service.client.call(createSession, { body: {} });
    assert.equal(body.warm, true);
    assert.equal((await service.client.call(endSession, { params: params(body) })).status, 204);
    await service.client.call(resizePool, { body: { target: 0 } });
    await eventually('the pool is empty', async () => (await service.client.call(getPool)).body.counts.ready === 0, pageMs);
  });

  it('sessions in virtual machines cannot reach the host or each other', async () => {
    const [session] = sessions;
    assert.ok(session);
    const { port } = new URL(service.url);
    for (const host of ['127.0.0.1', 'localhost', '10.0.2.2', '10.255.255.1', '169.254.169.254', '[::1]']) {
      const url = `http://${host}:${port}/livez`;
      const { details }: { details: Record<string, unknown> } = await service.client.refuse(navigate, 'navigation_failed', {
        params: params(session),
        body: { url, timeout_ms: pageMs },
      });
      assert.equal(details['reason'], 'blocked_by_policy', url);
    }
  });

  it('sessions in virtual machines end without leftovers when the worker is killed', async () => {
    const pids = (await service.client.call(listAllSessions, { query: { status: 'ready' } })).body.map(({ pid }) => pid ?? 0);
    assert.equal(pids.length, sessionsWanted);
    await service.client.call(resizePool, { body: { target: 1 } });
    await eventually('a machine is warm', async () => (await service.client.call(getPool)).body.counts.ready === 1, pageMs);
    // A kind that the pool does not keep warm.
    const starting = (await service.client.call(createSession, { body: { kind: 'full_browser' }, query: { wait: 'false' } })).body;
    const folders = (): string[] => readdirSync(join(dataDir, 'machines'));
    process.kill(service.pid, 'SIGKILL');
    const left = folders();
    await eventually('no machine is running', () => machinesOf(dataDir).length === 0, 10_000);
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host }, dataDir });
    for (const session of [...sessions, starting]) {
      const seen = await eventually('the session is reported as ended', async () => {
        const { body } = await service.client.call(getSession, { params: params(session) });
        return ['ended', 'failed'].includes(body.status) && body;
      });
      assert.equal(seen.ended_reason, 'worker_lost');
    }
    // The pool's size is kept, so that the next machine may have a folder by now.
    await eventually('their folders are removed', () => !folders().some((folder) => left.includes(folder)), pageMs);
    const { body } = await service.client.call(createSession, { body: {} });
    assert.equal(body.status, 'ready');
    assert.equal(await service.stop(), 0);
    assert.deepEqual(folders(), []);
    assert.deepEqual(machinesOf(dataDir), []);
  });
});

/** Processes of a machine: those with its mark and its folder's name. */
function machinesOf(dataDir: string): number[] {
  const ids = new Set(readdirSync(join(dataDir, 'machines')));
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => ids.has(/(?:^|\0)BERTH_VM=([^\0]+)/.exec(environmentOf(pid))?.[1] ?? ''));
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { ClientHttp2Stream } from 'node:http2';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { BrowserExitResult, GuestHello, guestProtocol, guestRequests, GuestStats, IdentityResult } from '@berth/contract/guest';
import { assertPrompt } from '../../../../tests/yardstick.ts';
import { CdpClient } from '../browser/cdp-client.ts';
import { AgentUnderTest, someIdentity, statusOf, until } from '../../testing/agent.ts';

describe('the agent', () => {
  let agent: AgentUnderTest;
  beforeEach(async () => {
    agent = new AgentUnderTest();
    await agent.connect();
  });
  afterEach(async () => {
    await agent.close();
    assert.deepEqual(agent.errors, []);
  });

  const start = async (kind: 'headless' | 'full_browser' = 'headless'): Promise<void> =>
    assert.equal((await agent.request(guestRequests.start, { kind })).status, 200);
  const openPipe = async (): Promise<ClientHttp2Stream> => {
    const stream = await agent.open(guestRequests.devtools);
    if (typeof stream !== 'object') assert.fail(`status ${stream}`);
    return stream;
  };
  const browserPid = (): number => agent.browserProcesses()[0] ?? 0;

  it('the agent says which protocol it speaks, and which browser it has once there is one', async () => {
    assert.deepEqual(GuestHello.parse((await agent.request(guestRequests.hello)).json), { protocol: guestProtocol, browser: '' });
    await start();
    assert.match(GuestHello.parse((await agent.request(guestRequests.hello)).json).browser, /^Chrome\/\d+/);
    (await openPipe()).end();
  });

  it('the agent refuses unknown requests, and bodies that are not what was asked for', async () => {
    const { start: ask, identify } = guestRequests;
    const refused: [{ method: string; path: string }, object | string | undefined, number][] = [
      [{ method: 'GET', path: '/nothing' }, undefined, 404],
      [{ method: 'GET', path: '/browser' }, undefined, 404],
      [{ method: 'DELETE', path: '/hello' }, undefined, 404],
      [{ method: 'GET', path: '/%' }, undefined, 404],
      [ask, undefined, 400],
      [ask, '{', 400],
      [ask, { kind: 'other' }, 400],
      [ask, ' '.repeat(20_000), 413],
      [identify, { ...someIdentity(), hostname: '../etc' }, 400],
      [identify, { ...someIdentity(), entropy: '' }, 400],
      [guestRequests.exit, undefined, 409],
      [guestRequests.devtools, undefined, 409],
      [guestRequests.vnc, undefined, 409],
      [guestRequests.display, { width: 800, height: 600 }, 409],
      [guestRequests.display, { width: 0, height: 600 }, 400],
    ];
    for (const [request, body, status] of refused) {
      const answer = await agent.request(request, body);
      assert.equal(answer.status, status, `${request.method} ${request.path}`);
      assert.equal(typeof answer.json['error'], 'string');
    }
  });

  it('the agent gives the DevTools of its browser to one host at a time, and ends the browser with them', async () => {
    await start();
    assert.equal((await agent.request(guestRequests.start, { kind: 'headless' })).status, 409);
    const pipe = await openPipe();
    assert.equal(await agent.open(guestRequests.devtools), 409);
    const cdp = new CdpClient(pipe);
    const { targetId } = await cdp.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await cdp.call('Target.attachToTarget', { targetId, flatten: true });
    const long = await cdp.call('Runtime.evaluate', { expression: `'x'.repeat(2e6)`, returnByValue: true }, String(sessionId));
    assert.equal((long['result'] as { value: string }).value.length, 2e6);
    const exit = agent.request(guestRequests.exit);
    await cdp.end();
    // The browser reports the detached page while it exits: unread, that would keep the stream from closing.
    pipe.resume().end();
    await once(pipe, 'close');
    const exited = BrowserExitResult.parse((await exit).json);
    assert.deepEqual([exited.code, exited.signal, exited.out_of_memory], [0, null, false]);
    assert.equal(await agent.open(guestRequests.devtools), 409);
    assert.equal((await agent.request(guestRequests.start, { kind: 'headless' })).status, 409);
  });

  it('the agent reports within seconds that the browser was killed', async () => {
    await start();
    const pipe = await openPipe();
    pipe.resume();
    const [exit, closed] = [agent.request(guestRequests.exit), once(pipe, 'close')];
    const killedAt = performance.now();
    process.kill(browserPid(), 'SIGKILL');
    const [answer] = await Promise.all([exit, closed]);
    assertPrompt(killedAt, 20_000);
    const exited = BrowserExitResult.parse(answer.json);
    assert.deepEqual([exited.code, exited.signal, exited.out_of_memory], [null, 'SIGKILL', false]);
  });

  it('the agent keeps an unused browser when its host disconnects, and gives it to the next host', async () => {
    await start();
    const pid = browserPid();
    await agent.connect();
    assert.deepEqual(IdentityResult.parse((await askIdentity(agent)).json), {
      time_ms: someIdentity().time_ms,
      machine_id: someIdentity().machine_id,
      boot_id: someIdentity().boot_id,
    });
    const pipe = await openPipe();
    assert.match(String((await new CdpClient(pipe).call('Browser.getVersion'))['product']), /^Chrome\//);
    assert.equal(browserPid(), pid);
    pipe.end();
  });

  it('the agent ends the browser when a host disconnects with its DevTools', async () => {
    await start();
    await openPipe();
    await agent.connect();
    assert.equal(BrowserExitResult.parse((await agent.request(guestRequests.exit)).json).code, 0);
  });

  it('the agent reports why a browser could not be started', async () => {
    agent.paths.chromiumPath = '/bin/ls';
    const { status, json } = await agent.request(guestRequests.start, { kind: 'headless' });
    assert.equal(status, 500);
    assert.match(String(json['error']), /ended at once.*unrecognized option/s);
    const exited = BrowserExitResult.parse((await agent.request(guestRequests.exit)).json);
    assert.equal(exited.code, 2);
    assert.match(exited.log, /unrecognized option/);
  });

  it('the agent starts the browser as an unprivileged user with its sandbox', async () => {
    await start();
    const pid = browserPid();
    assert.deepEqual(statusOf(pid, 'Uid').split('\t'), Array(4).fill(String(agent.paths.uid)));
    assert.equal(statusOf(pid, 'Groups').trim(), '');
    for (const field of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.match(statusOf(pid, field), /^0+$/, field);
    assert.equal(statusOf(pid, 'NoNewPrivs'), '1');
    await until(() => agent.browserProcesses().some((each) => statusOf(each, 'Seccomp') === '2'), 15_000);
    (await openPipe()).end();
  });

  it('the agent reports the usage of its machine', async () => {
    const stats = GuestStats.parse((await agent.request(guestRequests.stats)).json);
    assert.ok(stats.processes > 1 && stats.cpu_seconds > 0);
    assert.ok(stats.memory_available_bytes > 0 && stats.memory_available_bytes < stats.memory_total_bytes);
  });

  it('the agent puts files where the browser may read them and not change them', async () => {
    const name = 'Ä b?.txt';
    const request = { method: 'PUT', path: `/uploads/file_1/${encodeURIComponent(name)}` };
    const { status, json } = await agent.request(request, Buffer.from('hello'));
    assert.equal(status, 200);
    assert.equal(json['path'], join(agent.paths.uploads, 'file_1', name));
    const asBrowser = (command: string): string =>
      execFileSync(
        'setpriv',
        ['--reuid', String(agent.paths.uid), '--clear-groups', '/bin/sh', '-c', command, 'test', String(json['path'])],
        {
          encoding: 'utf8',
        },
      );
    assert.equal(asBrowser('cat "$1"'), 'hello');
    assert.throws(() => asBrowser('exec 2>/dev/null; echo more >>"$1"'));
    assert.equal((await agent.request(request, Buffer.from('again'))).status, 409);
    for (const path of ['/uploads/file_2/..', '/uploads/file_2/%2fetc', '/uploads/../x', '/uploads/file_2', '/uploads/..%2f/x'])
      assert.equal((await agent.request({ method: 'PUT', path }, Buffer.from('x'))).status, 404, path);
    assert.deepEqual(readdirSync(agent.paths.uploads), ['file_1']);
  });

  it('the agent takes no more files than a session may upload, and keeps nothing of one that is too large', async () => {
    const { status } = await agent.request({ method: 'PUT', path: '/uploads/file_1/large' }, Buffer.alloc(101 * 1024 ** 2));
    assert.equal(status, 413);
    assert.equal(existsSync(join(agent.paths.uploads, 'file_1', 'large')), false);
  });

  it('the agent hands out downloads whole, with their length, until they are removed', async () => {
    const path = join(agent.paths.downloads, 'd_1');
    const bytes = Buffer.alloc(3_000_000, 'berth');
    writeFileSync(path, bytes);
    chownSync(path, agent.paths.uid, agent.paths.uid);
    const get = { method: 'GET', path: '/downloads/d_1' };
    const answer = await agent.request(get);
    assert.equal(answer.headers['content-length'], String(bytes.length));
    assert.ok(answer.bytes.equals(bytes));
    rmSync(path);
    assert.equal((await agent.request(get)).status, 404);
    symlinkSync('/etc/passwd', path);
    assert.equal((await agent.request(get)).status, 404);
  });

  it('the agent shows its display to several at once, and sizes it', async () => {
    await start('full_browser');
    const pipe = await openPipe();
    const viewers = await Promise.all([agent.open(guestRequests.vnc), agent.open(guestRequests.vnc)]);
    for (const viewer of viewers) {
      assert.ok(typeof viewer === 'object');
      const [greeting] = (await once(viewer, 'data')) as [Buffer];
      assert.equal(greeting.toString('latin1'), 'RFB 003.008\n');
    }
    assert.equal((await agent.request(guestRequests.display, { width: 800, height: 600 })).status, 204);
    const closed = viewers.flatMap((viewer) => (typeof viewer === 'object' ? [once(viewer.resume(), 'close')] : []));
    pipe.end();
    await Promise.all(closed);
    assert.equal((await agent.request(guestRequests.vnc)).status, 409);
  });

  it('the agent answers many requests at once while one waits for the browser to exit', async () => {
    await start();
    const exit = agent.request(guestRequests.exit);
    const answers = await Promise.all(Array.from({ length: 50 }, () => agent.request(guestRequests.stats)));
    assert.ok(answers.every(({ status }) => status === 200));
    (await openPipe()).end();
    await exit;
    await until(() => browserPid() === 0, 15_000);
  });
});

/** The egress port has a host as well, as it has in a machine. */
async function askIdentity(agent: AgentUnderTest): ReturnType<AgentUnderTest['request']> {
  await agent.connectGate(() => {});
  return agent.request(guestRequests.identify, someIdentity());
}

/** `berth tunnel` as a process: a development server of the caller's own computer in the browser of one session. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { createKey, createSession, endSession, getSession, listAudit, navigate } from '@berth/contract';
import { chromium, type Browser, type Page } from 'playwright-core';
import { WebSocketServer, type WebSocket } from 'ws';
import { environmentIn, program } from './forward.ts';
import { Client } from '../../client.ts';
import { eventually, Service, stopAll } from '../service.ts';

const bytes = 50 * 1024 * 1024;
const sentBytes = 8 * 1024 * 1024;
const large = randomBytes(bytes);
const digestOf = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

/** A development server: pages, a socket that reloads them, and large files. */
class DevServer {
  readonly #server: Server;
  readonly sockets: WebSocketServer;
  /** What was requested of it, with the Host header. */
  readonly hits: string[] = [];
  received = '';

  private constructor() {
    this.#server = createServer((request, response) => {
      this.hits.push(`${request.headers.host} ${request.url}`);
      if (request.url === '/large') response.end(large);
      else if (request.method === 'POST') {
        const hash = createHash('sha256');
        request.on('data', (chunk: Buffer) => hash.update(chunk)).once('end', () => response.end((this.received = hash.digest('hex'))));
      } else if (request.url?.startsWith('/part/')) response.end(request.url.slice(6));
      else
        response.setHeader('content-type', 'text/html').end(`<title>Mine</title><script>
            const socket = new WebSocket('ws://' + location.host + '/hmr');
            socket.onmessage = ({ data }) => { document.title = data; socket.send('got ' + data); };
          </script>`);
    });
    this.sockets = new WebSocketServer({ server: this.#server });
  }

  static async start(): Promise<DevServer> {
    const server = new DevServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets.clients) socket.terminate();
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

interface Ended {
  code: number | null;
  error?: { code: string; message: string };
}

/** A tunnel that runs. */
class Tunnel {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  address = '';
  sessionId = '';
  output = '';

  private constructor(child: ChildProcess) {
    this.child = child;
    let told = '';
    child.stderr?.on('data', (chunk: Buffer) => (told += chunk.toString()));
    child.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.ended = once(child, 'close').then(([code]) => {
      const last = told.trim().split('\n').at(-1) ?? '';
      return { code: code as number | null, ...(last.startsWith('{') ? (JSON.parse(last) as Pick<Ended, 'error'>) : {}) };
    });
  }

  static async start(service: Service, ...words: string[]): Promise<Tunnel> {
    const env = environmentIn(home, { BERTH_URL: service.url, BERTH_API_KEY: service.key });
    const tunnel = new Tunnel(spawn(process.execPath, [program, 'tunnel', ...words], { cwd: home, env }));
    tunnels.push(tunnel);
    const failed = tunnel.ended.then((ended) => assert.fail(JSON.stringify(ended)));
    while (!tunnel.output.includes('\n')) await Promise.race([once(tunnel.child.stdout ?? assert.fail(), 'data'), failed]);
    failed.catch(() => {});
    const { address, session_id: sessionId } = JSON.parse(tunnel.output) as { address: string; session_id: string };
    return Object.assign(tunnel, { address, sessionId });
  }
}

let home: string;
let dev: DevServer;
let other: DevServer;
let service: Service;
const tunnels: Tunnel[] = [];
const browsers: Browser[] = [];
before(async () => {
  home = mkdtempSync(join(tmpdir(), 'berth-tunnel-'));
  [dev, other, service] = await Promise.all([DevServer.start(), DevServer.start(), Service.start()]);
});
afterEach(async () => {
  await Promise.all(browsers.splice(0).map((browser) => browser.close()));
  for (const { child } of tunnels) child.kill('SIGKILL');
  await Promise.all(tunnels.splice(0).map(({ ended }) => ended));
});
after(async () => {
  await stopAll();
  await Promise.all([dev.close(), other.close()]);
  rmSync(home, { recursive: true, force: true });
});

const session = async (client: Client = service.client): Promise<string> =>
  (await client.call(createSession, { body: {} })).body.session_id;

async function pageOf(id: string, key = service.key): Promise<Page> {
  const headers = { authorization: `Bearer ${key}` };
  const browser = await chromium.connectOverCDP(`${service.url.replace('http', 'ws')}/v1/session/${id}/cdp`, { headers });
  browsers.push(browser);
  return browser.contexts()[0]?.pages()[0] ?? assert.fail('there is no page');
}

const egressOf = async (id: string): Promise<number> =>
  (await service.client.call(getSession, { params: { session_id: id } })).body.usage.egress_bytes;

describe('berth tunnel', () => {
  it('shows a development server in the session, with its socket, as localhost', async () => {
    const id = await session();
    const tunnel = await Tunnel.start(service, String(dev.port), '-s', id);
    assert.deepEqual([tunnel.address, tunnel.sessionId], [`http://localhost:${dev.port}`, id]);
    const page = await pageOf(id);
    const connected = once(dev.sockets, 'connection');
    await page.goto(tunnel.address);
    assert.equal(await page.evaluate('isSecureContext'), true);
    const [socket] = (await connected) as [WebSocket];
    const answered = once(socket, 'message');
    socket.send('Changed');
    assert.equal(String((await answered)[0]), 'got Changed');
    assert.equal(await page.title(), 'Changed');
    assert.ok(dev.hits.includes(`localhost:${dev.port} /`), dev.hits.join());
    const { body: entries } = await service.client.call(listAudit, { query: { action: 'tunnel.opened', subject: id } });
    assert.deepEqual(
      entries.map(({ details }) => details),
      [{ port: dev.port }],
    );
  });

  it('passes 50 MB unchanged, and charges them as traffic of the session', async () => {
    const id = await session();
    const tunnel = await Tunnel.start(service, String(dev.port), '-s', id, '--as', '8080');
    const page = await pageOf(id);
    await page.goto('http://localhost:8080/');
    assert.equal(tunnel.address, 'http://localhost:8080');
    const digest = await page.evaluate(async () => {
      const body = await (await fetch('/large')).arrayBuffer();
      // DevTools clients get the whole body of a request in one message.
      await fetch('/', { method: 'POST', body: body.slice(0, 8 * 1024 * 1024) });
      return [...new Uint8Array(await crypto.subtle.digest('SHA-256', body))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    });
    assert.deepEqual([digest, dev.received], [digestOf(large), digestOf(large.subarray(0, sentBytes))]);
    await eventually('the traffic is counted', async () => (await egressOf(id)) >= bytes + sentBytes);
  });

  it('serves 100 requests at the same time, also while one is not read', async () => {
    const id = await session();
    const { address } = await Tunnel.start(service, String(dev.port), '-s', id);
    const page = await pageOf(id);
    await page.goto(address);
    const parts = await page.evaluate(async () => {
      const slow = await fetch('/large');
      const reader = slow.body?.getReader();
      await reader?.read();
      const texts = await Promise.all(Array.from({ length: 100 }, async (_, part) => (await fetch(`/part/${part}`)).text()));
      await reader?.cancel();
      return texts;
    });
    assert.deepEqual(
      parts,
      Array.from({ length: 100 }, (_, part) => String(part)),
    );
  });

  it('is there for neither another session, another owner, nor another port', async () => {
    const [mine, second] = await Promise.all([session(), session()]);
    const key = (await service.client.call(createKey, { body: { owner: 'stranger', name: 'theirs' } })).body.key ?? '';
    const stranger = new Client(service.url, key);
    const theirs = await session(stranger);
    const { address } = await Tunnel.start(service, String(dev.port), '-s', mine);
    const pagesOf = ({ hits }: DevServer): number => hits.filter((hit) => hit.endsWith(' /')).length;
    const before = pagesOf(dev);
    for (const [client, id] of [
      [service.client, second],
      [stranger, theirs],
    ] as const) {
      const { message } = await client.refuse(navigate, 'navigation_failed', { params: { session_id: id }, body: { url: address } });
      assert.match(message, /not a public address/);
    }
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      const body = { url: `http://${host}:${other.port}/` };
      await service.client.refuse(navigate, 'navigation_failed', { params: { session_id: mine }, body });
    }
    const page = await pageOf(mine);
    // Also not from the page of the tunnel, whose origin is on loopback.
    await page.goto(address);
    const reached = `fetch('http://localhost:${other.port}/', { mode: 'no-cors' }).then(() => 'reached', () => 'refused')`;
    assert.equal(await page.evaluate(reached), 'refused');
    assert.deepEqual([pagesOf(dev), other.hits.length], [before + 1, 0]);
  });

  it('ends with the session, and says why', async () => {
    const id = await session();
    const tunnel = await Tunnel.start(service, String(dev.port), '-s', id);
    await service.client.call(endSession, { params: { session_id: id } });
    const { code, error } = await tunnel.ended;
    assert.deepEqual([code, error?.code], [4, 'session_ended']);
  });

  it('ends with the command, however that ends, and may be opened again', async () => {
    const id = await session();
    const page = await pageOf(id);
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const tunnel = await Tunnel.start(service, String(dev.port), '-s', id);
      await page.goto(tunnel.address);
      tunnel.child.kill(signal);
      assert.equal((await tunnel.ended).code, signal === 'SIGINT' ? 0 : null);
      await eventually('the port is refused', async () =>
        page.goto(`${tunnel.address}/again`).then(
          () => false,
          () => true,
        ),
      );
    }
  });

  it('is replaced by another one to the same port', async () => {
    const id = await session();
    const first = await Tunnel.start(service, String(dev.port), '-s', id);
    const second = await Tunnel.start(service, String(dev.port), '-s', id);
    const { code, error } = await first.ended;
    assert.deepEqual([code, error?.code], [1, 'tunnel_replaced']);
    await (await pageOf(id)).goto(second.address);
  });

  it('is refused for an unknown session, and by a wrong key', async () => {
    const failed = async (...words: string[]): Promise<Ended> => {
      const env = environmentIn(home, { BERTH_URL: service.url, BERTH_API_KEY: words[0] ?? '' });
      const child = spawn(process.execPath, [program, 'tunnel', ...words.slice(1)], { cwd: home, env });
      let told = '';
      child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
      const [code] = (await once(child, 'close')) as [number];
      return { code, ...(JSON.parse(told) as Pick<Ended, 'error'>) };
    };
    const unknown = `ses_${'0'.repeat(24)}`;
    const notFound = await failed(service.key, '3000', '-s', unknown);
    assert.deepEqual([notFound.code, notFound.error?.code], [4, 'session_not_found']);
    const wrong = await failed('nonsense', '3000', '-s', unknown);
    assert.deepEqual([wrong.code, wrong.error?.code], [3, 'invalid_api_key']);
    const usage = await failed(service.key, 'here');
    assert.equal(usage.code, 2);
  });

  it('ends when the service is killed', async () => {
    const id = await session();
    const tunnel = await Tunnel.start(service, String(dev.port), '-s', id);
    process.kill(service.pid, 'SIGKILL');
    const { code, error } = await tunnel.ended;
    assert.deepEqual([code, error?.code], [6, 'connection_failed']);
  });
});

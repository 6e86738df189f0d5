/** The files of docs/tls.md, as they stand there, in Debian's Caddy and nginx: only addresses and certificates are those of the test. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request, type RequestOptions } from 'node:https';
import { request as plainRequest } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, createViewToken, endSession } from '@berth/contract';
import WebSocket from 'ws';
import { programsOf } from '../contract/documents.ts';
import { eventually, startApp, type TestApp } from '../harness.ts';

const host = 'browsers.example';
const folder = mkdtempSync(join(tmpdir(), 'berth-tls-'));
const certificate = join(folder, 'fullchain.pem');
const key = join(folder, 'privkey.pem');

/** Debian's, or what set-up has fetched for the tests. */
function programOf(name: string): string {
  const fetched = resolve(import.meta.dirname, `../../node_modules/.berth-${name}`);
  return existsSync(fetched) ? fetched : name;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

interface Ports {
  https: number;
  http: number;
  service: string;
}

interface Proxy {
  name: string;
  /** Writes the configuration and returns the command that runs it. */
  prepare(block: string, ports: Ports): string[];
}

/** Replaces what must be there, once for each place. */
function replaced(text: string, pairs: readonly (readonly [string, string])[]): string {
  for (const [from] of pairs) assert.ok(text.includes(from), `no ${from} in ${text}`);
  return pairs.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
}

const proxies: readonly Proxy[] = [
  {
    name: 'caddy',
    prepare: (block, { https, service }) => {
      const file = join(folder, 'Caddyfile');
      const site = replaced(block, [
        [`${host} {`, `${host}:${https} {\n\tbind 127.0.0.1\n\ttls ${certificate} ${key}`],
        ['localhost:8080', service],
      ]);
      // Without a certificate authority and its own API, which no port is free for.
      writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
      execFileSync(programOf('caddy'), ['validate', '--config', file, '--adapter', 'caddyfile'], { stdio: 'pipe', env: caddyEnvironment });
      return [programOf('caddy'), 'run', '--config', file, '--adapter', 'caddyfile'];
    },
  },
  {
    name: 'nginx',
    prepare: (block, { https, http, service }) => {
      const file = join(folder, 'nginx.conf');
      const site = replaced(block, [
        ['listen 80;', `listen 127.0.0.1:${http};`],
        ['listen 443 ssl;', `listen 127.0.0.1:${https} ssl;`],
        ['/etc/ssl/browsers.example/fullchain.pem', certificate],
        ['/etc/ssl/browsers.example/privkey.pem', key],
        ['localhost:8080', service],
      ]);
      const own = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${join(folder, kind)};`);
      writeFileSync(file, `daemon off;\nuser root;\npid ${join(folder, 'pid')};\nevents {}\nhttp {\n${own.join('\n')}\n${site}\n}\n`);
      const options = ['-c', file, '-p', folder, '-e', join(folder, 'nginx.log')];
      execFileSync(programOf('nginx'), ['-t', ...options], { stdio: 'pipe' });
      return [programOf('nginx'), ...options];
    },
  },
];
const caddyEnvironment = { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
}

let served: TestApp;
before(async () => {
  mkdirSync(folder, { recursive: true });
  const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...algorithm, ...subject, '-keyout', key, '-out', certificate], { stdio: 'pipe' });
  served = await startApp({ environment: { BERTH_PUBLIC_URL: `https://${host}`, BERTH_TRUSTED_PROXIES: '127.0.0.1' } });
});
after(async () => {
  await served?.close();
  rmSync(folder, { recursive: true, force: true });
});

for (const { name, prepare } of proxies)
  describe(`${name} in front of the service`, () => {
    let child: ChildProcess;
    let ports: Ports;
    before(async () => {
      const [block = ''] = programsOf('docs/tls.md', name === 'caddy' ? 'caddyfile' : name);
      ports = { https: await freePort(), http: await freePort(), service: new URL(served.url).host };
      const [program = '', ...args] = prepare(block, ports);
      child = spawn(program, args, { stdio: 'ignore', env: caddyEnvironment });
      await once(child, 'spawn');
      const isUp = (): Promise<boolean> =>
        call('/livez')
          .then(() => true)
          .catch(() => false);
      await eventually(`${name} answers`, isUp, 30_000);
    });
    after(async () => {
      if (!child || child.exitCode !== null) return;
      // Caddy would wait for the connections of its clients; it is one process.
      child.kill(name === 'caddy' ? 'SIGKILL' : 'SIGTERM');
      await once(child, 'exit');
    });

    const options = (): RequestOptions => ({
      host: '127.0.0.1',
      port: ports.https,
      servername: host,
      ca: readFileSync(certificate),
      headers: { host, authorization: `Bearer ${served.key}` },
    });
    const call = (path: string, { method = 'GET', body = '' } = {}): Promise<Answer> =>
      new Promise((answer, fail) => {
        const { headers, ...rest } = options();
        const type = body === '' ? {} : { 'content-type': 'application/json' };
        const sent = request({ ...rest, path, method, headers: { ...(headers as object), ...type } }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('end', () => answer({ status: response.statusCode ?? 0, headers: response.headers, text }));
          response.on('error', fail);
        });
        sent.on('error', fail).end(body);
      });

    it(`${name} passes calls over TLS, and links name the public address`, async () => {
      const created = await call('/v1/session', { method: 'POST', body: '{}' });
      assert.equal(created.status, 201, created.text);
      const { session_id, cdp_url } = JSON.parse(created.text) as { session_id: string; cdp_url: string };
      assert.ok(cdp_url.startsWith(`wss://${host}/`), cdp_url);
      const { body } = await served.call(createViewToken, { params: { session_id }, body: {} });
      assert.match(body.url ?? '', new RegExp(`^https://${host}/`));
      assert.equal((await call(`/v1/session/${session_id}`, { method: 'DELETE' })).status, 204);
    });

    it(`${name} passes the WebSocket of a DevTools client`, async () => {
      const address = `wss://127.0.0.1:${ports.https}/v1/connect`;
      const headers = { host, authorization: `Bearer ${served.key}` };
      const socket = new WebSocket(address, { agent: new Agent({ ca: readFileSync(certificate), servername: host }), headers });
      await once(socket, 'open');
      socket.send('{"id":1,"method":"Target.getTargets"}');
      const [message] = (await once(socket, 'message')) as [Buffer];
      assert.equal((JSON.parse(message.toString()) as { id: number }).id, 1);
      socket.close();
      await once(socket, 'close');
    });

    it(`${name} passes each event of a stream when it happens`, async (t) => {
      const { body: session } = await served.call(createSession, { body: {} });
      const opened = request({ ...options(), path: `/v1/session/${session.session_id}/events` }).end();
      t.after(() => opened.destroy());
      const [response] = (await once(opened, 'response')) as [NodeJS.ReadableStream];
      // Nothing is held back until more comes, or until the end of the stream.
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      await eventually('the stream has begun', () => text.includes('retry: '));
      await served.call(endSession, { params: { session_id: session.session_id } });
      await eventually('the event is there', () => text.includes('"session.ended"'));
    });

    it(`${name} passes a body as large as the service takes`, async () => {
      // An upload of 10 MB, as text of a third more: both proxies refuse less than that by default, or hold it.
      const { body: session } = await served.call(createSession, { body: {} });
      const data_base64 = Buffer.alloc(10_000_000, 1).toString('base64');
      const body = JSON.stringify({ name: 'large.bin', data_base64 });
      const { status, text } = await call(`/v1/session/${session.session_id}/uploads`, { method: 'POST', body });
      assert.equal(status, 201, text);
      await served.call(endSession, { params: { session_id: session.session_id } });
    });

    if (name === 'nginx')
      it('nginx redirects plain requests to TLS', async () => {
        const sent = plainRequest({ host: '127.0.0.1', port: ports.http, path: '/docs?a=1', headers: { host } }).end();
        const [response] = (await once(sent, 'response')) as [{ statusCode: number; headers: { location: string }; resume(): void }];
        response.resume();
        assert.deepEqual([response.statusCode, response.headers.location], [301, `https://${host}/docs?a=1`]);
      });
  });

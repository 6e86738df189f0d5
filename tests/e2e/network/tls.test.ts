/** The service with a certificate of its own: calls, pages, sockets and links over TLS, and a renewal without a restart. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { runCommand } from '../../operations/commands.ts';
import { Service, eventually, stopAll } from '../service.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-tls-'));

/** Writes `NAME.crt` and `NAME.key`, self-signed for localhost. */
function makeCertificate(name: string, days: number): { cert: string; key: string } {
  const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, '-days', String(days), '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { cert, key };
}

describe('a service with a certificate', () => {
  let service: Service;
  const first = makeCertificate('first', 90);
  const second = makeCertificate('second', 90);
  const used = { cert: join(folder, 'used.crt'), key: join(folder, 'used.key') };
  const use = ({ cert, key }: { cert: string; key: string }): void => {
    copyFileSync(key, used.key);
    copyFileSync(cert, used.cert);
  };
  const ca = [readFileSync(first.cert, 'utf8'), readFileSync(second.cert, 'utf8')];
  const environment = { BERTH_TLS_CERT: used.cert, BERTH_TLS_KEY: used.key };
  before(async () => {
    use(first);
    service = await Service.start({ environment });
  });
  after(async () => {
    await stopAll();
    rmSync(folder, { recursive: true, force: true });
  });

  const call = async (path: string, { method = 'GET', body, agent }: { method?: string; body?: object; agent?: Agent } = {}) => {
    const headers = {
      authorization: `Bearer ${service.key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const asked = request(`${service.url}${path}`, { method, headers, ca, ...(agent ? { agent } : {}) });
    asked.end(body && JSON.stringify(body));
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: response.statusCode, headers: response.headers, body: await text(response) };
  };
  /** The name that the certificate of a new connection has. */
  const presented = async () => {
    const { port } = new URL(service.url);
    const socket: TLSSocket = connect({ port: Number(port), host: '127.0.0.1', ca });
    await once(socket, 'secureConnect');
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  };

  it('a service with a certificate answers calls, pages and the tools of models over https, with links that have it', async () => {
    assert.match(service.url, /^https:/);
    assert.equal((await call('/health')).status, 200);
    assert.equal((await call('/dashboard')).status, 200);
    const created = await call('/v1/session', { method: 'POST', body: {} });
    const { session_id, cdp_url } = JSON.parse(created.body) as { session_id: string; cdp_url: string };
    assert.match(cdp_url, /^wss:\/\//);
    const link = await call(`/v1/session/${session_id}/view-token`, { method: 'POST', body: {} });
    assert.match((JSON.parse(link.body) as { url: string }).url, /^https:\/\//);
    const socket = new WebSocket(cdp_url, { ca, headers: { authorization: `Bearer ${service.key}` } });
    await once(socket, 'open');
    socket.send(JSON.stringify({ id: 1, method: 'Browser.getVersion' }));
    const [reply] = (await once(socket, 'message')) as [Buffer];
    assert.match(reply.toString(), /"product":/);
    socket.close();
    await once(socket, 'close');
    // The service calls itself for these.
    const listed = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'tabs', arguments: { session: session_id } } };
    const tools = await call('/mcp', { method: 'POST', body: listed });
    assert.equal(tools.status, 200, tools.body);
    assert.match(tools.body, /about:blank/);
    assert.doesNotMatch(tools.body, /"isError":true/);
    assert.equal((await call(`/v1/session/${session_id}`, { method: 'DELETE' })).status, 204);
  });

  it('a service with a certificate closes a connection that speaks plain HTTP, and lives on', async () => {
    const socket = connectPlain(Number(new URL(service.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    await once(socket, 'close');
    assert.doesNotMatch(answer, /HTTP\/1\.1 200/);
    assert.equal((await call('/livez')).status, 200);
  });

  it('a certificate that is renewed is presented to new connections without a restart, and half of one is not', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
    assert.equal((await call('/livez', { agent })).status, 200);
    assert.equal(await presented(), 'first');
    // The files are never written at the same moment.
    copyFileSync(second.key, used.key);
    await eventually('the mismatch is in the log', () => service.errors.includes('is not the key of that certificate'), 60_000);
    assert.equal(await presented(), 'first');
    use(second);
    await eventually('the new certificate is presented', async () => (await presented()) === 'second', 60_000);
    assert.equal((await call('/livez', { agent })).status, 200, 'the connection before goes on');
    agent.destroy();
  });

  it('a start and the doctor say what is wrong with a certificate, and what to do', async () => {
    const old = makeCertificate('old', 1);
    const settings = { BERTH_PORT: '0', BERTH_DATA_DIR: join(folder, 'data'), BERTH_CHROMIUM: '/nonexistent/chromium' };
    const refusal = async (over: Record<string, string>): Promise<string> => (await runCommand([], { ...settings, ...over })).stderr;
    assert.match(await refusal({ BERTH_TLS_CERT: first.cert }), /cannot start: BERTH_TLS_CERT and BERTH_TLS_KEY require each other/);
    assert.match(
      await refusal({ BERTH_TLS_CERT: first.cert, BERTH_TLS_KEY: second.key }),
      /cannot start: BERTH_TLS_KEY: \S+ is not the key of that certificate/,
    );
    assert.match(
      await refusal({ BERTH_TLS_CERT: join(folder, 'none'), BERTH_TLS_KEY: second.key }),
      /cannot start: BERTH_TLS_CERT: \S+ cannot be read: there is no such file\./,
    );
    const pasted = await refusal({ BERTH_TLS_CERT: first.cert, BERTH_TLS_KEY: readFileSync(first.key, 'utf8') });
    assert.match(pasted, /BERTH_TLS_KEY: must be the path of a PEM file, not its content/);
    assert.doesNotMatch(pasted, /BEGIN/);
    const findingsOf = async (over: Record<string, string>) => {
      const { stdout } = await runCommand(['doctor', '--json'], { ...settings, ...over });
      return (JSON.parse(stdout) as { findings: { check: string; status: string; note: string }[] }).findings;
    };
    const tls = (await findingsOf({ BERTH_TLS_CERT: old.cert, BERTH_TLS_KEY: old.key })).find(({ check }) => check === 'tls');
    assert.equal(tls?.status, 'warning');
    assert.match(tls?.note ?? '', /^the certificate expires on \d{4}-\d\d-\d\d\. Renew it/);
    const beside = await findingsOf({ ...environment, BERTH_PORT: new URL(service.url).port });
    assert.match(beside.find(({ check }) => check === 'port')?.note ?? '', /the service runs there$/);
  });
});

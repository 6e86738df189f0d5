/** The port before the service is ready, and the change from one to the other. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { ErrorBody, Health, endpoint } from '@berth/contract';
import { z } from 'zod';
import { BoundPort, PortUnusableError } from './port.ts';
import { testOptions } from '../../../testing/server.ts';
import { createHttp, type Http } from './server.ts';

const ready = endpoint({
  id: 'ready',
  method: 'GET',
  path: '/v1/ready',
  tag: 'Health',
  summary: 'A test',
  auth: 'none',
  reply: z.object({ ready: z.boolean() }),
  status: 200,
  errors: [],
});
const loopback = { host: '127.0.0.1', port: 0 };

function startService(): Http {
  const http = createHttp(testOptions);
  http.on(ready, () => ({ ready: true }));
  return http;
}

describe('before the service is ready', () => {
  test('every request before the service is ready is answered with 503 starting, what is being done, and when to try again', async (t) => {
    const bound = await BoundPort.open({ ...loopback, note: () => 'opening the database' });
    t.after(() => bound.close());
    const origin = `http://127.0.0.1:${bound.port}`;
    for (const [path, init] of [
      ['/v1/session', { method: 'POST', body: '{}' }],
      ['/v1/ready', {}],
      ['/', {}],
    ] as const) {
      const response = await fetch(origin + path, init);
      assert.deepEqual([response.status, response.headers.get('retry-after'), response.headers.get('x-should-retry')], [503, '1', 'true']);
      assert.equal(response.headers.get('connection'), 'close');
      const { error } = ErrorBody.parse(await response.json());
      assert.deepEqual([error.code, error.retryable, error.request_id], ['starting', true, response.headers.get('x-request-id')]);
      assert.match(error.message, /opening the database/);
    }
  });

  test('before the service is ready, /health says starting, and /livez is well', async (t) => {
    const bound = await BoundPort.open({ ...loopback, note: () => 'opening the database' });
    t.after(() => bound.close());
    const response = await fetch(`http://127.0.0.1:${bound.port}/health`);
    const health = Health.parse(await response.json());
    assert.deepEqual([response.status, response.headers.get('retry-after'), health.status], [503, '1', 'starting']);
    assert.equal(health.checks['start']?.note, 'opening the database');
    assert.equal((await fetch(`http://127.0.0.1:${bound.port}/livez`)).status, 200);
  });

  test('before the service is ready, a browser gets a page that loads again by itself', async (t) => {
    const bound = await BoundPort.open({ ...loopback, note: () => 'opening <it>' });
    t.after(() => bound.close());
    const response = await fetch(`http://127.0.0.1:${bound.port}/`, { headers: { accept: 'text/html,*/*' } });
    const page = await response.text();
    assert.equal(response.status, 503);
    assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
    assert.match(page, /http-equiv="refresh"/);
    assert.match(page, /opening &lt;it&gt;/);
  });
});

describe('when the service is ready', () => {
  test('when the service is ready, the same port serves it, on new connections and on those that were open before', async (t) => {
    const bound = await BoundPort.open(loopback);
    const { port } = bound;
    const early = connect(port, '127.0.0.1');
    await once(early, 'connect');
    const http = startService();
    await http.listen(bound);
    t.after(() => http.close(0));
    assert.deepEqual(await (await fetch(`http://127.0.0.1:${port}/v1/ready`)).json(), { ready: true });
    early.write('GET /v1/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const chunk of early) text += String(chunk);
    assert.match(text, /^HTTP\/1\.1 200 [^]*\{"ready":true\}/);
  });

  test('connections stay open for the next request, and drip-fed headers are cut off', async (t) => {
    const bound = await BoundPort.open(loopback);
    const http = createHttp({ ...testOptions, limits: { ...testOptions.limits, requestTimeoutMs: 200 } });
    http.on(ready, () => ({ ready: true }));
    await http.listen(bound);
    t.after(() => http.close(0));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    const ports: (number | undefined)[] = [];
    for (let n = 0; n < 2; n += 1) {
      const [response] = (await once(request({ agent, port: bound.port, path: '/v1/ready' }).end(), 'response')) as [IncomingMessage];
      ports.push(response.socket.localPort);
      response.resume();
      await once(response, 'end');
    }
    assert.equal(ports[0], ports[1]);
    const slow = connect(bound.port, '127.0.0.1', () => slow.write('GET /v1/ready HTTP/1.1\r\nHos'));
    let text = '';
    for await (const chunk of slow) text += String(chunk);
    assert.match(text, /^HTTP\/1\.1 408 /);
  });

  test('a service on localhost is served on all its addresses', async (t) => {
    const bound = await BoundPort.open({ host: 'localhost', port: 0 });
    const http = startService();
    await http.listen(bound);
    t.after(() => http.close(0));
    const served = await Promise.all(
      ['127.0.0.1', '[::1]'].map((host) => fetch(`http://${host}:${bound.port}/v1/ready`).catch(() => null)),
    );
    assert.deepEqual(
      served
        .filter((response) => response !== null)
        .map(({ status }) => status)
        .includes(200),
      true,
    );
    assert.equal((await fetch(`http://localhost:${bound.port}/v1/ready`)).status, 200);
  });

  test('closing the service closes the port', async () => {
    const bound = await BoundPort.open(loopback);
    const { port } = bound;
    const http = startService();
    await http.listen(bound);
    await http.close(0);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/v1/ready`));
    const again = await BoundPort.open({ host: '127.0.0.1', port });
    again.close();
  });
});

describe('a port that cannot be bound', () => {
  test('a port that is taken is reported with BERTH_PORT and another port that is free', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => void other.close());
    const { port } = other.address() as { port: number };
    let message = '';
    await assert.rejects(BoundPort.open({ host: '127.0.0.1', port }), (error) => {
      assert.ok(error instanceof PortUnusableError);
      assert.match(error.message, new RegExp(`^BERTH_PORT: port ${port} of 127\\.0\\.0\\.1 is in use\\.[^\\n]*$`));
      message = error.message;
      return true;
    });
    const proposed = Number(/--port (\d+)$/.exec(message)?.[1]);
    assert.notEqual(proposed, port);
    (await BoundPort.open({ host: '127.0.0.1', port: proposed })).close();
  });

  test('an address that this machine does not have is reported with BERTH_HOST', async () => {
    await assert.rejects(
      BoundPort.open({ host: '192.0.2.1', port: 0 }),
      /^Error: BERTH_HOST: 192\.0\.2\.1 is not an address of this machine\.$/,
    );
  });
});

import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, ErrorBody, fetchPage, getFetchJob, navigate, runActions, runAgent } from '@berth/contract';
import { Server as Proxy } from 'proxy-chain';
import type { Client } from '../../harness.ts';
import { Service, eventually } from '../service.ts';

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => void server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));

/** Whether a retry helps is the same question in each way to load a page. */
describe('whether a failed load may be tried again', () => {
  let service: Service;
  let client: Client;
  const closed = createServer();
  /** It is no server of TLS. */
  const plain = createServer((socket) => socket.on('error', () => {}).on('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n')));
  const proxy = new Proxy({ port: 0, host: '127.0.0.1', prepareRequestFunction: () => ({ requestAuthentication: true }) });
  const failing: { what: string; url: string; netError: RegExp; retryable: boolean; options?: Record<string, unknown> }[] = [];
  before(async () => {
    const [closedPort, plainPort] = [await listen(closed), await listen(plain)];
    await new Promise((resolve) => closed.close(resolve));
    await proxy.listen();
    const allowed = [closedPort, plainPort, proxy.port].map((port) => `127.0.0.1:${port}`);
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: allowed.join() } });
    client = service.client;
    const throughProxy = { proxy: { type: 'external', server: `http://127.0.0.1:${proxy.port}`, username: 'user', password: 'wrong' } };
    failing.push(
      { what: 'a name that does not exist', url: 'http://nowhere.invalid/', netError: /NAME_NOT_RESOLVED/, retryable: false },
      { what: 'a refused connection', url: `http://127.0.0.1:${closedPort}/`, netError: /CONNECTION_REFUSED/, retryable: true },
      { what: 'a failed handshake', url: `https://127.0.0.1:${plainPort}/`, netError: /SSL/, retryable: false },
      {
        what: 'refused credentials of a proxy',
        url: `http://127.0.0.1:${plainPort}/`,
        netError: /PROXY_AUTH/,
        retryable: false,
        options: throughProxy,
      },
    );
  });
  after(async () => {
    await service.close();
    plain.close();
    await proxy.close(true);
  });

  const check = (error: unknown, at: number, where: string): void => {
    const { retryable, details } = error as { retryable: boolean; details: Record<string, unknown> };
    const { what, ...expected } = failing[at] ?? assert.fail();
    assert.equal(retryable, expected.retryable, `${what}, ${where}: ${JSON.stringify(error)}`);
    assert.match(String(details['net_error']), expected.netError, `${what}, ${where}: ${JSON.stringify(error)}`);
  };

  it('fetches and their jobs say alike whether a failed load may be tried again', async () => {
    for (const [at, { url, options }] of failing.entries()) {
      const body = { url, retry: { max_attempts: 1 }, ...options };
      for (const mode of ['http', 'auto', 'browser'])
        check((await client.call(fetchPage, { body: { ...body, mode } })).body.error, at, mode);
      const { job_id } = (await client.call(fetchPage, { body: { ...body, mode: 'http', async: true } })).body;
      const job = await eventually('the job ends', async () => {
        const { body: result } = await client.call(getFetchJob, { params: { job_id: job_id ?? '' } });
        return result.status === 'pending' ? undefined : result;
      });
      check(job.error, at, 'job');
    }
  });

  it('navigations, steps, flows and crawls of a session say alike whether a failed load may be tried again', async () => {
    for (const [at, { url, options = {} }] of failing.entries()) {
      const { session_id } = (await client.call(createSession, { body: options })).body;
      const params = { session_id };
      check(ErrorBody.parse((await client.call(navigate, { params, body: { url } })).body).error, at, 'navigate');
      const { body: acted } = await client.call(runActions, { params, body: { actions: [{ type: 'navigate', url, retries: 0 }] } });
      assert.match(String(acted.results[0]?.error?.details?.net_error), failing[at]?.netError ?? /-/);
      for (const task of ['extract_links', 'crawl']) {
        const inputs = task === 'crawl' ? { url, respect_robots: false } : { url };
        check((await client.call(runAgent, { body: { task, session_id, inputs } })).body.error, at, task);
      }
      await client.call(endSession, { params });
    }
  });
});

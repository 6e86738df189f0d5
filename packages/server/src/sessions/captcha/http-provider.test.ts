import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { ManualClock, systemClock } from '@berth/lib/clock.ts';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { json, openEndpoint, secret, type Responder } from '../../../testing/captcha.ts';
import { HttpProvider, signatureOf, CaptchaProviderError, type CaptchaTask } from './http-provider.ts';

const task: CaptchaTask = { type: 'recaptcha', siteKey: 'key', pageUrl: 'http://127.0.0.1/form', action: null, data: 'bound' };

async function provider(t: TestContext, answer: Responder, requestTimeoutMs = 30_000) {
  const endpoint = await openEndpoint(t, answer);
  const http = new HttpProvider({ url: endpoint.url, secret, clock: systemClock, log: silentLog, retryMs: 5, requestTimeoutMs });
  return { endpoint, http };
}

const failsWith = (reason: CaptchaProviderError['reason']) => (error: unknown) => {
  assert.ok(error instanceof CaptchaProviderError, String(error));
  assert.equal(error.reason, reason);
  return true;
};

describe('the http provider', () => {
  it('the HTTP captcha provider signs its requests so that the endpoint can authenticate them', async (t) => {
    const { endpoint, http } = await provider(t, (_, response) => json(response, { id: 'job-1' }));
    assert.deepEqual(await http.submit(task, t.signal), { id: 'job-1' });
    assert.equal(endpoint.rejected, 0);
    const [request] = endpoint.requests;
    assert.deepEqual(request?.task, { type: 'recaptcha', site_key: 'key', page_url: 'http://127.0.0.1/form', action: null, data: 'bound' });
    assert.ok(Math.abs((request?.timestamp ?? 0) - Date.now() / 1000) < 60);
    const stranger = new HttpProvider({ url: endpoint.url, secret: `${secret}.`, clock: systemClock, log: silentLog });
    await assert.rejects(stranger.submit(task, t.signal), failsWith('refused'));
    assert.equal(endpoint.rejected, 1);
  });

  it('the HTTP captcha provider signs as the document describes', () => {
    const at = Math.floor(new ManualClock().now().getTime() / 1000);
    const body = '{"action":"poll"}';
    assert.equal(
      signatureOf('0'.repeat(32), { timestamp: at, body }),
      't=1767225600,v1=63f8a776680bbedf96904df84748a0eda294bd4de1d31274a40e5b56311d4672',
    );
  });

  it('the HTTP captcha provider parses each state of a captcha', async (t) => {
    const replies = [
      { state: 'solving' },
      { state: 'solved', token: 'a.token|with=signs', cost_units: 2 },
      { state: 'failed', error: 'too hard' },
    ];
    const { http } = await provider(t, (_, response, count) => json(response, replies[count - 1]));
    assert.deepEqual(await http.poll('job-1', t.signal), { state: 'solving' });
    assert.deepEqual(await http.poll('job-1', t.signal), { state: 'solved', token: 'a.token|with=signs' });
    assert.deepEqual(await http.poll('job-1', t.signal), { state: 'failed' });
  });

  it('the HTTP captcha provider retries 5xx, 429 and broken connections with the same request id', async (t) => {
    const { endpoint, http } = await provider(t, (_, response, count) => {
      if (count === 1) json(response, { id: 'no' }, 503);
      else if (count === 2) json(response, {}, 429);
      else if (count === 3) response.destroy();
      else if (count === 4) {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"id": "half', () => response.destroy());
      } else json(response, { id: 'job-1' });
    });
    assert.deepEqual(await http.submit(task, t.signal), { id: 'job-1' });
    assert.equal(endpoint.requests.length, 5);
    assert.equal(new Set(endpoint.requests.map((request) => request.request_id)).size, 1);
  });

  it('the HTTP captcha provider limits the time of a request that is not answered', async (t) => {
    const { endpoint, http } = await provider(t, (_, response, count) => count > 1 && json(response, { id: 'job-1' }), 2500);
    assert.deepEqual(await http.submit(task, t.signal), { id: 'job-1' });
    assert.equal(endpoint.requests.length, 2);
  });

  it('the HTTP captcha provider stops when its signal aborts', async (t) => {
    const { endpoint, http } = await provider(t, (_, response) => json(response, {}, 500));
    const stop = new AbortController();
    const asking = http.submit(task, stop.signal);
    await endpoint.waitForRequest('submit');
    stop.abort();
    await assert.rejects(asking, { name: 'AbortError' });
    const silent = await provider(t, () => {});
    const hanging = silent.http.poll('job-1', AbortSignal.any([t.signal, AbortSignal.timeout(100)]));
    await assert.rejects(hanging, { name: 'TimeoutError' });
  });

  it('the HTTP captcha provider does not retry a refusal, and follows no redirect', async (t) => {
    for (const status of [302, 307, 400, 401, 404]) {
      const { endpoint, http } = await provider(t, (_, response) => void response.writeHead(status, { location: '/elsewhere' }).end());
      await assert.rejects(http.submit(task, t.signal), failsWith('refused'), String(status));
      assert.equal(endpoint.requests.length, 1);
      assert.equal(endpoint.rejected, 0);
    }
  });

  const invalidResponses: Record<string, Responder> = {
    'no JSON': (_, response) => void response.end('<html>welcome</html>'),
    nothing: (_, response) => void response.writeHead(204).end(),
    'a list': (_, response) => json(response, [1, 2]),
    'another state': (_, response) => json(response, { state: 'done' }),
    'another id': (_, response) => json(response, { id: 'job-2', state: 'solved', token: 'a' }),
    'solved without a token': (_, response) => json(response, { state: 'solved' }),
    'a token that is no token': (_, response) => json(response, { state: 'solved', token: '</script>\n<script>' }),
    'a token without end': (_, response) => json(response, { state: 'solved', token: 'a'.repeat(40_000) }),
    'more than is read': (_, response) => json(response, { state: 'solving', more: 'a'.repeat(100_000) }),
    'a stream without end': (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    },
  };
  for (const [name, answer] of Object.entries(invalidResponses))
    it(`the HTTP captcha provider rejects ${name}`, async (t) => {
      const { endpoint, http } = await provider(t, answer);
      await assert.rejects(http.poll('job-1', t.signal), failsWith('invalid_response'));
      assert.equal(endpoint.requests.length, 1);
    });

  it('the HTTP captcha provider throws an error without the secret and the response', async (t) => {
    const { http } = await provider(t, (_, response) => json(response, { state: 'solved', token: 'the words of the endpoint' }));
    const error = await http.poll('job-1', t.signal).then(
      () => assert.fail(),
      (thrown: unknown) => thrown as Error,
    );
    const recorder = `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
    for (const word of [secret, 'words of the endpoint']) assert.ok(!recorder.includes(word));
  });

  it('the HTTP captcha provider retries until its signal aborts when nothing listens', async (t) => {
    // A port that nothing is ever given by chance: one that was free a moment ago may be another process's now.
    const http = new HttpProvider({ url: 'http://127.0.0.1:2/', secret, clock: systemClock, log: silentLog, retryMs: 5 });
    await assert.rejects(http.submit(task, AbortSignal.any([t.signal, AbortSignal.timeout(100)])), ({ name }: Error) =>
      /^(?:Abort|Timeout)Error$/.test(name),
    );
  });

  it('the HTTP captcha provider logs once why it retries, as a code', async (t) => {
    const lines: object[] = [];
    const log: Log = { ...silentLog, warn: (fields) => void lines.push(fields) };
    const { url } = await openEndpoint(t, (_, response, count) => {
      if (count > 2) json(response, { id: 'job-1' });
      else json(response, { message: 'words of the endpoint' }, 503);
    });
    await new HttpProvider({ url, secret, clock: systemClock, log, retryMs: 5 }).submit(task, t.signal);
    assert.deepEqual(lines, [{ action: 'submit', failure: 'status_503' }]);
  });

  it('the HTTP captcha provider supports the types with a response field, and leaves challenge pages to people', () => {
    const http = new HttpProvider({ url: 'http://127.0.0.1/', secret, clock: systemClock, log: silentLog });
    const types = ['turnstile', 'cloudflare_challenge', 'recaptcha', 'hcaptcha', 'arkose', 'other'] as const;
    assert.deepEqual(
      types.filter((type) => http.supports(type)),
      ['turnstile', 'recaptcha', 'hcaptcha', 'arkose'],
    );
  });
});

describe('the endpoint in docs/captcha.md', () => {
  it('the endpoint in docs/captcha.md works as printed', async (t) => {
    const page = await readFile(new URL('../../../../../docs/captcha.md', import.meta.url), 'utf8');
    const source = /```js\n([\s\S]+?)```/.exec(page)?.[1] ?? '';
    const before = { ...process.env };
    Object.assign(process.env, { PORT: '0', BERTH_CAPTCHA_HTTP_SECRET: secret });
    t.after(() => void (process.env = before));
    const { server } = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as { server: Server };
    if (!server.listening) await once(server, 'listening');
    t.after(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const http = new HttpProvider({ url, secret, clock: systemClock, log: silentLog });
    const { id } = await http.submit(task, t.signal);
    assert.deepEqual(await http.poll(id, t.signal), { state: 'solved', token: 'the-answer-for-key' });
    await http.report(id, true, t.signal);
    assert.equal((await http.poll(id, t.signal)).state, 'failed');
    await assert.rejects(
      new HttpProvider({ url, secret: `${secret}!`, clock: systemClock, log: silentLog }).submit(task, t.signal),
      failsWith('refused'),
    );
    const late = new HttpProvider({ url, secret, clock: new ManualClock(new Date(Date.now() - 3_600_000)), log: silentLog });
    await assert.rejects(late.submit(task, t.signal), failsWith('refused'));
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Har } from 'har-format';
import { closeTab, createSession, endSession, getHar, navigate, openTab, runActions } from '@berth/contract';
import { assertPrompt } from '../../yardstick.ts';
import { openEvents, type EventStream } from '../../event-stream.ts';
import type { Client } from '../../harness.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

/** None of these may appear in the HAR. */
const secrets = { cookie: 'cookie-5f1c', reply: 'reply-77ab', bearer: 'bearer-c0de', key: 'key-1b2d', password: 'password-9e0f' };

describe('session events', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    site = await startSite({
      pages: {
        '/many': page(
          'Many',
          `<img src="/pixel.png"><link rel="stylesheet" href="/missing.css"><script>fetch('/second').then(() => fetch('/gone')).then(() => { document.title = 'done'; })</script>`,
        ),
        '/secret': (request, response) =>
          void response
            .writeHead(200, {
              'content-type': 'text/html',
              'set-cookie': [`sid=${secrets.reply}; HttpOnly; Path=/`, 'theme=dark; Path=/'],
              'x-auth-token': secrets.reply,
            })
            .end(page('Secret', `<p>${request.headers.cookie ?? 'no cookie'}</p>`)),
      },
    });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    client = service.client;
  });
  after(async () => {
    await service.close();
    await site.close();
  });
  const create = async (body: object = {}) => ({
    session_id: (await client.call(createSession, { body: body as Record<string, unknown> })).body.session_id,
  });
  type Params = Awaited<ReturnType<typeof create>>;
  const go = (params: Params, path: string) => client.call(navigate, { params, body: { url: site.url + path } });
  const listen = ({ session_id }: Params, lastEventId?: number): Promise<EventStream> =>
    openEvents(service.url, session_id, { key: service.key, ...(lastEventId === undefined ? {} : { lastEventId }) });
  const harOf = async (params: Params): Promise<Har['log']> => (await client.call(getHar, { params })).body.log as unknown as Har['log'];

  it('session events are streamed for pages, tabs, dialogs, downloads, steps and the end', async () => {
    const params = await create();
    const stream = await listen(params);
    await go(params, '/second');
    assert.equal((await stream.nextOf('navigation')).data['url'], `${site.url}/second`);
    const { body: tab } = await client.call(openTab, { params, body: {} });
    assert.equal((await stream.nextOf('tab.opened')).data['tab_id'], tab.tab_id);
    await client.call(closeTab, { params: { ...params, tab_id: tab.tab_id } });
    assert.equal((await stream.nextOf('tab.closed')).data['tab_id'], tab.tab_id);
    await go(params, '/dialogs');
    const dialog = await stream.nextOf('dialog');
    assert.deepEqual([dialog.data['dialog'], dialog.data['message']], ['alert', 'one']);
    await client.call(runActions, { params, body: { actions: [{ type: 'download', url: `${site.url}/file`, id: 'get' }] } });
    const started = await stream.nextOf('download.started');
    const finished = await stream.nextOf('download.finished');
    assert.deepEqual(
      [finished.data['download_id'], finished.data['status'], finished.data['received_bytes']],
      [started.data['download_id'], 'completed', 100_000],
    );
    const step = await stream.nextOf('actions.step');
    assert.deepEqual([step.data['id'], step.data['step'], step.data['status']], ['get', 'download', 'ok']);
    await client.call(endSession, { params });
    assert.equal((await stream.nextOf('session.ended')).data['ended_reason'], 'requested');
    assert.equal(await stream.next(), undefined);
  });

  it('session events are replayed to a reconnecting client without gaps or repeats', async () => {
    const params = await create();
    const first = await listen(params, 0);
    await go(params, '/');
    const seen = [];
    for (let event = await first.next(); event; event = await first.next()) {
      seen.push(event);
      if (event.type === 'navigation') break;
    }
    first.close();
    await go(params, '/second');
    await client.call(openTab, { params, body: {} });
    const again = await listen(params, seen.at(-1)?.id ?? 0);
    for (let event = await again.next(); event; event = await again.next()) {
      seen.push(event);
      if (event.type === 'tab.opened') break;
    }
    again.close();
    assert.deepEqual(
      seen.map(({ id }) => id),
      seen.map((_, index) => index + 1),
    );
    assert.ok(seen.some(({ type, data }) => type === 'navigation' && data['url'] === `${site.url}/second`));
  });

  it('session events end when the service stops', async () => {
    const own = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_DRAIN_SECONDS: '1' } });
    const { session_id } = (await own.client.call(createSession, { body: {} })).body;
    const stream = await openEvents(own.url, session_id, { key: own.key });
    const since = performance.now();
    const stopped = own.close();
    const ended = await stream.nextOf('session.ended');
    assert.equal(ended.data['ended_reason'], 'drained');
    assert.equal(await stream.next(), undefined);
    await stopped;
    // A service that waits for open streams is killed after half a minute.
    assertPrompt(since, 25_000);
  });

  it('session events are in the HAR with every request and its result', async () => {
    const params = await create({ har: true });
    const before = site.hits.length;
    await go(params, '/many');
    await client.call(runActions, {
      params,
      body: {
        actions: [
          { type: 'wait', network_idle: true },
          { type: 'assert', title: 'done' },
        ],
      },
    });
    const { version, creator, pages = [], entries } = await harOf(params);
    assert.deepEqual([version, creator.name, pages.length], ['1.2', 'Berth', 1]);
    const requested = site.hits.slice(before).filter((path) => !path.startsWith('/favicon'));
    const reported = entries.map(({ request }) => new URL(request.url).pathname).filter((path) => !path.startsWith('/favicon'));
    assert.deepEqual(reported.toSorted(), requested.toSorted());
    const of = (path: string) => entries.find(({ request }) => request.url === site.url + path) ?? assert.fail(`no ${path}`);
    assert.deepEqual(
      [of('/many').response.status, of('/missing.css').response.status, of('/pixel.png').response.content.mimeType],
      [200, 404, 'image/png'],
    );
    for (const { time, timings, startedDateTime, pageref, request } of entries) {
      const sum = [timings.blocked, timings.dns, timings.connect, timings.send, timings.wait, timings.receive].reduce<number>(
        (all, ms) => all + Math.max(0, ms ?? 0),
        0,
      );
      assert.ok(Math.abs(sum - time) < 0.01, `${request.url}: ${time} is not ${sum}`);
      assert.ok(Date.parse(startedDateTime) > 0 && pageref === pages[0]?.id);
    }
  });

  it('session events include redirects and failures in the HAR', async () => {
    const params = await create({ har: true });
    await go(params, '/redirect');
    await go(params, '/reset');
    const { entries } = await harOf(params);
    const of = (path: string) => entries.find(({ request }) => request.url === site.url + path) ?? assert.fail(`no ${path}`);
    assert.deepEqual([of('/redirect').response.status, of('/redirect').response.redirectURL], [302, `${site.url}/second`]);
    assert.deepEqual([of('/redirect').serverIPAddress, of('/second').serverIPAddress], ['127.0.0.1', '127.0.0.1']);
    assert.ok('_error' in of('/reset').response || of('/reset').response.status >= 500);
  });

  it('session events leave no secret in the HAR', async () => {
    const params = await create({
      har: true,
      extra_headers: { authorization: `Bearer ${secrets.bearer}`, 'x-api-key': secrets.key },
      storage_state: {
        cookies: [{ name: 'token', value: secrets.cookie, domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true, secure: false }],
        origins: [],
      },
    });
    await go(params, '/secret');
    await go(params, '/secret');
    const { text } = await client.call(getHar, { params });
    assert.match(site.headersOf('/secret').cookie ?? '', new RegExp(secrets.cookie), 'the secrets were sent');
    assert.equal(site.headersOf('/secret').authorization, `Bearer ${secrets.bearer}`);
    for (const [what, secret] of Object.entries(secrets)) assert.ok(!text.includes(secret), `the HAR contains the ${what}`);
    const { entries } = await harOf(params);
    const { request } = entries.findLast((entry) => entry.request.url.endsWith('/secret')) ?? assert.fail();
    const header = (wanted: string): string | undefined => request.headers.find(({ name }) => name.toLowerCase() === wanted)?.value;
    assert.deepEqual([header('authorization'), header('x-api-key'), header('cookie')], ['[redacted]', '[redacted]', '[redacted]']);
    assert.deepEqual(request.cookies.map(({ name, value }) => `${name}=${value}`).toSorted(), [
      'sid=[redacted]',
      'theme=[redacted]',
      'token=[redacted]',
    ]);
  });
});

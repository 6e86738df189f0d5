import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { WebSocketServer } from 'ws';
import type { NetworkEntry, Observation, PrivatePage, TrafficLimits } from '../../browser.ts';
import { launch, type Launched } from '../../../../testing/launch.ts';

/** How long its script keeps the page busy. */
const busyMs = 100;
const script = `
  for (const end = performance.now() + ${busyMs}; performance.now() < end;);
  const upload = () => {
    const form = new FormData();
    form.append('kind', 'delivery');
    form.append('file', new Blob([new Uint8Array([255, 0, 1]), 'To the gate.'], { type: 'text/plain' }), 'delivery.txt');
    return fetch('/upload', { method: 'POST', body: form });
  };
  const used = () => fetch('/json', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' });
  const unused = () => { ${'console.log("never"); '.repeat(50)} };
  const text = (reply) => reply.text();
  const loaded = [used().then(text), upload().then(text), fetch('/large').then(text), new Promise((resolve) => {
    const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket');
    socket.onopen = () => socket.send('ping');
    socket.onmessage = () => resolve();
  }), new Promise((resolve) => {
    const events = new EventSource('/events');
    events.addEventListener('tick', () => resolve());
    events.onerror = () => events.close();
  })];
  Promise.all(loaded).then(() => { document.title = 'done'; console.error('an error of the page'); nothing(); });
`;

const site: RequestListener = (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://site');
  const reply = (type: string, body: string): void => void response.writeHead(200, { 'content-type': type }).end(body);
  if (pathname === '/') {
    response.setHeader('set-cookie', 'id=secret; HttpOnly');
    reply('text/html', '<!doctype html><link rel=stylesheet href=/style.css><p class=seen>Hello<script src=/app.js></script>');
  } else if (pathname === '/app.js') reply('text/javascript', script);
  else if (pathname === '/style.css') reply('text/css', '.seen { color: red } .unseen { color: blue }');
  else if (pathname === '/json') reply('application/json', '{"b":2}');
  else if (pathname === '/large') reply('application/json', `"${'x'.repeat(50_000)}"`);
  else if (pathname === '/events') reply('text/event-stream', 'event: tick\nid: 7\ndata: now\n\n');
  else if (pathname === '/upload') reply('application/json', '{}');
  else if (pathname === '/second') reply('text/html', '<!doctype html><title>second</title>');
  else response.writeHead(404).end();
};

describe('an observation', () => {
  let chromium: Launched;
  let url = '';
  const server = createServer(site);
  const sockets = new WebSocketServer({ server, path: '/socket' });
  sockets.on('connection', (socket) => socket.on('message', () => socket.send('pong')));
  const { signal } = new AbortController();
  const limits: TrafficLimits = { bodyBytesMax: 20_000, totalBytesMax: 1_000_000, messagesMax: 10 };

  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    chromium = await launch();
  });
  after(async () => {
    await chromium.end();
    sockets.close();
    server.closeAllConnections();
    server.close();
  });

  const load = (page: PrivatePage, path: string) =>
    page.load(
      {
        url: url + path,
        waitUntil: 'load',
        timeoutMs: 30_000,
        showAnything: false,
        keepBody: false,
        readsPage: true,
        bodyBytesMax: 1_000_000,
      },
      { signal },
    );

  async function observed<T>(given: TrafficLimits, work: (page: PrivatePage, observation: Observation) => Promise<T>): Promise<T> {
    const page = await chromium.browser.openPrivate({ signal });
    try {
      await page.prepare({ blockResources: [], extraHeaders: {}, cookies: [], wholeNetwork: true }, { signal });
      const observation = await page.observe(given, { signal });
      await observation.startPage({ signal });
      await load(page, '/');
      const done = 'async () => { while (document.title !== "done") await new Promise((next) => setTimeout(next, 20)); }';
      await page.page.call(page.page.mainFrame(), done, [], { signal, timeoutMs: 30_000 });
      return await work(page, observation);
    } finally {
      await page.close();
    }
  }
  const entryOf = (page: PrivatePage, path: string): NetworkEntry =>
    page.network().entries.find((entry) => new URL(entry.url).pathname === path) ?? assert.fail(`no request of ${path}`);

  it('an observation has bodies of requests and responses, also after the next navigation, and says who sent them', () =>
    observed(limits, async (page, observation) => {
      await load(page, '/second');
      await observation.bodiesRead(30_000);
      const { details } = entryOf(page, '/json');
      assert.deepEqual([details?.requestBody, details?.responseBody?.text], ['{"a":1}', '{"b":2}']);
      assert.deepEqual([details?.initiator?.type, details?.initiator?.url], ['script', `${url}/app.js`]);
      assert.match(entryOf(page, '/').details?.responseBody?.text ?? '', /class=seen/);
      assert.equal(entryOf(page, '/app.js').details?.responseBody?.text, script);
      assert.match(entryOf(page, '/second').details?.responseBody?.text ?? '', /second/);
    }));

  it('an observation has the fields of an upload', () =>
    observed(limits, async (page, observation) => {
      await observation.bodiesRead(30_000);
      const body = entryOf(page, '/upload').details?.requestBody ?? '';
      assert.match(body, /name="kind"\r\n\r\ndelivery\r\n/);
      assert.match(body, /name="file"; filename="delivery.txt"/);
    }));

  it('an observation has no body beyond the limit, and counts what it left out', () =>
    observed(limits, async (page, observation) => {
      await observation.bodiesRead(30_000);
      assert.equal(entryOf(page, '/large').details?.responseBody, null);
      assert.deepEqual(observation.dropped, { bodies: 1, bytes: 50_002, messages: 0 });
    }));

  it('an observation has messages of sockets and events of streams, within their limit', () =>
    observed(limits, async (page) => {
      const socket = entryOf(page, '/socket');
      assert.deepEqual([socket.status, socket.resourceType, socket.error], [101, 'WebSocket', null]);
      assert.deepEqual(
        socket.details?.messages.map(({ type, data }) => [type, data]),
        [
          ['send', 'ping'],
          ['receive', 'pong'],
        ],
      );
      const [event] = entryOf(page, '/events').details?.events ?? [];
      assert.deepEqual([event?.eventName, event?.eventId, event?.data], ['tick', '7', 'now']);
      await observed({ ...limits, messagesMax: 1 }, async (_, bounded) => assert.ok(bounded.dropped.messages >= 1));
    }));

  it('an observation reads no body where none is wanted', () =>
    observed({ ...limits, bodyBytesMax: 0 }, async (page, observation) => {
      await observation.bodiesRead(30_000);
      assert.ok(page.network().entries.every(({ details }) => details?.responseBody === null && details.requestBody === null));
    }));

  it('an observation has the used parts of scripts and style sheets, and the errors', () =>
    observed(limits, async (_, observation) => {
      const { coverage, errors } = await observation.takePage({ signal });
      const of = (path: string) => coverage.find((each) => each.url === url + path) ?? assert.fail(`no coverage of ${path}`);
      assert.equal(of('/app.js').totalBytes, script.length);
      assert.ok((of('/app.js').scriptMs ?? 0) >= busyMs * 0.7, String(of('/app.js').scriptMs));
      assert.equal(of('/style.css').scriptMs, null);
      assert.ok(of('/app.js').usedBytes > 100 && of('/app.js').usedBytes < script.length - 1000, String(of('/app.js').usedBytes));
      assert.ok(of('/style.css').usedBytes > 0 && of('/style.css').usedBytes < of('/style.css').totalBytes);
      assert.ok(
        errors.some(({ text }) => text.includes('an error of the page')),
        JSON.stringify(errors),
      );
    }));

  it('an observation reads the cookies of its context alone, with values', () =>
    observed(limits, async (_, observation) => {
      const cookies = await observation.cookies({ signal });
      assert.deepEqual(
        cookies.map(({ name, value, httpOnly, expires }) => ({ name, value, httpOnly, expires })),
        [{ name: 'id', value: 'secret', httpOnly: true, expires: null }],
      );
    }));
});

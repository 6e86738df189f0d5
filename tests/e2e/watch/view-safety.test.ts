/** Security of view links, pages and assets, tested with raw connections. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  createKey,
  createSession,
  createViewToken,
  createVncToken,
  endSession,
  getSession,
  listRecordings,
  revokeKey,
  revokeViewTokens,
  type SessionResponse,
  type ViewScope,
} from '@berth/contract';
import { framesInFlightMax, viewCloseCodes } from '@berth/contract/live-view';
import WebSocket from 'ws';
import { comparable, type Client, type Reply } from '../../client.ts';
import { refusedSocket, sendAsIs } from '../../raw-http.ts';
import { Service, eventually } from '../service.ts';
import { page as html, startSite, type Site } from '../site.ts';
import { ViewerBrowser } from './viewing.ts';
import { assetNames, nonsenses, staticPaths, windowPaths } from './viewing-hostile.ts';
import { Reports, viewingPages } from './viewing-pages.ts';
import { closeViewers, openViewer } from './viewing-socket.ts';

type Purpose = ViewScope | 'vnc';

describe('view links, pages and assets', () => {
  const reports = new Reports();
  /** All credentials: none may appear in the log. */
  const secrets: string[] = [];
  let site: Site;
  let service: Service;
  let client: Client;
  let session: SessionResponse;
  let recId: string;
  before(async () => {
    site = await startSite({ pages: viewingPages(reports) });
    service = await Service.start({
      environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_LOG_LEVEL: 'debug', BERTH_TRUSTED_PROXIES: '127.0.0.1' },
    });
    client = service.client;
    session = (await client.call(createSession, { body: { kind: 'full_browser', record: true, start_url: `${site.url}/moving` } })).body;
    recId = session.recording.rec_id ?? '';
    await eventually(
      'there is something recorded',
      async () =>
        (await client.call(listRecordings, { params: { session_id: session.session_id } })).body[0]?.assets.includes('poster.jpg'),
      60_000,
    );
  });
  after(async () => {
    await service?.close();
    await site?.close();
  });

  afterEach(closeViewers);

  const params = () => ({ session_id: session.session_id });
  const home = (id = session.session_id) => `/v1/session/${id}`;
  const addresses = (id = session.session_id) =>
    ({ live: `${home(id)}/live-view`, vnc: `${home(id)}/vnc/vnc.html`, player: `${home(id)}/recordings/${recId}/index.html` }) as const;
  const sockets = { live: '/live-view/socket', vnc: '/vnc/websockify' } as const;
  const socketAt = (path: string) => service.url.replace('http', 'ws') + path;
  const get = (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
    sendAsIs(service.url, { method: 'GET', path, headers: Object.entries(headers) });
  const bearer = () => ({ authorization: `Bearer ${service.key}` });
  const mint = async (purpose: Purpose, { key, id = session.session_id }: { key?: string; id?: string } = {}): Promise<string> => {
    const where = { params: { session_id: id }, ...(key ? { key } : {}) };
    const { body } =
      purpose === 'vnc'
        ? await client.call(createVncToken, { ...where, body: {} })
        : await client.call(createViewToken, { ...where, body: { scope: purpose } });
    const token = body.token ?? '';
    secrets.push(token);
    return token;
  };
  /** The cookie of a first load, as a Cookie header. */
  const cookieFor = async (purpose: Purpose): Promise<string> => {
    const path = addresses()[purpose === 'vnc' ? 'vnc' : purpose === 'recording' ? 'player' : 'live'];
    const reply = await get(`${path}?token=${await mint(purpose)}`);
    assert.equal(reply.status, 200, reply.text.slice(0, 300));
    const [pair = ''] = (reply.headers.get('set-cookie') ?? '').split(';');
    secrets.push(pair.split('=')[1] ?? '');
    return pair;
  };

  it('view links set an HttpOnly cookie for the page with its own value', async () => {
    for (const [purpose, path, cookiePath] of [
      ['view', addresses().live, addresses().live],
      ['control', addresses().live, addresses().live],
      ['vnc', addresses().vnc, `${home()}/vnc`],
      ['recording', addresses().player, `${home()}/recordings`],
    ] as const) {
      const token = await mint(purpose);
      const reply = await get(`${path}?token=${token}`);
      assert.equal(reply.status, 200, purpose);
      const cookie = reply.headers.get('set-cookie') ?? '';
      assert.match(cookie, /^berth-view=[\w-]{32,}; /);
      assert.deepEqual(
        cookie
          .split('; ')
          .slice(1)
          .filter((attribute) => !/^(Max-Age|Expires)=/i.test(attribute))
          .sort(),
        ['HttpOnly', `Path=${cookiePath}`, 'SameSite=Lax'].sort(),
      );
      assert.ok(!cookie.includes(token));
      for (const [name, value] of [
        ['referrer-policy', 'no-referrer'],
        ['cache-control', 'no-store'],
        ['x-content-type-options', 'nosniff'],
      ] as const)
        assert.equal(reply.headers.get(name), value, `${purpose}: ${name}`);
      const policy = reply.headers.get('content-security-policy') ?? '';
      // The dashboard, of this origin, shows recordings in its pages.
      const framedBy = purpose === 'recording' ? "frame-ancestors 'self'" : "frame-ancestors 'none'";
      for (const rule of ["default-src 'none'", "script-src 'self'", framedBy, "base-uri 'none'", "form-action 'none'"])
        assert.ok(policy.includes(rule), `${purpose}: ${policy}`);
      assert.ok(!policy.includes('unsafe'));
      assert.ok(!reply.text.includes(token) && !reply.text.includes(session.session_id), 'the page holds what is not the same for all');
    }
  });

  it('view links limit the cookie to TLS and to one host', async () => {
    const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'berth.example', 'x-forwarded-for': '192.0.2.1' };
    const reply = await get(`${addresses().live}?token=${await mint('view')}`, proxied);
    const cookie = reply.headers.get('set-cookie') ?? '';
    assert.match(cookie, /^__Secure-berth-view=[\w-]{32,}; /);
    assert.ok(cookie.split('; ').includes('Secure') && !/domain/i.test(cookie), cookie);
    assert.match(reply.headers.get('content-security-policy') ?? '', /wss:\/\/berth\.example/);
    // A cookie issued without TLS is not valid with TLS.
    const plain = await cookieFor('view');
    assert.equal((await get(addresses().live, { ...proxied, cookie: plain })).status, 401);
  });

  it('view links grant only their scope and give no reason for a refusal', async () => {
    const may: Record<Purpose, readonly (keyof ReturnType<typeof addresses>)[]> = {
      view: ['live', 'player'],
      control: ['live', 'player'],
      recording: ['player'],
      vnc: ['vnc'],
    };
    const refusals = new Set<string>();
    for (const purpose of ['view', 'control', 'recording', 'vnc'] as const) {
      const token = await mint(purpose);
      for (const [label, path] of Object.entries(addresses())) {
        const reply = await get(`${path}?token=${token}`);
        const opens = (may[purpose] as readonly string[]).includes(label);
        assert.equal(reply.status, opens ? 200 : 403, `${purpose} at ${label}: ${reply.text.slice(0, 200)}`);
        if (!opens) refusals.add(comparable(reply));
      }
      for (const [label, path] of Object.entries(sockets)) {
        if ((may[purpose] as readonly string[]).includes(label)) continue;
        const reply = await refusedSocket(`${socketAt(home() + path)}?token=${token}`);
        assert.equal(reply.status, 403, `${purpose} at the socket of ${label}`);
      }
    }
    const other = (await client.call(createSession, { body: {} })).body;
    const token = await mint('view');
    refusals.add(comparable(await get(`${addresses(other.session_id).live}?token=${token}`)));
    for (const wrong of ['wrong', `${token}x`, token.slice(0, -1), 'a.b.c', 'A'.repeat(2000)])
      refusals.add(comparable(await get(`${addresses().live}?token=${wrong}`)));
    refusals.add(comparable(await get(`${addresses('ses_none').live}?token=${token}`)));
    const late = await mint('view', { id: other.session_id });
    await client.call(endSession, { params: { session_id: other.session_id } });
    await eventually(
      'the session has ended',
      async () => (await client.call(getSession, { params: { session_id: other.session_id } })).body.status === 'ended',
    );
    refusals.add(comparable(await get(`${addresses(other.session_id).live}?token=${late}`)));
    assert.equal(refusals.size, 1, [...refusals].join('\n'));
    for (const path of Object.values(addresses())) assert.equal((await get(path)).status, 401);
  });

  it('view links accept socket cookies only from the own origin', async () => {
    const cookie = await cookieFor('view');
    const vncCookie = await cookieFor('vnc');
    const [live, vnc] = [socketAt(home() + sockets.live), socketAt(home() + sockets.vnc)];
    const token = await mint('view');
    for (const [what, address, headers] of [
      ['a cookie and another origin', live, { cookie, origin: 'http://evil.example' }],
      ['a cookie and an origin that begins like ours', live, { cookie, origin: `${service.url}.evil.example` }],
      ['a cookie and no origin', live, { cookie }],
      ['a cookie and an origin that is none', live, { cookie, origin: 'null' }],
      ['a cookie and our name by another protocol', live, { cookie, origin: service.url.replace('http', 'https') }],
      ['a token and another origin', `${live}?token=${token}`, { origin: 'http://evil.example' }],
      ['a window’s cookie and another origin', vnc, { cookie: vncCookie, origin: 'http://evil.example' }],
      ['a live view’s cookie at the window', vnc, { cookie, origin: service.url }],
      ['a window’s cookie at the live view', live, { cookie: vncCookie, origin: service.url }],
      ['an unknown cookie', live, { cookie: 'berth-view=0123456789012345678901234567890123456789012', origin: service.url }],
    ] as const) {
      const reply = await refusedSocket(address, headers);
      assert.equal(reply.status, 403, what);
    }
    for (const [address, headers] of [
      [live, { cookie, origin: service.url }],
      [vnc, { cookie: vncCookie, origin: service.url }],
      [live, { cookie: `berth-view=planted; ${cookie}`, origin: service.url }],
    ] as const) {
      await openViewer(address, { headers });
    }
  });

  it('view links are useless to another origin in the same browser', async () => {
    const viewers = await ViewerBrowser.launch();
    const evil = await startSite({ pages: { '/evil': html('Evil', '<p>evil</p>') } });
    try {
      const viewer = await viewers.newViewer({ origin: service.url });
      await viewer.open(`${service.url}${addresses().live}?token=${await mint('control')}`);
      await viewer.page.locator('canvas:visible').waitFor();
      await viewer.page.goto(`${evil.url}/evil`);
      const outcome = await viewer.page.evaluate(
        async ({ live, liveSocket }) => {
          const socket = new Promise<string>((resolve) => {
            const opened = new WebSocket(liveSocket);
            opened.addEventListener('open', () => resolve('open'));
            opened.addEventListener('error', () => resolve('refused'));
          });
          const read = fetch(live, { credentials: 'include' }).then(
            () => 'read',
            () => 'refused',
          );
          const frame = Object.assign(document.createElement('iframe'), { src: live });
          const framed = new Promise<string>((resolve) =>
            // The browser replaces a refused page with an unreadable error page.
            frame.addEventListener('load', () => resolve(frame.contentDocument === null ? 'closed' : 'readable')),
          );
          document.body.append(frame);
          return Promise.all([socket, read, framed]);
        },
        { live: service.url + addresses().live, liveSocket: socketAt(home() + sockets.live) },
      );
      assert.deepEqual(outcome, ['refused', 'refused', 'closed']);
      const framed = viewer.page.frames().find((frame) => frame !== viewer.page.mainFrame());
      assert.doesNotMatch((await framed?.locator('body').innerText()) ?? '', /Live|Tabs/);
    } finally {
      await viewers.close();
      await evil.close();
    }
  });

  it('view links serve only the files of a recording, whatever the name', async () => {
    const folder = `${home()}/recordings/${recId}`;
    for (const name of assetNames) {
      const reply = await get(`${folder}/${name}`, bearer());
      assert.equal(reply.status, 404, name);
      assert.doesNotMatch(reply.text, /root:|"rec_id"|EXTM3U/, name);
      assert.equal(reply.headers.get('location'), null, name);
      assert.ok(!reply.text.includes(service.dataDir), name);
    }
    for (const path of [
      `${home()}/recordings/${recId}`,
      `${home()}/recordings/${recId}/`,
      `${home()}/recordings/..%2f${recId}/recording.json`,
      `${home('ses_none')}/recordings/${recId}/recording.json`,
      `${home()}/recordings/rec_none/recording.json`,
    ]) {
      const { status } = await get(path, bearer());
      assert.equal(status, 404, path);
    }
    assert.equal((await get(`${folder}/recording.json`, bearer())).status, 200);
  });

  it('view links run nothing of a recording in the service’s origin', async () => {
    const assets = (await client.call(listRecordings, { params: params() })).body[0]?.assets ?? [];
    assert.ok(assets.includes('recording.json') && assets.includes('events.ndjson'), assets.join());
    for (const name of assets.filter((asset) => asset !== 'index.html')) {
      const { headers, status } = await get(`${home()}/recordings/${recId}/${name}`, bearer());
      assert.equal(status, 200, name);
      assert.doesNotMatch(headers.get('content-type') ?? '', /html|javascript|svg|xml/, name);
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox/, name);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', name);
    }
  });

  it('view links serve one file for the VNC window without redirects', async () => {
    const token = await mint('vnc');
    for (const path of windowPaths) {
      const reply = await get(`${home()}/vnc${path}?token=${token}`);
      assert.equal(reply.status, 404, path);
      assert.equal(reply.headers.get('location'), null, path);
    }
    assert.equal((await get(`${home()}/vnc/vnc.html?token=${token}`)).status, 200);
    for (const path of staticPaths) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  it('view links echo nothing of the address on the error page', async () => {
    const accept = { accept: 'text/html' };
    for (const path of [
      `/v1/session/%3Cscript%3Ealert(1)%3C%2Fscript%3E/live-view?token=%3Cimg%20src=x%3E`,
      `${home()}/vnc/%3Cb%3E?token=x`,
      `${home()}/recordings/%3Cb%3E/%3Ci%3E?token=x`,
    ]) {
      const { status, text, headers } = await get(path, accept);
      assert.ok(status >= 400 && status < 500, String(status));
      assert.match(headers.get('content-type') ?? '', /^text\/html/);
      assert.doesNotMatch(text, /alert\(1\)|src=x|<b>|<i>/);
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
    }
    // Bytes that no client library would send.
    const raw = await sendBytes(
      service.url,
      `GET ${addresses().live}?token=\x01<script> HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n\r\n`,
    );
    assert.match(raw, /^HTTP\/1\.1 4\d\d /);
    assert.doesNotMatch(raw, /<script>/);
  });

  it('view-only sockets have their input ignored, and one that sends invalid messages is closed', async () => {
    const watcher = await openViewer(`${socketAt(home() + sockets.live)}?token=${await mint('view')}`);
    for (const command of [
      { type: 'navigate', to: 'url', url: `${site.url}/blue` },
      { type: 'text', text: 'x' },
      { type: 'tab', action: 'open' },
      { type: 'resize', width: 400, height: 400 },
      { type: 'copy' },
      { type: 'answer', prompt_id: 1, accept: true },
      { type: 'upload', upload: 1, name: 'a.txt', data: 'eA==', is_last: true },
    ])
      watcher.socket.send(JSON.stringify(command));
    await eventually(
      'each was refused',
      () => watcher.messages.filter((message) => message.type === 'failed' && message.code === 'not_allowed').length === 7,
    );
    const seen = (await client.call(getSession, { params: params() })).body;
    assert.deepEqual([seen.current_url, seen.tabs.open], [`${site.url}/moving`, 1]);
    for (const nonsense of nonsenses) {
      const { socket, closed } = await openViewer(`${socketAt(home() + sockets.live)}?token=${await mint('control')}`);
      socket.send(nonsense);
      assert.equal(await closed, viewCloseCodes.bad_message, nonsense);
    }
  });

  it('view sockets send at most two unacknowledged frames', async () => {
    const address = `${socketAt(home() + sockets.live)}?token=${await mint('view')}`;
    const [silent, other] = [await openViewer(address), await openViewer(address, { acknowledges: true })];
    await eventually('another viewer has received many frames', () => other.frames() >= 12);
    assert.ok(silent.frames() >= 1 && silent.frames() <= framesInFlightMax, `${silent.frames()} pictures`);
  });

  it('view sockets are closed when their link or key is revoked', async () => {
    const made = (await client.call(createKey, { body: { owner: 'local' } })).body;
    const byKey = await openViewer(`${socketAt(home() + sockets.live)}?token=${await mint('view', { key: made.key ?? '' })}`);
    const byLink = await openViewer(`${socketAt(home() + sockets.live)}?token=${await mint('view')}`);
    const window = await openViewer(`${socketAt(home() + sockets.vnc)}?token=${await mint('vnc')}`);
    const cookie = await cookieFor('view');
    await client.call(revokeKey, { params: { key_id: made.key_id } });
    assert.equal(await byKey.closed, viewCloseCodes.unauthorized);
    assert.equal(byLink.socket.readyState, WebSocket.OPEN);
    await client.call(revokeViewTokens, { params: params() });
    assert.deepEqual(await Promise.all([byLink.closed, window.closed]), [viewCloseCodes.unauthorized, viewCloseCodes.unauthorized]);
    assert.equal((await get(addresses().live, { cookie })).status, 403);
    assert.equal((await refusedSocket(socketAt(home() + sockets.live), { cookie, origin: service.url })).status, 403);
    // A link created in the same millisecond is revoked as well.
    await eventually('a new link opens', async () => (await get(`${addresses().live}?token=${await mint('view')}`)).status === 200);
  });

  it('view links leave no viewer and no link in the log', async () => {
    await eventually(
      'no viewer is counted',
      async () => (await client.call(getSession, { params: params() })).body.connections.viewers === 0,
    );
    const log = service.errors + service.output.replace(/^.*Authorization.*$/gm, '');
    assert.match(log, /live-view/, 'the log does not contain these requests');
    assert.ok(secrets.length > 20);
    for (const secret of secrets.filter((each) => each.length > 8)) assert.ok(!log.includes(secret), `in the log: ${secret}`);
    assert.doesNotMatch(log, /token=/);
    await client.call(endSession, { params: params() });
  });
});

/** Sends raw bytes and returns the response. */
async function sendBytes(origin: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.end(bytes);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

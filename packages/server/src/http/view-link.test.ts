import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { PathId, ServiceError, endpoint } from '@berth/contract';
import { WebSocket } from 'ws';
import { z } from 'zod';
import type { Log } from '@berth/lib/log.ts';
import type { Call } from './call.ts';
import type { Credentials, Guards } from '../accounts/principals/principals.ts';
import { auth, goodKey, guards, sendRaw, serve } from '../../testing/server.ts';
import type { Http } from './server/server.ts';
import { viewCookieName, viewCookiesOf } from './view-cookie.ts';

const common = { tag: 'Viewing', summary: 'A test.', method: 'GET', status: 200, errors: [] } as const;
const watched = { ...common, params: z.object({ id: PathId }), query: z.object({ token: z.string().max(20).optional() }) };
const page = endpoint({ ...watched, id: 'page', path: '/s/{id}/view', auth: 'view', replyKind: 'html', reply: z.string() });
const recording = endpoint({ ...watched, id: 'recording', path: '/s/{id}/recording', auth: 'recording', reply: z.object({}) });
const socket = endpoint({ ...watched, id: 'socket', path: '/s/{id}/view/socket', auth: 'view', replyKind: 'websocket', status: 101 });
const stream = endpoint({ ...watched, id: 'stream', path: '/s/{id}/vnc/stream', auth: 'vnc', replyKind: 'websocket', status: 101 });
const other = endpoint({ ...common, id: 'other', path: '/other', auth: 'bearer', reply: z.object({}) });

const failures: Record<string, () => Error> = {
  ended: () => new ServiceError('session_ended', 'It is "over" & <b>gone</b>.'),
  broken: () => new Error('secret inside'),
};
const orFail = <T>({ params }: { params: { id: string } }, value: T): T => {
  const failure = failures[params.id];
  if (failure) throw failure();
  return value;
};
/** The connection of a stream that its handler does not read. */
let unread: Socket | undefined;
const mount = (http: Http): void => {
  http.on(page, (call) => orFail(call, '<!doctype html><p>the page'));
  http.on(recording, (call) => orFail(call, {}));
  http.on(other, () => {
    throw new ServiceError('session_ended', 'It is over.');
  });
  http.onSocket(socket, async (_call, { accept }) => {
    const webSocket = await accept({ messageBytesMax: 1000 });
    webSocket.on('message', (data, isBinary) => webSocket.send(data, { binary: isBinary }));
  });
  http.onSocket(stream, async ({ params }, { acceptStream, socket: connection }) => {
    const opened = await acceptStream({ messageBytesMax: 100_000 });
    if (params.id === 'echo') opened.stream.pipe(opened.stream);
    else unread = connection as Socket;
  });
};
const errorPage = (status: number, message: string): string => `<!doctype html><title>${status}</title><p>${message}`;

interface ErrorSummary {
  status: number;
  code: string;
}
const summarize = async (response: Response): Promise<ErrorSummary> => ({
  status: response.status,
  code: ((await response.json()) as { code: string }).code,
});
const missing: ErrorSummary = { status: 401, code: 'missing_view_token' };
const invalid: ErrorSummary = { status: 403, code: 'invalid_view_token' };

describe('a link', () => {
  test('a view link opens by its token, and from then on by the cookie', async (t) => {
    const { origin } = await serve(t, mount);
    for (const [path, headers] of [
      ['/s/a/view?token=good', {}],
      ['/s/a/view', { cookie: 'berth-view=good' }],
      ['/s/a/view?token=', { cookie: 'theme=dark; berth-view=planted;berth-view=good; x' }],
      ['/s/a/recording?token=good', {}],
      ['/s/a/recording', auth],
    ] as [string, Record<string, string>][]) {
      const response = await fetch(`${origin}${path}`, { headers });
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    }
  });

  test('a request without a valid form of view token is 401 missing', async (t) => {
    const { origin } = await serve(t, mount);
    for (const [path, headers] of [
      ['/s/a/view', {}],
      ['/s/a/view?token=', {}],
      ['/s/a/view?token=good&token=good', {}],
      ['/s/a/view?Token=good', {}],
      ['/s/a/view', auth],
      ['/s/a/view', { cookie: 'berth-view=; xberth-view=good; berth-viewx=good; token=good; Berth-View=good' }],
      ['/s/a/view', { cookie: '__Secure-berth-view=good' }],
      ['/s/a/recording', {}],
      ['/s/a/recording', { authorization: 'Bearer ' }],
      ['/s/a/view', { authorization: 'Basic good' }],
    ] as [string, Record<string, string>][]) {
      const response = await fetch(`${origin}${path}`, { headers });
      assert.equal(response.headers.get('www-authenticate'), 'ViewToken realm="berth", query="token"');
      assert.deepEqual(await summarize(response), missing, `${path} ${JSON.stringify(headers)}`);
    }
  });

  test('a header that may hold a key in another form is malformed where the view link is missing', async (t) => {
    const { origin } = await serve(t, mount);
    for (const authorization of ['Basic good', goodKey, `Bearer ${goodKey} ${goodKey}`]) {
      const response = await fetch(`${origin}/s/a/recording`, { headers: { authorization } });
      assert.equal((await summarize(response)).code, 'invalid_api_key', authorization);
      // A proxy in front may have a sign-in of its own, whose header browsers send with every request.
      const withLink = await fetch(`${origin}/s/a/recording?token=good`, { headers: { authorization } });
      assert.equal(withLink.status, 200, authorization);
    }
  });

  test('a view link with a wrong token is invalid, whatever cookie or key comes with it', async (t) => {
    const { origin } = await serve(t, mount);
    for (const [path, headers] of [
      ['/s/a/view?token=wrong', { cookie: 'berth-view=good' }],
      [`/s/a/view?token=${goodKey}`, {}],
      ['/s/a/recording?token=wrong', auth],
      ['/s/a/view', { cookie: 'berth-view=wrong' }],
    ] as [string, Record<string, string>][]) {
      const response = await fetch(`${origin}${path}`, { headers });
      assert.equal(response.headers.get('www-authenticate'), null);
      assert.deepEqual(await summarize(response), invalid, path);
    }
  });

  test('a view link of a service behind TLS has the cookie that only TLS can set', async (t) => {
    const { origin } = await serve(t, mount, { publicUrl: 'https://berth.example' });
    const by = async (cookie: string): Promise<number> => (await fetch(`${origin}/s/a/view`, { headers: { cookie } })).status;
    assert.equal(await by('__Secure-berth-view=good'), 200);
    assert.equal(await by('berth-view=good'), 401);
  });

  test('only the guard of recordings gets a key beside the cookie', async (t) => {
    const seen: Credentials[] = [];
    const noting = (guard: Guards['view']) => (credentials: Credentials) => {
      seen.push(credentials);
      return guard(credentials);
    };
    const { origin } = await serve(t, mount, { guards: { ...guards, view: noting(guards.view), recording: noting(guards.recording) } });
    const headers = { ...auth, cookie: 'berth-view=good' };
    for (const place of ['view', 'recording']) await fetch(`${origin}/s/a/${place}`, { headers });
    assert.deepEqual(
      seen.map(({ authorization, viewCookies }) => [authorization, viewCookies]),
      [
        [undefined, ['good']],
        [auth.authorization, ['good']],
      ],
    );
  });
});

describe('a cookie header', () => {
  test('a cookie header gives all values of the one name', () => {
    assert.deepEqual(viewCookiesOf('a=1; n=x ;n=y;  n=z=;n=;nn=1;n', 'n'), ['x', 'y', 'z=']);
    assert.deepEqual(viewCookiesOf(undefined, 'n'), []);
  });

  test('a cookie header is read for the name that belongs to the address', () => {
    assert.equal(viewCookieName('http://a.example'), 'berth-view');
    assert.equal(viewCookieName('https://a.example'), '__Secure-berth-view');
  });
});

const statusOf = async (url: string, headers: Record<string, string>): Promise<number> => {
  const webSocket = new WebSocket(url, { headers });
  webSocket.on('error', () => {});
  const outcome = await Promise.race([
    once(webSocket, 'open').then(() => 101),
    once(webSocket, 'unexpected-response').then(([, response]) => (response as { statusCode: number }).statusCode),
  ]);
  webSocket.terminate();
  return outcome;
};

describe('a socket', () => {
  test('a WebSocket with a cookie must come from a page of the service', async (t) => {
    const { origin } = await serve(t, mount);
    const url = `${origin.replace('http', 'ws')}/s/a/view/socket`;
    const cookie = 'berth-view=good';
    assert.equal(await statusOf(url, { cookie, origin }), 101);
    assert.equal(await statusOf(url, { cookie }), 403);
    assert.equal(await statusOf(url, { cookie, origin: 'null' }), 403);
    assert.equal(await statusOf(url, { cookie, origin: 'https://evil.example' }), 403);
    assert.equal(await statusOf(url, { cookie, origin: `${origin}.evil.example` }), 403);
    assert.equal(await statusOf(`${url}?token=good`, {}), 101);
    assert.equal(await statusOf(`${url}?token=good`, { origin }), 101);
    assert.equal(await statusOf(`${url}?token=good`, { origin: 'https://evil.example' }), 403);
    assert.equal(await statusOf(`${url}?token=wrong`, { origin }), 403);
    assert.equal(await statusOf(url, { origin }), 401);
    assert.equal(await statusOf(url, { ...auth, origin }), 401);
  });

  test('a WebSocket takes the origin of a public address that has a path and the default port', async (t) => {
    const { origin } = await serve(t, mount, { publicUrl: 'https://Berth.example:443/browsers' });
    const url = `${origin.replace('http', 'ws')}/s/a/view/socket`;
    assert.equal(await statusOf(url, { cookie: '__Secure-berth-view=good', origin: 'https://berth.example' }), 101);
    assert.equal(await statusOf(url, { cookie: '__Secure-berth-view=good', origin }), 403);
  });

  test('a WebSocket is closed when a message is larger than its handler takes, which is another handler’s small one', async (t) => {
    const { origin } = await serve(t, mount);
    const base = origin.replace('http', 'ws');
    const small = new WebSocket(`${base}/s/a/view/socket?token=good`);
    const large = new WebSocket(`${base}/s/echo/vnc/stream?token=good`);
    await Promise.all([once(small, 'open'), once(large, 'open')]);
    const closed = once(small, 'close') as Promise<[number]>;
    small.send(Buffer.alloc(1001));
    assert.equal((await closed)[0], 1009);
    const back = once(large, 'message') as Promise<[Buffer]>;
    large.send(Buffer.alloc(1001, 7));
    assert.deepEqual((await back)[0], Buffer.alloc(1001, 7));
    large.close();
    await once(large, 'close');
  });
});

describe('a socket as a stream', () => {
  const open = async (origin: string, id: string): Promise<WebSocket> => {
    const webSocket = new WebSocket(`${origin.replace('http', 'ws')}/s/${id}/vnc/stream?token=good`);
    await once(webSocket, 'open');
    return webSocket;
  };

  test('a WebSocket as a stream carries bytes both ways, in order', async (t) => {
    const { origin } = await serve(t, mount);
    const webSocket = await open(origin, 'echo');
    const sent = Array.from({ length: 200 }, (_, n) => Buffer.alloc(1 + n * 13, n));
    const wanted = Buffer.concat(sent);
    const received: Buffer[] = [];
    let bytes = 0;
    const whole = new Promise<void>((resolve) => {
      webSocket.on('message', (data: Buffer, isBinary) => {
        assert.ok(isBinary);
        received.push(data);
        if ((bytes += data.length) === wanted.length) resolve();
      });
    });
    for (const piece of sent) webSocket.send(piece);
    await whole;
    assert.ok(Buffer.concat(received).equals(wanted));
    webSocket.close();
    await once(webSocket, 'close');
  });

  test('a WebSocket as a stream is closed with 1003 by a text, which never reaches the bytes', async (t) => {
    const { origin } = await serve(t, mount);
    const webSocket = await open(origin, 'echo');
    const received: Buffer[] = [];
    webSocket.on('message', (data: Buffer) => received.push(data));
    webSocket.send(Buffer.from('bytes'));
    webSocket.send('a text');
    const [code, reason] = (await once(webSocket, 'close')) as [number, Buffer];
    assert.deepEqual([code, reason.toString()], [1003, 'binary_only']);
    assert.ok(!Buffer.concat(received).includes('text'));
  });

  test('a WebSocket as a stream takes no more from its sender than its reader reads', async (t) => {
    const { origin } = await serve(t, mount);
    const webSocket = await open(origin, 'unread');
    const sent = 64 * 1024 * 1024;
    for (let n = 0; n < sent; n += 65_536) webSocket.send(Buffer.alloc(65_536));
    const taken = (): number => unread?.bytesRead ?? 0;
    while (taken() === 0) await sleep(5);
    let before = -1;
    for (; before !== taken(); await sleep(100)) before = taken();
    assert.ok(before > 0 && before < sent / 2, `${before} bytes were taken that nobody reads`);
    webSocket.terminate();
    await once(webSocket, 'close');
  });
});

describe('a person whose link opens nothing', () => {
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

  test('a person with an invalid view link gets a page with the same status, in which nothing is markup', async (t) => {
    const { origin } = await serve(t, mount, { errorPage });
    for (const [path, status, text] of [
      ['/s/ended/view?token=good', 409, 'It is &quot;over&quot; &amp; &lt;b&gt;gone&lt;/b&gt;.'],
      ['/s/a/view?token=wrong', 403, 'This link is not valid.'],
      ['/s/ended/recording?token=good', 409, '&lt;b&gt;'],
      ['/s/a/view?token=good&a=%00', 422, 'This link is not complete, or was changed.'],
      ['/no/<such>/page', 404, 'Not found: no endpoint matches GET /no/%3Csuch%3E/page. See /docs.'],
    ] as const) {
      const response = await fetch(`${origin}${path}`, { headers: html });
      const body = await response.text();
      assert.equal(response.status, status, path);
      assert.ok(body.startsWith(`<!doctype html><title>${status}</title>`) && body.includes(text), body);
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.deepEqual(
        ['cache-control', 'referrer-policy', 'x-content-type-options'].map((name) => response.headers.get(name)),
        ['no-store', 'no-referrer', 'nosniff'],
      );
      assert.match(
        response.headers.get('content-security-policy') ?? '',
        /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
      );
      assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
    }
  });

  test('a person without a view link gets a page and the challenge that a program gets', async (t) => {
    const { origin } = await serve(t, mount, { errorPage });
    const response = await fetch(`${origin}/s/a/view`, { headers: html });
    assert.deepEqual([response.status, response.headers.has('www-authenticate')], [401, true]);
    assert.match(await response.text(), /^<!doctype html>/);
  });

  test('the error page of a view link has no details of an internal error', async (t) => {
    const { origin } = await serve(t, mount, { errorPage });
    const response = await fetch(`${origin}/s/broken/view?token=good`, { headers: html });
    assert.equal(response.status, 500);
    assert.ok(!(await response.text()).includes('secret'));
  });

  test('programs with an invalid view link get JSON', async (t) => {
    const { origin } = await serve(t, mount, { errorPage });
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }] as Record<string, string>[])
      assert.deepEqual(await summarize(await fetch(`${origin}/s/a/view?token=wrong`, { headers })), invalid);
    assert.deepEqual(await summarize(await fetch(`${origin}/other`, { headers: { ...html, ...auth } })), {
      status: 409,
      code: 'session_ended',
    });
  });

  test('a person with an invalid view link gets JSON where the service has no page for it', async (t) => {
    const { origin } = await serve(t, mount);
    assert.deepEqual(await summarize(await fetch(`${origin}/s/a/view?token=wrong`, { headers: html })), invalid);
  });
});

describe('a token', () => {
  test('a view token is in no line of the log, wherever in the address it stands', async (t) => {
    const lines: string[] = [];
    const write = (fields: object, message: string): void => void lines.push(`${JSON.stringify(fields)} ${message}`);
    const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
    const { origin, port } = await serve(t, mount, { log });
    for (const path of ['/s/a/view?token=tok3n', '/s/a/view%3Ftoken=tok3n', '/s/a/view%3ftoken%3dtok3n', '/nowhere?token=tok3n'])
      await (await fetch(`${origin}${path}`)).text();
    await statusOf(`${origin.replace('http', 'ws')}/s/a/view/socket?token=tok3n`, {});
    await sendRaw(port, 'GET /s/a/view?token=tok3n HTTP/1.0\r\nCookie: berth-view=tok3n\r\n\r\n');
    assert.ok(lines.length >= 5, lines.join('\n'));
    assert.ok(!lines.some((line) => line.includes('tok3n')), lines.join('\n'));
  });
});

describe('a static file', () => {
  test('a static file is cached for as long as its mount says', async (t) => {
    const headers = { 'cache-control': 'public, max-age=31536000, immutable' };
    const { origin } = await serve(t, (http) =>
      http.asset('/static/page-1a2b.js', { contentType: 'text/javascript; charset=utf-8', headers, load: () => Buffer.from('1;') }),
    );
    const response = await fetch(`${origin}/static/page-1a2b.js`);
    assert.equal(await response.text(), '1;');
    assert.deepEqual(
      [response.headers.get('cache-control'), response.headers.get('x-content-type-options')],
      [headers['cache-control'], 'nosniff'],
    );
    assert.equal((await fetch(`${origin}/static/page-1a2b.js`, { method: 'HEAD' })).headers.get('content-length'), '2');
    assert.equal(response.headers.get('vary'), null);
  });

  test('a static file is sent in an encoding that the client accepts', async (t) => {
    const text = 'let a;'.repeat(100);
    const encodings = new Map([
      ['br', brotliCompressSync(text)],
      ['gzip', gzipSync(text)],
    ]);
    const { origin } = await serve(t, (http) =>
      http.asset('/static/a.js', { contentType: 'text/javascript; charset=utf-8', headers: {}, load: () => text, encodings }),
    );
    const accepted = {
      'gzip, deflate, br': 'br',
      'gzip, deflate': 'gzip',
      'br;q=0, gzip;q=0.5': 'gzip',
      '*': 'br',
      identity: null,
      'deflate, zstd': null,
      '': null,
      ';;q=,': null,
    };
    for (const [accept, encoding] of Object.entries(accepted)) {
      const response = await fetch(`${origin}/static/a.js`, { headers: { 'accept-encoding': accept } });
      assert.equal(await response.text(), text, accept);
      const { headers } = response;
      assert.deepEqual([headers.get('content-encoding'), headers.get('vary')], [encoding, 'accept-encoding'], accept);
      const length = encoding === null ? text.length : encodings.get(encoding)?.length;
      assert.equal(headers.get('content-length'), String(length), accept);
    }
  });
});

const seen: Call['principal'][] = [];
describe('a handler', () => {
  test('a view handler learns whether it is the first load', async (t) => {
    const { origin } = await serve(t, (http) =>
      http.on(page, ({ principal }) => {
        seen.push(principal);
        return '';
      }),
    );
    await fetch(`${origin}/s/a/view?token=good`);
    await fetch(`${origin}/s/a/view`, { headers: { cookie: 'berth-view=good' } });
    assert.deepEqual(
      seen.map(({ viewer }) => viewer?.isFirstLoad),
      [true, false],
    );
  });
});

/** Every field of every body with every invalid value of its schema, and malformed bodies. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import {
  createSession,
  createViewToken,
  errors,
  fetchPage,
  getSession,
  listAllSessions,
  listSessions,
  navigate,
  openLiveView,
  saveLiveViewDownload,
  openTab,
  runActions,
  ValidationBody,
  type Endpoint,
} from '@berth/contract';
import { bodySchemaOf, goodRequest, nameOf, overHttp, withBody, wrongValues } from '../contract/contract-table.ts';
import { adminKey, pathOf, startApp, type TestApp } from '../harness.ts';

let served: TestApp;
let sessionId = '';
/** Takes a quarter of a minute, so it is awaited last. */
let slowReply: Promise<string>;

before(async () => {
  served = await startApp();
  slowReply = sendSlowly();
  slowReply.catch(() => undefined);
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

/** Sends half a body, and returns what is answered. */
async function sendSlowly(): Promise<string> {
  const { port, hostname } = new URL(served.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /v1/session HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${served.key}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"name":',
  );
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.includes('request_timeout')) break;
  }
  return text;
}

const ids = () => ({ session_id: sessionId });
const issuesOf = (endpoint: Endpoint, body: unknown) =>
  served.issues(endpoint, { params: goodRequest(endpoint, ids()).params, rawBody: JSON.stringify(body) });
const sendRaw = (endpoint: Endpoint, rawBody: string, headers: Record<string, string> = {}) =>
  served.call(endpoint, { params: goodRequest(endpoint, ids()).params, rawBody, headers });

for (const endpoint of withBody) {
  const schema = bodySchemaOf(endpoint);
  const good = goodRequest(endpoint, { session_id: 'any' }).body ?? {};
  const fields = Object.entries(schema.properties ?? {});

  describe(`the body of ${nameOf(endpoint)}`, () => {
    for (const [field, wanted] of fields)
      it(`the body of ${nameOf(endpoint)} is refused with a wrong type or an out-of-bounds value in \`${field}\``, async () => {
        const wrong = wrongValues(wanted, { isOptional: !schema.required?.includes(field) });
        assert.ok(wrong.length >= 4, 'the schema gives little to try');
        for (const { value, types, why } of wrong) {
          const issues = await issuesOf(endpoint, { ...good, [field]: value });
          const here = issues.filter(({ loc }) => loc[0] === 'body' && loc[1] === field);
          assert.ok(here.length > 0, `${why}: no issue names the field: ${JSON.stringify(issues)}`);
          const nested = here.some(({ loc }) => loc.length > 2);
          assert.ok(
            nested || here.some(({ type }) => types.includes(type)),
            `${why}: reported as ${here.map(({ type }) => type).join(', ')}, not ${types.join(' or ')}`,
          );
        }
      });

    it(`the body of ${nameOf(endpoint)} has all issues reported in one response`, async () => {
      const all = Object.fromEntries(fields.map(([field, wanted]) => [field, wrongValues(wanted)[0]?.value]));
      const issues = await issuesOf(endpoint, { ...all, no_such_field: 1 });
      for (const field of [...fields.map(([name]) => name), 'no_such_field'])
        assert.ok(
          issues.some(({ loc }) => loc[1] === field),
          `${field} is not reported`,
        );
    });

    it(`the body of ${nameOf(endpoint)} is refused with an undeclared field`, async () => {
      const [issue, ...more] = await issuesOf(endpoint, { ...good, timeout: 30 });
      assert.deepEqual([issue?.loc, issue?.type, issue?.input, more], [['body', 'timeout'], 'extra_forbidden', 30, []]);
    });

    for (const field of schema.required ?? [])
      it(`the body of ${nameOf(endpoint)} is refused without \`${field}\``, async () => {
        const [issue] = await issuesOf(endpoint, Object.fromEntries(Object.entries(good).filter(([name]) => name !== field)));
        assert.deepEqual([issue?.loc, issue?.type, issue?.msg], [['body', field], 'missing', 'Field required']);
      });

    it(`the body of ${nameOf(endpoint)} is ${endpoint.bodyOptional ? 'optional' : 'required'}`, async () => {
      const request = { params: goodRequest(endpoint, ids()).params };
      const issues = endpoint.bodyOptional ? [] : [[['body'], 'missing']];
      const reply = await served.call(endpoint, request);
      assert.deepEqual(reply.status === 422 ? (await served.issues(endpoint, request)).map(({ loc, type }) => [loc, type]) : [], issues);
    });

    it(`the body of ${nameOf(endpoint)} must be an object`, async () => {
      for (const value of ['text', 7, true, null, []])
        assert.deepEqual(
          (await issuesOf(endpoint, value)).map(({ loc, type }) => [loc, type]),
          [[['body'], 'dict_type']],
          String(value),
        );
    });

    it(`the body of ${nameOf(endpoint)} must be JSON, and an invalid body is not echoed`, async () => {
      for (const text of [
        '{',
        '{"password":"hunter2",}',
        "{'a':1}",
        'url=about:blank',
        '{"a":1}{"b":2}',
        '\u0000',
        '{"a":NaN}',
        '[[',
        '{"a":01}',
        '//x\n{}',
      ]) {
        const reply = await sendRaw(endpoint, text);
        assert.equal(reply.status, 422, text);
        assert.match(reply.text, /"type":"json_invalid"/);
        assert.ok(!reply.text.includes('hunter2'));
      }
    });

    it(`the body of ${nameOf(endpoint)} is refused with duplicate keys and excessive nesting`, async () => {
      for (const text of [
        '{"name":"a","name":"b"}',
        `{"metadata":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
        `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
      ])
        assert.match((await sendRaw(endpoint, text)).text, /"type":"json_invalid"/, text.slice(0, 30));
    });

    it(`the body of ${nameOf(endpoint)} cannot change a prototype`, async () => {
      for (const text of [
        '{"__proto__":{"admin":true}}',
        '{"constructor":{"prototype":{"admin":true}}}',
        '{"\\u005f_proto__":{}}',
        '{"metadata":{"__proto__":"x"}}',
      ]) {
        const reply = await sendRaw(endpoint, text);
        assert.equal(reply.status, 422, text);
        assert.match(reply.text, /"type":"extra_forbidden"/);
      }
      assert.equal(({} as { admin?: boolean }).admin, undefined);
    });

    it(`the body of ${nameOf(endpoint)} is answered unsupported_media_type with another content type`, async () => {
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        ...(endpoint.multipart ? [] : ['multipart/form-data; boundary=x']),
        'application/jsonx',
        'application/json\tx',
        'application/json, text/plain',
        'text/json',
        'application/json; charset=utf-16',
      ];
      for (const type of types) assert.equal((await sendRaw(endpoint, JSON.stringify(good), { 'content-type': type })).status, 415, type);
      assert.equal((await sendRaw(endpoint, JSON.stringify(good), { 'content-encoding': 'gzip' })).status, 415);
    });

    it(`the body of ${nameOf(endpoint)} is answered body_too_large above its limit`, async () => {
      const reply = await sendRaw(endpoint, JSON.stringify({ ...good, filler: 'x'.repeat(endpoint.bodyLimitBytes ?? 1024 * 1024) }));
      assert.equal(reply.status, 413);
    });
  });
}

describe('null in optional fields', () => {
  it('null in an optional field is the same as no field, also in nested objects', async () => {
    const { properties = {} } = bodySchemaOf(withBody.find(({ id }) => id === createSession.id) ?? assert.fail());
    const body = Object.fromEntries(Object.keys(properties).map((name) => [name, null]));
    const {
      body: session,
      status,
      text,
    } = await served.call(createSession, {
      body: { ...body, viewport: { width: 800, height: 600, device_scale_factor: null }, captcha: { mode: null, provider: null } },
    });
    assert.equal(status, 201, text);
    assert.deepEqual(
      [session.kind, session.viewport, session.timeout_seconds, session.keep_alive],
      ['headless', { width: 800, height: 600, device_scale_factor: 1 }, 900, true],
    );
    const params = { session_id: session.session_id };
    const run = {
      actions: [{ type: 'wait', ms: 1, timeout_ms: null, save_as: null, if: null }],
      recording: null,
      tab_id: null,
      inputs: null,
    };
    assert.equal((await served.call(runActions, { params, body: run })).body.results[0]?.status, 'ok');
    const [issue] = await served.issues(navigate, { params, body: { url: null, referer: null } });
    assert.deepEqual([issue?.loc, issue?.type], [['body', 'url'], 'string_type']);
  });
});

describe('a request that takes no body', () => {
  it('a request that takes no body refuses fields', async () => {
    const reply = await served.call(getSession, { params: { session_id: sessionId } });
    assert.equal(reply.status, 200);
    const rotated = await fetch(`${served.url}/v1/session/${sessionId}/rotate-ip`, {
      method: 'POST',
      headers: { authorization: `Bearer ${served.key}`, 'content-type': 'application/json' },
      body: '{"url":"about:blank"}',
    });
    assert.equal(rotated.status, 422);
  });
});

describe('a request that cannot be read', () => {
  const params = { ...goodRequest(getSession, { session_id: 'a' }).params, path: 'vnc.html' };
  for (const endpoint of overHttp.filter(({ path }) => path.startsWith('/v1') || path.startsWith('/admin')))
    it(`a malformed or too long request to ${nameOf(endpoint)} is answered as its description says`, async () => {
      const long = await served.refuse(endpoint, 'uri_too_long', { params, query: { filler: 'x'.repeat(9000) } });
      assert.equal(long.details['limit_bytes'], 8192);
      await served.refuse(endpoint, 'headers_too_large', { params, headers: { 'x-filler': 'x'.repeat(20_000) } });
      if (!endpoint.path.includes('{')) return;
      const malformed = await fetch(served.url + endpoint.path.replace(/\{\w+\}/g, '%ff'), { method: endpoint.method });
      assert.equal(malformed.status, errors['bad_request'].status);
    });
});

/** Addresses that are not web pages: files, browser pages, code, and unsupported protocols. */
const forbiddenUrls = [
  'file:///etc/passwd',
  'FILE:///etc/passwd',
  'file://localhost/etc/passwd',
  'view-source:file:///etc/passwd',
  'view-source:https://example.com/',
  'chrome://version',
  'chrome://gpu',
  'CHROME://crash',
  'chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/index.html',
  'devtools://devtools/bundled/inspector.html',
  'about:version',
  'about:srcdoc',
  'about:',
  'data:text/html,<h1>x</h1>',
  'javascript:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  'blob:https://example.com/1',
  'filesystem:http://example.com/temporary/x',
  'ftp://example.com/',
  'gopher://example.com/',
  'smtp://example.com/',
  'ws://example.com/',
  'mailto:a@example.com',
  'intent://example.com/#Intent;end',
];
const noUrls = ['', 'example.com', '//example.com/', '/path', 'http://', 'https://a b/', 'http://[::1', 'http://exa mple/'];

describe('an address that is not a web page', () => {
  const uses: [string, Endpoint, (url: string) => Record<string, unknown>, string][] = [
    ['navigate to', navigate, (url) => ({ url }), 'url'],
    ['give as referer', navigate, (url) => ({ url: 'about:blank', referer: url }), 'referer'],
    ['open a tab at', openTab, (url) => ({ url }), 'url'],
    ['start with', createSession, (url) => ({ start_url: url }), 'start_url'],
    ['fetch', fetchPage, (url) => ({ url }), 'url'],
  ];
  for (const [what, endpoint, bodyFor, field] of uses)
    it(`an address that is not a web page is refused by ${what}`, async () => {
      const before = await served.call(getSession, { params: { session_id: sessionId } });
      for (const url of forbiddenUrls)
        assert.deepEqual(
          (await issuesOf(endpoint, bodyFor(url))).map(({ loc, type }) => [loc, type]),
          [[['body', field], 'url_scheme']],
          url,
        );
      for (const url of noUrls)
        assert.deepEqual(
          (await issuesOf(endpoint, bodyFor(url))).map(({ loc, type }) => [loc, type]),
          [[['body', field], 'url_parsing']],
          url,
        );
      const after = await served.call(getSession, { params: { session_id: sessionId } });
      assert.deepEqual(
        [after.body.current_url, after.body.tabs, after.body.usage.actions],
        [before.body.current_url, before.body.tabs, before.body.usage.actions],
      );
    });
});

describe('a query', () => {
  const wrong: [Record<string, string>, string, string][] = [
    [{ limit: '0' }, 'limit', 'greater_than_equal'],
    [{ limit: '-1' }, 'limit', 'greater_than_equal'],
    [{ limit: '501' }, 'limit', 'less_than_equal'],
    [{ limit: '1e9' }, 'limit', 'int_parsing'],
    [{ limit: 'abc' }, 'limit', 'int_parsing'],
    [{ limit: '1.5' }, 'limit', 'int_parsing'],
    [{ limit: '' }, 'limit', 'int_parsing'],
    [{ limit: '99999999999999999999' }, 'limit', 'int_parsing'],
    [{ cursor: '' }, 'cursor', 'string_too_short'],
    [{ cursor: 'nonsense' }, 'cursor', 'value_error'],
    [{ cursor: Buffer.from('[1]').toString('base64url') }, 'cursor', 'value_error'],
    [{ cursor: Buffer.from('[1e400,"x"]').toString('base64url') }, 'cursor', 'value_error'],
    [{ cursor: Buffer.from('[9007199254740991,"x"]').toString('base64url') }, 'cursor', 'value_error'],
    [{ cursor: Buffer.from('[0,"a\\u0000b"]').toString('base64url') }, 'cursor', 'value_error'],
    [{ status: 'readyy' }, 'status', 'literal_error'],
    [{ status: 'ready,' }, 'status', 'literal_error'],
    [{ no_such: '1' }, 'no_such', 'extra_forbidden'],
    [{ constructor: '1' }, 'constructor', 'extra_forbidden'],
  ];
  for (const endpoint of [listSessions, listAllSessions])
    for (const [query, field, type] of wrong)
      it(`a query of ${nameOf(endpoint)} is refused as ${type}: ${JSON.stringify(query)}`, async () => {
        const issues = await served.issues(endpoint, { query });
        assert.deepEqual([issues[0]?.loc.slice(0, 2), issues[0]?.type], [['query', field], type]);
      });

  /** Links, also to the dashboard, probes and connect tokens have tests of their own, and documents are files. */
  const pages: readonly string[] = ['docs', 'openapi', 'openDashboard', 'openDashboardPage', 'health', 'livez'];
  const withQuery = overHttp.filter(
    ({ auth, id }) => !['view', 'vnc', 'recording', 'report', 'connectPath'].includes(auth) && !pages.includes(id),
  );
  for (const endpoint of withQuery)
    it(`a query of ${nameOf(endpoint)} has no unknown parameter`, async () => {
      const request = goodRequest(endpoint, ids());
      const issues = await served.issues(endpoint, { ...request, query: { ...request.query, no_such: '1' } });
      const here = issues.filter(({ loc }) => loc[1] === 'no_such').map(({ loc, type }) => [loc[0], type]);
      assert.deepEqual(here, [['query', 'extra_forbidden']]);
    });

  it('a link may have parameters that mail programs add, and what its page sends may not', async () => {
    const { token } = (await served.call(createViewToken, { params: { session_id: sessionId } })).body;
    const request = { key: null, params: { session_id: sessionId }, query: { token: token ?? '', utm_source: 'mail', fbclid: '1' } };
    assert.equal((await served.call(openLiveView, request)).status, 200);
    const [issue] = await served.issues(saveLiveViewDownload, { ...request, params: { ...request.params, download_id: 'dl_1' } });
    assert.deepEqual([issue?.loc, issue?.type], [['query', 'utm_source'], 'extra_forbidden']);
  });

  it('a query with a repeated parameter is refused', async () => {
    const response = await fetch(`${served.url}/v1/sessions?limit=1&limit=2`, { headers: { authorization: `Bearer ${served.key}` } });
    assert.equal(response.status, 422);
  });

  it('a query and a body report their issues together', async () => {
    const issues = await served.issues(createSession, { query: { wait: 'maybe', extra: '1' }, body: { kind: 'tall', timeout_seconds: 1 } });
    assert.deepEqual(issues.map(({ loc }) => loc.join('.')).toSorted(), ['body.kind', 'body.timeout_seconds', 'query.extra', 'query.wait']);
  });

  it('a query and a path with a NUL are refused before the database', async () => {
    const path = pathOf(getSession, { params: { session_id: 'a\u0000b' } });
    const response = await fetch(served.url + path, { headers: { authorization: `Bearer ${served.key}`, 'x-admin-key': adminKey } });
    assert.ok([404, 422].includes(response.status), `${response.status}`);
  });
});

describe('a refused body', () => {
  it('a refused body has the code, the request id and a hint where every error has them', async () => {
    const cases: [Endpoint, string, string, string][] = [
      [navigate, '{"url":"example.com"}', 'Add `https://`.', 'body.url: Input should be a valid URL. Add `https://`.'],
      [
        createSession,
        '{"timeout":30,"ttl":1}',
        'Did you mean `timeout_seconds`?',
        'body.timeout: Extra inputs are not permitted (and 1 more). Did you mean `timeout_seconds`?',
      ],
    ];
    for (const [endpoint, text, hint, message] of cases) {
      const reply = await sendRaw(endpoint, text, { 'x-request-id': 'mine-422' });
      const { error, code, detail } = ValidationBody.parse(reply.body);
      assert.deepEqual(error, { code: 'validation_error', message, hint, retryable: false, request_id: 'mine-422', details: {} });
      assert.deepEqual([code, detail[0]?.hint], ['validation_error', hint]);
    }
  });

  it('a missing body is refused with what to send', async () => {
    const hintOf = async (endpoint: Endpoint): Promise<string | undefined> =>
      (await served.issues(endpoint, { params: goodRequest(endpoint, ids()).params }))[0]?.hint;
    assert.equal(await hintOf(createSession), 'Send `{}` for the defaults, as JSON.');
    assert.equal(await hintOf(navigate), 'Send a JSON object with `url`.');
  });
});

describe('a validation issue', () => {
  it('a validation issue echoes at most 200 characters of the input', async () => {
    const [issue] = await issuesOf(createSession, { name: 'n'.repeat(5000) });
    assert.equal(issue?.input, 'n'.repeat(200));
  });

  it('validation issues are at most a hundred, in a small reply, whatever is sent', async () => {
    const many = (count: number, of: (index: number) => [string, unknown]): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => of(index)));
    const fields = many(100, (index) => [`f${index}`, { selectors: Array.from({ length: 20 }, () => Array<string>(8).fill('')) }]);
    const bodies: Record<string, unknown>[] = [
      { headers: many(100_000, (index) => [`bad name ${index}`, 'v']) },
      many(100_000, (index) => [`field${index}`, 1]),
      { ['k'.repeat(1_000_000)]: 1 },
      { actions: Array.from({ length: 50 }, () => ({ type: 'extract', fields })) },
      { cookies: Array.from({ length: 100 }, () => ({ x: 1 })) },
    ];
    for (const body of bodies) {
      const reply = await sendRaw(fetchPage, JSON.stringify({ url: 'http://site.test/', ...body }));
      assert.equal(reply.status, 422);
      const { detail, omitted = 0 } = ValidationBody.parse(reply.body);
      assert.ok(reply.text.length < 100_000, `${reply.text.length} characters`);
      assert.ok(detail.length < 100 ? omitted === 0 : omitted > 0, `${detail.length} and ${omitted}`);
    }
  });

  it('a validation issue contains no secret', async () => {
    const reply = await sendRaw(
      createSession,
      JSON.stringify({
        proxy: {
          type: 'external',
          server: 'http://user:hunter2@proxy.example:1',
          username: 7,
          password: ['hunter2'],
          no_such: { token: 'hunter2' },
        },
      }),
    );
    assert.equal(reply.status, 422);
    assert.ok(!reply.text.includes('hunter2'), reply.text);
  });
});

describe('a body that arrives too slowly', () => {
  it('a body that arrives too slowly is answered request_timeout', async () => {
    const text = await slowReply;
    assert.match(text, /^HTTP\/1.1 408 /);
    assert.match(text, /"code":"request_timeout"/);
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { InspectApi } from '@berth/contract';
import type { Entry } from 'har-format';
import { yardsticksOf } from '../../../../tests/yardstick.ts';
import { entry, inputOf, page, secret, type EntryOptions } from '../../testing/captures.ts';
import { createApi } from './api.ts';
import { isValue } from './templates.ts';
import { SchemaBuilder } from './schema.ts';

const api = 'https://api.shop.test';
const call = (path: string, options: EntryOptions = {}): Entry =>
  entry(path.startsWith('http') ? path : api + path, { type: 'fetch', reply: '{}', ...options });
const reply = (value: unknown): string => JSON.stringify(value);
const section = (entries: Entry[], fields: Parameters<typeof inputOf>[0] = {}) =>
  createApi(inputOf({ entries, ...fields }), { openapi: true, client: true, samples: true }).section;
const endpoint = (entries: Entry[], fields: Parameters<typeof inputOf>[0] = {}) => section(entries, fields).endpoints[0]!;
const names = (entries: Entry[]): string[] => section(entries).endpoints.map(({ method, path_template: path }) => `${method} ${path}`);
const uuid = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

describe('path templates', () => {
  it('path templates have a parameter for each id, named after its collection', () => {
    assert.deepEqual(
      names([call('/v1/customers/4711/orders'), call(`/v1/customers/4712/orders/${uuid}/lines`), call('/stock-levels/QS-0003')]),
      [
        'GET /v1/customers/{customer_id}/orders',
        'GET /v1/customers/{customer_id}/orders/{order_id}/lines',
        'GET /stock-levels/{stock_level_id}',
      ],
    );
    assert.deepEqual(names([call('/tiles/10/531/330')]), ['GET /tiles/{tile_id}/{tile_id_2}/{tile_id_3}']);
  });

  it('path templates have a parameter for words where three and more of a collection have the same reply, and nowhere else', () => {
    const product = { reply: reply({ sku: 'a', price: 1 }) };
    assert.deepEqual(names(['blue-shirt', 'red-hat', 'sock'].map((slug) => call(`/products/${slug}`, product))), [
      'GET /products/{product_id}',
    ]);
    assert.equal(names(['orders', 'parcels', 'crews'].map((noun) => call(`/v1/${noun}`, product))).length, 3);
    assert.equal(names(['blue-shirt', 'red-hat'].map((slug) => call(`/products/${slug}`, product))).length, 2);
  });

  it('path templates distinguish ids from words and versions', () => {
    for (const value of ['42', uuid, '{{token_1}}', '507f1f77bcf86cd799439011', 'prod_8812ab', '2026-01-01', '01HV6Z3J8K9QW2E4R5T6Y7U8I9'])
      assert.equal(isValue(value, 'things'), true, value);
    for (const word of ['orders', 'v2', '2.1', 'oauth2', 'openid-configuration', 'sha256', 'add', 'facade', 'deadbeef'])
      assert.equal(isValue(word, 'api'), false, word);
  });
});

describe('parameters', () => {
  it('API parameters have types, formats, and lists of values only where there are samples enough', () => {
    const statuses = ['open', 'paid', 'open', 'paid', 'open', 'paid', 'open', 'paid'];
    const { params } = endpoint(
      statuses.map((status, i) => call(`/orders?status=${status}&page=${i}&since=2026-01-0${i + 1}${i > 3 ? '&deep=true' : ''}`)),
    );
    assert.deepEqual(
      params.query.map(({ name, type, format, enum: values, required }) => ({ name, type, format, values, required })),
      [
        { name: 'status', type: 'string', format: null, values: ['open', 'paid'], required: true },
        { name: 'page', type: 'integer', format: null, values: null, required: true },
        { name: 'since', type: 'string', format: 'date', values: null, required: true },
        { name: 'deep', type: 'boolean', format: null, values: null, required: false },
      ],
    );
    assert.equal(endpoint([call('/orders?status=open'), call('/orders?status=open')]).params.query[0]?.enum, null);
  });

  it('API parameters have the headers of the API, and none that browsers and networks write', () => {
    const headers = {
      'X-Api-Key': '{{api_key_1}}',
      'user-agent': 'x',
      'sec-ch-ua': 'x',
      accept: '*/*',
      cookie: 'a={{cookie_1}}',
      traceparent: '00',
      authorization: 'Bearer {{jwt_1}}',
    };
    assert.deepEqual(
      endpoint([call('/a', { headers })]).params.header.map(({ name }) => name),
      ['x-api-key'],
    );
  });
});

describe('schemas', () => {
  const schemaOf = (...values: unknown[]): unknown => {
    const builder = new SchemaBuilder();
    for (const value of values) builder.add(value as never);
    return builder.toSchema();
  };

  it('API schemas have types, required fields, formats, nulls and mixed numbers', () => {
    assert.deepEqual(schemaOf({ id: uuid, n: 1, at: null, mail: '{{email_1}}' }, { id: uuid, n: 1.5, at: '2026-01-01', tags: ['a'] }), {
      type: 'object',
      properties: {
        at: { type: ['string', 'null'], format: 'date' },
        id: { type: 'string', format: 'uuid' },
        mail: { type: 'string', format: 'email' },
        n: { type: 'number' },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['at', 'id', 'n'],
    });
  });

  it('API schemas have lists of values only of words that repeat', () => {
    const many = (values: unknown[]) => (schemaOf(values) as { items: { enum?: string[] } }).items.enum;
    assert.deepEqual(many(['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b']), ['a', 'b']);
    assert.equal(many(['a', 'b', 'a', 'b']), undefined);
    assert.equal(many(['a', 'b', 'c', 'd', 'e', 'f', 'a', 'b']), undefined);
    assert.equal(many(['red shoe', 'hat', 'red shoe', 'hat', 'hat', 'hat', 'hat', 'hat']), undefined);
  });

  it('API schemas have a map where keys are ids, and keys named __proto__', () => {
    assert.deepEqual(schemaOf({ '1': { n: 1 }, '2': { n: 2 } }), {
      type: 'object',
      additionalProperties: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    });
    const schema = schemaOf(JSON.parse('{"__proto__":{"x":1},"a":1}')) as { required: string[] };
    assert.deepEqual(schema.required, ['__proto__', 'a']);
    assert.equal(({} as { x?: number }).x, undefined);
  });

  it('API schemas are bounded for deep and wide values', () => {
    const deep = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown;
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key${i}a`, i]));
    assert.equal(JSON.stringify(schemaOf(deep, wide)).length < 100_000, true);
  });
});

describe('pagination', () => {
  const style = (entries: Entry[]) => {
    const { pagination } = endpoint(entries);
    return pagination && [pagination.style, pagination.params, pagination.next];
  };

  it('pagination by pages, offsets, cursors and links is recognized', () => {
    assert.deepEqual(style([call('/o?page=1&per_page=5'), call('/o?page=2&per_page=5')]), ['page', ['page', 'per_page'], null]);
    assert.deepEqual(style([call('/o?offset=0&limit=5'), call('/o?offset=5&limit=5')]), ['offset', ['offset', 'limit'], null]);
    const next = { reply: reply({ items: [], next_cursor: 'YQ' }) };
    assert.deepEqual(style([call('/o?limit=5', next), call('/o?limit=5&cursor=YQ', next)]), [
      'cursor',
      ['cursor', 'limit'],
      '$.next_cursor',
    ]);
    const link = { replyHeaders: { link: '</o?after=3>; rel="next"' } };
    assert.deepEqual(style([call('/o', link), call('/o?after=3', link)]), ['link', ['after'], 'header link']);
  });

  it('pagination is not seen in a field that only has such a name', () => {
    assert.equal(style([call('/o?page=/home'), call('/o?page=/cart')]), null);
    assert.equal(style([call('/o?from=paris')]), null);
  });
});

describe('dependencies', () => {
  const entries = [
    call('/login', { method: 'POST', body: reply({ user: 'u' }), reply: reply({ token: '{{jwt_1}}', customer: { id: 4711 } }) }),
    call('/customers/4711/orders?page=100', {
      headers: { authorization: 'Bearer {{jwt_1}}' },
      reply: reply({ data: [{ id: uuid }], next_cursor: 'YWZ0ZXI6MTA' }),
    }),
    call('/customers/4711/orders?page=101&cursor=YWZ0ZXI6MTA'),
    call(`/orders/${uuid}`),
    call('/notes', { method: 'POST', body: reply({ order_id: uuid, text: 'hello there' }) }),
  ];

  it('dependencies between endpoints name the field of the earlier reply that has the value', () => {
    const edges = section(entries).endpoints.flatMap(({ id, depends_on: list }) =>
      list.map((one) => `${id} ${one.in} ${one.field} < ${one.endpoint_id} ${one.json_path} ${one.evidence.join(' ')}`),
    );
    assert.deepEqual(edges, [
      'E2 path customer_id < E1 $.customer.id r0 r1',
      'E2 header authorization < E1 $.token r0 r1',
      'E2 query cursor < E2 $.next_cursor r1 r2',
      'E3 path order_id < E2 $.data[*].id r1 r3',
      'E4 body order_id < E2 $.data[*].id r1 r4',
    ]);
  });

  it('dependencies between endpoints are not inferred from values that are equal by chance', () => {
    const chance = [
      call('/a', { reply: reply({ total: 100, flag: true, mail: '{{email_1}}' }) }),
      call('/b?limit=100&x=true&mail={{email_1}}'),
    ];
    assert.deepEqual(section(chance).endpoints[1]?.depends_on, []);
  });
});

describe('authentication of an endpoint', () => {
  it('authentication of an endpoint is required where calls without were refused, and not where one succeeded', () => {
    const bearer = { headers: { authorization: 'Bearer {{jwt_1}}' } };
    assert.equal(endpoint([call('/me', { status: 401 }), call('/me', bearer)]).auth_required, 'yes');
    assert.equal(endpoint([call('/me', bearer), call('/me')]).auth_required, 'no');
    assert.deepEqual(endpoint([call('/me', bearer)]).auth_refs, [{ in: 'header', name: 'authorization', scheme: 'bearer' }]);
    assert.equal(endpoint([call('/me', { headers: { cookie: 'sid={{cookie_1}}' } })]).auth_required, 'unknown');
    assert.equal(endpoint([call('/me', bearer), call('/me')]).replayable, 'yes');
    assert.equal(endpoint([call('/me', bearer)]).replayable, 'needs_token');
  });

  it('authentication of an endpoint names the CSRF token and its source', () => {
    const calls = [call('/n', { method: 'POST', headers: { 'x-csrf-token': '{{csrf_token_1}}' } })];
    const csrfIn = (html: string, ...at: string[]) =>
      endpoint(calls, { secrets: [secret('{{csrf_token_1}}', { kind: 'csrf_token', at })], pages: [page({ html })] });
    const { csrf, replayable } = csrfIn(
      '<meta name="csrf-token" content="{{csrf_token_1}}">',
      'page_html - csrf-token',
      'set_cookie 0 csrf',
    );
    assert.deepEqual(csrf, { in: 'header', name: 'x-csrf-token', source: 'meta' });
    assert.equal(replayable, 'needs_token');
    assert.equal(csrfIn('', 'response_body 0 csrfToken').csrf?.source, 'body');
  });
});

describe('the kind of an endpoint', () => {
  const kindOf = (path: string) => endpoint([call(path, { method: 'POST', body: '{"a":1}' })]).kind;

  it('an endpoint is rpc where the path names a procedure', () => {
    for (const path of ['/rpc/search', '/rest/v1/rpc/nearest_shop', '/shop.v1.Orders/List', '/twirp/shop.Orders/ListOpen'])
      assert.equal(kindOf(path), 'rpc', path);
    for (const path of ['/orders', '/rpc', '/v1.2/Orders', '/files/a.txt', '/Orders/List']) assert.equal(kindOf(path), 'rest', path);
  });
});

describe('GraphQL, WebSockets and event streams', () => {
  it('GraphQL operations are reported, plain and persisted, once each', () => {
    const query = 'query One($id: ID!) { product(id: $id) { name } }';
    const { graphql, endpoints } = section([
      call('/graphql', { method: 'POST', body: reply({ query, variables: { id: '1' } }) }),
      call('/graphql', {
        method: 'POST',
        body: reply({ operationName: 'One', variables: { id: '2' }, extensions: { persistedQuery: { sha256Hash: 'abc' } } }),
      }),
    ]);
    assert.equal(endpoints[0]?.kind, 'graphql');
    assert.deepEqual(graphql[0]?.operations, [
      {
        ...{ name: 'One', type: 'query', root_fields: ['product'], hash: 'abc', calls: 2 },
        variables_schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      },
    ]);
  });

  it('WebSockets have a protocol, with the confidence of the evidence', () => {
    const guessed = (url: string, ...data: string[]) => {
      const messages = data.map((each) => ({ type: 'receive', time: 1, opcode: 1, data: each }));
      const [socket] = section([entry(url, { type: 'websocket', status: 101, fields: { _webSocketMessages: messages } })]).websockets;
      return [socket?.protocol_guess, socket?.confidence, socket?.evidence];
    };
    assert.deepEqual(guessed('wss://shop.test/io?EIO=4', '0{}'), ['socket.io', 'high', ['r0']]);
    assert.deepEqual(guessed('wss://shop.test/hub', '{"type":6}\u001e'), ['signalr', 'high', ['r0']]);
    assert.deepEqual(guessed('wss://shop.test/live?vsn=2.0.0', 'x'), ['phoenix', 'medium', ['r0']]);
    assert.deepEqual(guessed('wss://shop.test/ws', '{"a":1}'), ['json', 'high', ['r0']]);
    assert.deepEqual(guessed('wss://shop.test/ws', '{"a":1}', 'ping'), ['json', 'medium', ['r0']]);
    assert.deepEqual(guessed('wss://shop.test/ws', 'ping'), ['raw', 'medium', ['r0']]);
    assert.deepEqual(guessed('wss://shop.test/ws'), ['raw', 'low', ['r0']]);
  });

  it('a GraphQL document of a million fields is counted and left out', () => {
    const query = `query A { ${'a{'.repeat(200_000)}${'}'.repeat(200_000)} }`;
    const { graphql } = section([call('/graphql', { method: 'POST', body: reply({ query }) })]);
    assert.deepEqual(
      graphql[0]?.operations.map(({ type, calls }) => [type, calls]),
      [['unknown', 1]],
    );
  });

  it('messages of WebSockets and event streams are reported by type and direction', () => {
    const messages = [
      ['send', '{"type":"sub","id":1}'],
      ['receive', '{"type":"price","n":1}'],
      ['receive', '{"type":"price","n":2}'],
    ];
    const socket = entry('wss://shop.test/ws', {
      type: 'websocket',
      status: 101,
      fields: { _webSocketMessages: messages.map(([type, data]) => ({ type, data, time: 0, opcode: 1 })) },
    });
    const stream = entry('https://shop.test/stock?n=1', {
      type: 'eventsource',
      mimeType: 'text/event-stream',
      reply: 'event: stock\nid: 1\ndata: {"n":1}\n\ndata: x\n\n',
    });
    const { websockets, event_streams: streams } = section([socket, stream]);
    assert.deepEqual(
      websockets[0]?.message_types.map(({ direction, discriminator, count }) => [direction, discriminator, count]),
      [
        ['sent', 'type=sub', 1],
        ['received', 'type=price', 2],
      ],
    );
    assert.deepEqual(
      streams[0]?.events.map(({ name, count }) => [name, count]),
      [
        ['stock', 1],
        ['message', 1],
      ],
    );
  });
});

describe('the section', () => {
  const entries = [
    call('/v1/orders?page=1', {
      reply: reply({ data: [{ id: 1, 'odd "key"': null }] }),
      headers: { authorization: 'Bearer {{jwt_1}}', 'x-tenant': 'a' },
    }),
    call('/v1/orders/1', { method: 'PATCH', body: reply({ text: "it's" }), status: 422, reply: reply({ error: { code: 'x' } }) }),
    call('/v1/form', { method: 'POST', body: 'a=1&b=2', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    call('/v1/file', {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: '--b\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\nx\r\n--b--',
    }),
    call('https://other.test/v1/orders?page=x', { status: 204, reply: '', mimeType: '' }),
    call('/v1/search?q=*/%0Aalert()', { headers: { 'x-api-key': '{{api_key_1}}' } }),
    call('/v1/none', { status: 0 }),
  ];

  it('the API section matches the contract, and each request knows its endpoint', () => {
    const input = inputOf({ entries });
    const { section: made, endpointOf } = createApi(input, { openapi: true, client: true, samples: true });
    assert.deepEqual(InspectApi.parse(made), made);
    assert.deepEqual(input.exchanges.map(endpointOf), ['E1', 'E2', 'E3', 'E4', 'E5', 'E6', 'E7']);
  });

  it('the API section has an OpenAPI document that a public validator accepts', async () => {
    const { openapi } = section(entries);
    assert.equal(openapi?.['openapi'], '3.1.0');
    const { valid, errors } = await new Validator().validate(structuredClone(openapi ?? {}));
    assert.deepEqual(errors ?? null, null);
    assert.equal(valid, true);
  });

  it('the API section has the same bytes for the same capture', () => {
    assert.equal(JSON.stringify(section(entries)), JSON.stringify(section(structuredClone(entries))));
  });

  it('the API section has the bytes of the golden file', () => {
    const golden = readFileSync(join(import.meta.dirname, 'api.golden.json'), 'utf8');
    assert.equal(JSON.stringify(section(entries)), JSON.stringify(JSON.parse(golden)));
  });

  it('the API section takes linear time for many words of one collection', async () => {
    const many = Array.from({ length: 5000 }, (_, i) =>
      call(
        `/things/items/${'abcdefghij'[i % 10]}${'klmnopqrst'[Math.floor(i / 10) % 10]}word-${String.fromCharCode(97 + (i % 26))}${'x'.repeat(i % 190)}`,
        { reply: '{"a":1}' },
      ),
    );
    const yardsticks = await yardsticksOf(() => assert.deepEqual(names(many).slice(-1), ['GET /things/items/{item_id}']));
    assert.ok(yardsticks < 500, `${yardsticks} yardsticks`);
  });

  it('the API section has a command that repeats a call', () => {
    assert.equal(section(entries).endpoints[1]?.curl, `curl -X PATCH https://api.shop.test/v1/orders/1 --data-raw '{"text":"it'\\''s"}'`);
  });

  it('the API section is empty without calls', () => {
    const { endpoints, openapi, client } = section([entry('https://shop.test/')]);
    assert.deepEqual([endpoints, typeof openapi, typeof client], [[], 'object', 'string']);
  });
});

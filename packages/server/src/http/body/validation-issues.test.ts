import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CreateSessionRequest,
  FetchRequest,
  ListSessionsQuery,
  NavigateRequest,
  RunActionsRequest,
  ValidationIssue,
  endpoints,
} from '@berth/contract';
import * as fc from 'fast-check';
import { z } from 'zod';
import { yardsticksOf } from '../../../../../tests/yardstick.ts';
import { parsePart } from '@berth/lib/validation/issues.ts';
import { parseJson } from './json.ts';

const faultsOf = (schema: z.ZodType, value: unknown): ValidationIssue[] => {
  const parsed = parsePart('body', schema, value);
  return parsed.ok ? [] : parsed.issues;
};
const only = (schema: z.ZodType, value: unknown): ValidationIssue => {
  const [fault, ...more] = faultsOf(z.strictObject({ f: schema }), { f: value });
  assert.ok(fault);
  assert.deepEqual(more, []);
  assert.deepEqual(fault.loc, ['body', 'f']);
  return fault;
};

test('validation issues are named as pydantic names them', () => {
  const cases: [z.ZodType, unknown, string, object][] = [
    [z.string(), 1, 'string_type', {}],
    [z.string(), null, 'string_type', {}],
    [z.int(), 'x', 'int_parsing', {}],
    [z.int().min(3), 'x', 'int_parsing', {}],
    [z.int().optional(), 1.5, 'int_parsing', {}],
    [z.int().nullable(), true, 'int_parsing', {}],
    [z.int().default(3), [], 'int_parsing', {}],
    [z.boolean(), 'yes', 'bool_parsing', {}],
    [z.number(), 'x', 'float_parsing', {}],
    [z.int().min(30), 29, 'greater_than_equal', { ge: 30 }],
    [z.int().max(30), 31, 'less_than_equal', { le: 30 }],
    [z.number().gt(0), 0, 'greater_than', { gt: 0 }],
    [z.string().min(1), '', 'string_too_short', { min_length: 1 }],
    [z.string().max(2), 'abc', 'string_too_long', { max_length: 2 }],
    [z.string().regex(/^a+$/), 'b', 'string_pattern_mismatch', { pattern: '^a+$' }],
    [z.enum(['a', 'b', 'c']), 'd', 'literal_error', { expected: "'a', 'b' or 'c'" }],
    [z.literal('a'), 1, 'literal_error', { expected: "'a'" }],
    [z.array(z.string()), {}, 'list_type', {}],
    [z.array(z.string()).min(1), [], 'too_short', { min_length: 1 }],
    [z.array(z.string()).max(1), ['a', 'b'], 'too_long', { max_length: 1 }],
    [z.object({}), [], 'dict_type', {}],
    [z.record(z.string(), z.string()), 'x', 'dict_type', {}],
    [z.string().refine(() => false, { error: 'No', params: { type: 'locale', ctx: { x: 1 } } }), 'a', 'locale', { x: 1 }],
  ];
  for (const [schema, value, type, ctx] of cases) {
    const fault = only(schema, value);
    assert.equal(fault.type, type);
    assert.deepEqual(fault.ctx, ctx);
    assert.ok(fault.msg.length > 0);
  }
  assert.equal(faultsOf(z.strictObject({ f: z.int() }), { f: 1e300 })[0]?.type, 'less_than_equal');
});

test('the issue of a missing field shows the object that it is missing from', () => {
  assert.deepEqual(faultsOf(NavigateRequest, { tab_id: 'a' }), [
    { loc: ['body', 'url'], msg: 'Field required', type: 'missing', input: { tab_id: 'a' }, ctx: {} },
  ]);
  assert.deepEqual(faultsOf(z.object({ e: z.enum(['a']) }), {})[0]?.type, 'missing');
});

test('unknown keys are reported beside other issues, one for each key and at any depth', () => {
  const faults = faultsOf(CreateSessionRequest, {
    timeout: 1,
    ttl: 2,
    timeout_seconds: '5',
    idle_timeout_seconds: 3,
    viewport: { width: 1, height: 700, depth: 24 },
    block_resources: ['image', 'x'],
    extra_headers: { 'bad name': 'x', host: 'y' },
  });
  assert.deepEqual(
    new Set(faults.map(({ loc, type }) => `${loc.join('.')} ${type}`)),
    new Set([
      'body.timeout extra_forbidden',
      'body.ttl extra_forbidden',
      'body.timeout_seconds int_parsing',
      'body.idle_timeout_seconds greater_than_equal',
      'body.viewport.width greater_than_equal',
      'body.viewport.depth extra_forbidden',
      'body.block_resources.1 literal_error',
      'body.extra_headers.bad name.[key] string_pattern_mismatch',
      'body.extra_headers.host.[key] header_not_allowed',
    ]),
  );
});

test('an issue between two fields is reported together with an unknown key', () => {
  const faults = faultsOf(CreateSessionRequest, { timeout_seconds: 60, idle_timeout_seconds: 61, oops: 1 });
  assert.deepEqual(
    faults.map(({ type, ctx }) => [type, ctx]),
    [
      ['extra_forbidden', {}],
      ['less_than_equal', { le: 60 }],
    ],
  );
});

test('issues hint at the field that is meant and at a missing scheme, and otherwise give no hint', () => {
  const hints = (schema: z.ZodType, value: unknown): (string | undefined)[] => faultsOf(schema, value).map(({ hint }) => hint);
  assert.deepEqual(hints(CreateSessionRequest, { timeout: 30, viewport: { width: 800, height: 600, scale_factor: 2 }, colour: 1 }), [
    'Did you mean `device_scale_factor`?',
    'Did you mean `timeout_seconds`?',
    undefined,
  ]);
  for (const [url, hint] of [
    ['example.com', 'Add `https://`.'],
    ['www.example.com/a?b', 'Add `https://`.'],
    ['example.com:8443/', 'Add `https://`.'],
    ['localhost:3000', 'Add `http://`.'],
    ['127.0.0.1:3000/a', 'Add `http://`.'],
    ['/path', undefined],
    ['file:///etc/passwd', undefined],
    ['mailto:a@example.com', undefined],
    ['user:hunter2@example.com', undefined],
    ['', undefined],
  ] as const)
    assert.deepEqual(hints(NavigateRequest, { url }), [hint], url);
});

test('issues hint at the words of other tools, and write a value in the type that its field has', () => {
  const hintsOf = (schema: z.ZodType, value: unknown): string[] => faultsOf(schema, value).flatMap(({ hint }) => hint ?? []);
  const url = 'https://example.com/';
  const cases: [z.ZodType, object, string][] = [
    [CreateSessionRequest, { profile: 'shop' }, 'Write `{"name":"shop"}`.'],
    [CreateSessionRequest, { profile: true }, 'Write an object: `{…}`.'],
    [CreateSessionRequest, { captcha: 'detect' }, 'Write `{"mode":"detect"}`.'],
    [CreateSessionRequest, { block_resources: 'image' }, 'Write `["image"]`.'],
    [CreateSessionRequest, { metadata: 'prices' }, 'Write `{"job":"prices"}`.'],
    [CreateSessionRequest, { timeout_seconds: '60' }, 'Write `60`, without quotes.'],
    [CreateSessionRequest, { record: 'true' }, 'Write `true`, without quotes.'],
    [CreateSessionRequest, { name: 7 }, 'Write `"7"`.'],
    [CreateSessionRequest, { kind: 'headed' }, 'Did you mean `full_browser`?'],
    [CreateSessionRequest, { kind: 'headles' }, 'Did you mean `headless`?'],
    [CreateSessionRequest, { headers: {} }, 'Did you mean `extra_headers`?'],
    [FetchRequest, { url, formats: ['md'] }, 'Did you mean `markdown`?'],
    [FetchRequest, { url, formats: 'text' }, 'Write `["text"]`.'],
    [FetchRequest, { url, wait_for: '#list' }, 'Write `{"selector":"#list"}`.'],
    [NavigateRequest, { url, wait_until: 'networkidle2' }, 'Did you mean `networkidle`?'],
    [RunActionsRequest, { steps: [{ type: 'goto', url }] }, 'Did you mean `actions`?'],
    [RunActionsRequest, { actions: [{ type: 'goto', url }] }, 'Did you mean `navigate`?'],
    [RunActionsRequest, { actions: [{ type: 'fill', selectors: ['#q'], text: 'tea' }] }, 'Did you mean `value`?'],
    [RunActionsRequest, { actions: [{ type: 'click', selectors: '#buy' }] }, 'Write `["#buy"]`.'],
    [RunActionsRequest, { actions: [{ type: 'click', selector: '#buy' }] }, 'Did you mean `selectors`?'],
    [RunActionsRequest, { actions: [{ type: 'wait', sleep: 5 }] }, 'Did you mean `ms`?'],
  ];
  for (const [schema, value, hint] of cases)
    assert.ok(hintsOf(schema, value).includes(hint), `${hint}: ${hintsOf(schema, value).join(' ')}`);
  for (const { msg } of faultsOf(CreateSessionRequest, { profile: 'shop', viewport: [], metadata: 'x' }))
    assert.doesNotMatch(msg, /dictionary/);
});

test('hints of a validation issue show nothing that the issue hides', () => {
  const proxy = 'http://user:hunter2@proxy.example:3128';
  for (const value of [{ proxy }, { extra_headers: 'authorization: hunter2' }, { storage_state: 'hunter2' }])
    for (const { hint } of faultsOf(CreateSessionRequest, value)) assert.doesNotMatch(hint ?? '', /hunter2/);
});

test('selectors of other tools are refused with the same selector in the step language', () => {
  for (const [selector, hint] of [
    ['text=Go', 'Write `text/Go`.'],
    ['text="Add to basket"', 'Write `text/Add to basket`.'],
    ['button:has-text("Buy now")', 'Write `text/Buy now`.'],
    ['a:contains(More)', 'Write `text/More`.'],
    ['role=button[name="Go"]', 'Write `aria/Go[role="button"]`.'],
    ["getByRole('link', { name: 'Home' })", 'Write `aria/Home[role="link"]`.'],
    ["page.getByText('Go')", 'Write `text/Go`.'],
    ['data-testid=total', 'Write `testid/total`.'],
    ['id=main', 'Write `#main`.'],
    ['css=.price', 'Write `.price`.'],
    ['xpath=//a', 'Write `xpath///a`.'],
    ['iframe#card >> input', 'Write a list: `["iframe#card","input"]`.'],
    ['my-menu >>> button', 'Write a list: `["my-menu","button"]`.'],
    ['.item:visible', 'Leave out the last pseudo-class, which is not CSS: the first visible match is used.'],
  ] as const) {
    const issues = faultsOf(RunActionsRequest, { actions: [{ type: 'click', selectors: [selector] }] });
    assert.deepEqual(
      issues.map(({ type, hint: given }) => [type, given]),
      [['selector', hint]],
      selector,
    );
  }
  for (const selector of ['text/a >> b', '[title="a >> b"]', 'a[href*=":visible"]', 'li:first-child', 'aria/text=Go', '[data-x="text=Go"]'])
    assert.deepEqual(faultsOf(RunActionsRequest, { actions: [{ type: 'click', selectors: [selector] }] }), [], selector);
});

test('a cookie has a URL or a domain, and the defaults of Playwright', () => {
  const cookiesOf = (cookie: object): unknown =>
    CreateSessionRequest.parse({ storage_state: { cookies: [{ name: 'a', value: 'b', ...cookie }] } }).storage_state?.cookies[0];
  const common = { name: 'a', value: 'b', expires: -1, httpOnly: false };
  assert.deepEqual(cookiesOf({ url: 'https://shop.example/basket/items' }), {
    ...common,
    domain: 'shop.example',
    path: '/basket/',
    secure: true,
  });
  assert.deepEqual(cookiesOf({ url: 'http://shop.example' }), { ...common, domain: 'shop.example', path: '/', secure: false });
  assert.deepEqual(cookiesOf({ domain: '.shop.example' }), { ...common, domain: '.shop.example', path: '/', secure: false });
  const issues = (cookie: object) =>
    faultsOf(CreateSessionRequest, { storage_state: { cookies: [{ name: 'a', value: 'b', ...cookie }] } }).map(
      ({ loc, type }) => `${loc.slice(4).join('.')} ${type}`,
    );
  assert.deepEqual(issues({}), [' missing']);
  assert.deepEqual(issues({ url: 'https://a.example/', domain: 'a.example' }), ['domain value_error']);
  assert.deepEqual(issues({ url: 'https://a.example/', path: '/' }), ['path value_error']);
  assert.deepEqual(issues({ url: 'file:///etc' }), ['url url_scheme']);
});

test('malformed JSON is reported with its place and what was expected there, and nothing of its text', () => {
  for (const [text, position, problem] of [
    ['{"a": 1,\n "b": tru}', [2, 7], /double quotes/],
    ["{'a': 1}", [1, 2], /double quotes/],
    ['{"a": 1,}', [1, 9], /a name in double quotes/],
    ['{"a": 1 "b": 2}', [1, 9], /a comma/],
    ['{"a" 1}', [1, 6], /a colon/],
    ['{"a": [1, 2', [1, 12], /a closing bracket/],
    ['{"hunter2": "x', [1, 13], /does not end/],
    ['{} hunter2', [1, 4], /double quotes/],
    ['// hunter2\n{}', [1, 1], /comments/],
    ['{"a": 1,\n\n"b": {"c": 1, "c": 2}}', [3, 15], /same key twice/],
  ] as const) {
    const reading = parseJson(text);
    assert.ok(!reading.ok && 'problem' in reading, text);
    assert.deepEqual([reading.position?.line, reading.position?.column], position, text);
    assert.match(reading.problem, problem, text);
    assert.doesNotMatch(reading.problem, /hunter2/);
  }
});

test('issues give no secret back and no more input than helps', () => {
  const proxy = {
    type: 'external',
    server: 'ftp://user:hunter2@proxy',
    password: 7,
    username: ['hunter2'],
    extra: { password: 'hunter2' },
    api_key: 'hunter2',
  };
  const faults = faultsOf(CreateSessionRequest, {
    proxy,
    extra_headers: { Authorization: 'hunter2\u0001', cookie: 'hunter2\n' },
    name: 'x'.repeat(500),
    token: 'hunter2',
  });
  assert.ok(faults.length >= 8);
  assert.doesNotMatch(JSON.stringify(faults), /hunter2/);
  assert.equal(String(faults.find(({ loc }) => loc[1] === 'name')?.input).length, 200);
});

test('any JSON gets well-formed issues, and validation never throws', () => {
  const schemas = endpoints.flatMap(({ params, query, body }) => [params, query, body]).filter((schema) => schema !== undefined);
  const names = Object.keys(CreateSessionRequest.shape);
  const value = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom(...names, 'url', 'owner', '__proto__', 'password'), fc.anything()),
    fc.anything(),
  );
  fc.assert(
    fc.property(fc.constantFrom(...schemas), value, (schema, input) => {
      for (const fault of faultsOf(schema, input)) {
        assert.deepEqual(ValidationIssue.strict().parse(fault), fault);
        assert.equal(fault.loc[0], 'body');
        assert.ok(JSON.stringify(fault.input).length < 2500);
      }
    }),
    { numRuns: 1500 },
  );
});

test('every JSON without a duplicate key is parsed as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const reading = parseJson(text);
      if (reading.ok) assert.deepEqual(reading.value, JSON.parse(text));
      else assert.match(text, /__proto__|constructor|\\u/);
    }),
  );
});

test('a duplicate key is found wherever it stands and however it is spelt', () => {
  for (const text of ['{"a":1,"a":2}', '[{"a":{"b":[],"c":0,"b":1}}]', '{"a":1,"\\u0061":2}', '{"x":"{\\"","a":[1,{"a":1}],"a":0}'])
    assert.equal(parseJson(text).ok, false, text);
  for (const text of ['{"a":{"a":1},"b":{"a":1}}', '{"a":"a","b":"a"}', '["a","a"]', '{"a":["a",{"a":"a"}],"b":"\\\\"}'])
    assert.equal(parseJson(text).ok, true, text);
});

test('metadata filters are accepted as they are and other unknown names are refused', () => {
  assert.deepEqual(faultsOf(ListSessionsQuery, { 'metadata.job': 'x' }), []);
  assert.deepEqual(
    faultsOf(ListSessionsQuery, { job: 'x', limit: 'abc' })
      .map(({ type }) => type)
      .sort(),
    ['extra_forbidden', 'int_parsing'],
  );
});

test('a text of megabytes is refused as fast as a short one', async () => {
  const yardsticks = await yardsticksOf(() => {
    const { type, input } = only(z.string().max(10), 'a'.repeat(16 * 1024 * 1024));
    assert.deepEqual([type, input], ['string_too_long', 'a'.repeat(200)]);
  });
  assert.ok(yardsticks < 100, `${yardsticks} yardsticks`);
});

test('a hundred issues are listed and the others counted', () => {
  const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`field${index}`, index]));
  const parsed = parsePart('body', CreateSessionRequest, { ...unknown, kind: 'tall', timeout_seconds: 'x' });
  assert.ok(!parsed.ok);
  assert.deepEqual([parsed.issues.length, parsed.issues.length + parsed.omitted], [100, 5002]);
});

test('an issue shows no more of a name or a value than a few hundred characters', () => {
  const [issue] = faultsOf(CreateSessionRequest, { ['n'.repeat(1_000_000)]: { ['m'.repeat(1_000_000)]: 'v'.repeat(1_000_000) } });
  assert.ok(JSON.stringify(issue).length < 1500);
  const wide = Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => Array(200).fill('http://user:pass@host/'.repeat(40))));
  assert.ok(JSON.stringify(faultsOf(CreateSessionRequest, { name: wide })).length < 1500);
});

test('a long name is treated as secret, because its end is not seen', () => {
  const [issue] = faultsOf(CreateSessionRequest, { viewport: 3, [`${'n'.repeat(300)}_password`]: 'hunter2' });
  assert.doesNotMatch(JSON.stringify([issue, faultsOf(CreateSessionRequest, { [`${'n'.repeat(300)}_password`]: 'hunter2' })]), /hunter2/);
});

/** Requests for all endpoints and auth classes: valid, nearly valid, and with wrong credentials. */
import { endpoints, type Endpoint } from '@berth/contract';
import * as fc from 'fast-check';
import { z } from 'zod';
import { junk, mutate, mutations, valuesOf, type Mutation, type Overrides, type Schema } from './schema-values.ts';

export interface FuzzRequest {
  endpoint: string;
  credential: 'right' | 'none' | 'unknown';
  params: Record<string, string>;
  query: Record<string, string>;
  /** Undefined: no body. */
  rawBody: string | undefined;
  headers: Record<string, string>;
}

/** Replaced by ids of the run's own session when the request is sent. */
export const sessionMark = '@session';
export const tabMark = '@tab';

const urls = fc.constantFrom(
  'about:blank',
  'http://site.test/',
  'http://status-204.test/',
  'http://127.0.0.1:9/',
  'http://[::1]/',
  'http://169.254.169.254/latest',
  'http://site.test/{{inputs.a}}',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'http://',
  'http://user:secret@site.test/?token=x#é',
);
const isDuration = (name: string): boolean => /(^|_)(ms|seconds)$/.test(name);
const counts: Record<string, number> = { target: 2, count: 2, max: 3, retries: 1, limit: 10, max_attempts: 1 };

/** Texts that a check beside the schema accepts. */
const usual: Record<string, string[]> = {
  locale: ['en-GB', 'de'],
  timezone: ['Europe/Berlin', 'UTC'],
  region: ['local'],
  selector: ['#a', 'text/x'],
  selectors: ['#a', 'aria/x[role="button"]', 'text/{{inputs.a}}'],
  origin: ['https://site.test'],
  domain: ['site.test', '.site.test'],
  text: ['x', '/a+/i'],
  url_matches: ['*', 'x'],
  code: ['CREDIT-00000'],
  within: ['item'],
  on_error: ['fail', 'continue'],
  tab: ['main', 'newest'],
  over: ['{{vars.a}}'],
};

const overrides: Overrides = (name, schema) => {
  const { type, minimum = 0, maximum = 1000 } = schema;
  if (type === 'integer' && isDuration(name)) return fc.integer({ min: minimum, max: Math.min(maximum, minimum + 20) });
  const most = counts[name];
  if (type === 'integer' && most !== undefined) return fc.integer({ min: minimum, max: Math.max(minimum, most) });
  if (name === 'amount') return fc.constantFrom(1, 0.5, 0.000001, 1e-300, 0.1 + 0.2, 1e9);
  if (type !== 'string') return undefined;
  const texts = usual[name];
  if (texts) return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...texts) }, { weight: 1, arbitrary: fc.string() });
  if (name === 'url' || name === 'start_url' || name === 'referer' || schema.format === 'uri') return urls;
  if (name === 'tab_id') return fc.constantFrom(tabMark, 'no-tab');
  if (name === 'session_id') return fc.constantFrom(sessionMark, 'ses_000000000000000000000000');
  // The owner whose key sends the requests keeps its plan.
  if (name === 'owner') return fc.constantFrom('acme', 'a:b@c', 'x'.repeat(64));
  if (name === 'tier') return fc.constantFrom('developer', 'free', 'no-such-tier');
  return undefined;
};

const schemaOf = (schema: z.ZodType): Schema => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
const asTexts = (value: unknown): Record<string, string> =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asText(inner).toWellFormed().slice(0, 1000)]))
    : {};

/** Never a dot segment, which a client removes before it sends the path. */
const strangeIds = fc.constantFrom(
  'x',
  '...',
  'a/b',
  '%2e%2e%2f',
  'ses_0.0',
  '\0',
  'é',
  ' ',
  '"\\',
  'x'.repeat(3000),
  '__proto__',
  'a'.repeat(2) + '\r\n',
);

const paramsOf = (path: string): fc.Arbitrary<Record<string, string>> => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const own: Record<string, string> = {
    session_id: sessionMark,
    tab_id: tabMark,
    path: 'vnc.html',
    asset_path: 'index.html',
    domain: 'site.test',
  };
  return fc.record(
    Object.fromEntries(
      names.map((name) => [
        name,
        fc.oneof({ weight: 6, arbitrary: fc.constant(own[name] ?? 'no-such') }, { weight: 1, arbitrary: strangeIds }),
      ]),
    ),
  );
};

const headers: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record({ 'idempotency-key': fc.constantFrom('k1', 'k2', 'k'.repeat(255), 'k'.repeat(256), 'k 1') }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      { accept: 'text/html' },
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=latin1' },
      { 'content-encoding': 'gzip' },
      { range: 'bytes=5-1' },
      { range: 'bytes=0-0,2-3' },
      { 'last-event-id': '-1' },
      { 'last-event-id': '99999999999999999999' },
      { cookie: 'berth-view=x; berth-view=y' },
      { 'x-request-id': 'é'.normalize('NFC') },
      { 'x-forwarded-for': '1.2.3.4, ::1' },
      { origin: 'http://evil.test' },
    ),
  },
);

/** Two of three values stay as the schema has them. */
const maybeMutated = fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: mutations });

/** A body as its JSON text: mostly valid, sometimes with one changed value, cut, or none. */
function bodiesOf(endpoint: Endpoint): fc.Arbitrary<string | undefined> {
  if (endpoint.method === 'GET') return fc.constant(undefined);
  const valid = endpoint.body ? valuesOf(schemaOf(endpoint.body), overrides) : junk;
  const whole = fc.tuple(valid, maybeMutated).map(([value, mutation]) => toJson(value, mutation));
  return fc.oneof(
    { weight: endpoint.body ? 10 : 1, arbitrary: whole },
    { weight: 1, arbitrary: fc.tuple(whole, fc.nat(50)).map(([text = '', end]) => text.slice(0, end)) },
    { weight: endpoint.body ? 1 : 10, arbitrary: fc.constant(undefined) },
  );
}

const toJson = (value: unknown, mutation: Mutation | null): string | undefined =>
  JSON.stringify(mutation === null ? value : mutate(value, mutation));

function queriesOf(endpoint: Endpoint): fc.Arbitrary<Record<string, string>> {
  if (!endpoint.query) return fc.oneof({ weight: 9, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: fc.constant({ extra: '1' }) });
  return fc
    .tuple(valuesOf(schemaOf(endpoint.query), overrides), maybeMutated)
    .map(([value, mutation]) => asTexts(mutation === null ? value : mutate(value, mutation)));
}

const requestsOf = (endpoint: Endpoint): fc.Arbitrary<FuzzRequest> =>
  fc.record({
    endpoint: fc.constant(endpoint.id),
    credential: fc.oneof(
      { weight: 10, arbitrary: fc.constant('right' as const) },
      { weight: 1, arbitrary: fc.constantFrom('none' as const, 'unknown' as const) },
    ),
    params: paramsOf(endpoint.path),
    query: queriesOf(endpoint),
    rawBody: bodiesOf(endpoint),
    headers,
  });

export const requests: fc.Arbitrary<FuzzRequest> = fc.oneof(...endpoints.map(requestsOf));

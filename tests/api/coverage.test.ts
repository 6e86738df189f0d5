/** That nothing of the contract goes untested, and that no test is about something that is not there. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { endpoints, errors, errorsOf, type ErrorCode } from '@berth/contract';
import { fileOf, nameOf, suitesOf } from '../contract-table.ts';

/** The table that credentials.test.ts sends to every endpoint. */
const credentials = '../wrong-credentials.ts';

/**
 * Codes that come from what all endpoints share. Each is proven for every
 * endpoint at once, or once where it is made, and not again in each file.
 */
const coveredOnce: Partial<Record<ErrorCode, string>> = {
  missing_api_key: credentials,
  invalid_api_key: credentials,
  missing_admin_key: credentials,
  invalid_admin_key: credentials,
  invalid_connect_token: credentials,
  missing_view_token: credentials,
  invalid_view_token: credentials,
  missing_login_token: credentials,
  invalid_login_token: credentials,
  missing_metrics_token: credentials,
  invalid_metrics_token: credentials,
  login_unavailable: 'login.test.ts',
  insufficient_credits: 'metered.test.ts',
  plan_limit_exceeded: 'metered.test.ts',
  rate_limited: 'rates.test.ts',
  idempotency_conflict: 'idempotency.test.ts',
  idempotency_in_progress: 'idempotency.test.ts',
  body_too_large: 'bad-input.test.ts',
  unsupported_media_type: 'bad-input.test.ts',
  request_timeout: 'bad-input.test.ts',
  store_unavailable: 'store-down.test.ts',
  // The least deadline is 90 seconds; that deadlines are kept is tested with a short one beside the HTTP server.
  deadline_exceeded: '../../packages/server/src/http/server.test.ts',
};

/** Tests of promises that concern many endpoints. */
const tables = [
  'coverage',
  'credentials',
  'login',
  'capacity',
  'metered',
  'spending',
  'rates',
  'idempotency',
  'bad-input',
  'store-down',
  'foreign',
  'concurrency',
  'leaks',
  'timers',
  'crashes',
  'faults',
  'cursors',
  'pool',
  'fetch-attempts',
  'fetch-content',
  'fetch-machines',
];

const folder = import.meta.dirname;
const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
const textOf = (file: string): string => readFileSync(`${folder}/${file}`, 'utf8');
const suitesIn = (text: string): string[] => [...text.matchAll(/^describe\('((?:[^'\\]|\\.)+)'/gm)].map(([, title]) => title ?? '');

describe('the tests of the API', () => {
  for (const endpoint of endpoints)
    it(`have a suite for every status of ${nameOf(endpoint)}`, () => {
      const file = fileOf(endpoint);
      assert.ok(files.includes(file), `there is no ${file}`);
      const missing = suitesOf(endpoint, new Set(Object.keys(coveredOnce) as ErrorCode[]), (code) => errors[code].status).filter(
        (title) => !suitesIn(textOf(file)).includes(title),
      );
      assert.deepEqual(missing, [], `${file} has no describe for these`);
    });

  it('have no suite for a status that is not declared', () => {
    const undeclared = endpoints.flatMap((endpoint) => {
      const declared = suitesOf(endpoint, new Set(), (code) => errors[code].status);
      return suitesIn(textOf(fileOf(endpoint)))
        .filter((title) => /^\d{3}\b/.test(title) && !declared.includes(title))
        .map((title) => `${fileOf(endpoint)}: ${title}`);
    });
    assert.deepEqual(undeclared, []);
  });

  it('have no file that is about no endpoint and no table', () => {
    const known = new Set([...endpoints.map(fileOf), ...tables.map((name) => `${name}.test.ts`)]);
    assert.deepEqual(
      files.filter((file) => !known.has(file)),
      [],
    );
  });

  it('name each code that is tested once in the file that is named for it', () => {
    const untold = Object.entries(coveredOnce).filter(([code, file]) => !textOf(file).includes(code));
    assert.deepEqual(untold, []);
  });

  it('have titles that are unique in their file', () => {
    for (const file of files) {
      const titles = [...textOf(file).matchAll(/\b(?:it|test)\(\s*'((?:[^'\\]|\\.)+)'/g)].map(([, title]) => title);
      assert.deepEqual(titles.length, new Set(titles).size, `${file} has a title twice`);
    }
  });
});

describe('the contract', () => {
  it('declares no code that no endpoint can answer with', () => {
    const told = new Set(endpoints.flatMap((endpoint) => errorsOf(endpoint)));
    // Refused before any endpoint is found, or a fault of ours.
    const beforeEndpoints: ErrorCode[] = [
      'route_not_found',
      'method_not_allowed',
      'uri_too_long',
      'headers_too_large',
      'internal_error',
      'bad_request',
    ];
    const idle = (Object.keys(errors) as ErrorCode[]).filter((code) => !told.has(code) && !beforeEndpoints.includes(code));
    assert.deepEqual(idle, []);
  });

  it('gives each endpoint an id, a method and a path of its own', () => {
    assert.equal(new Set(endpoints.map(({ id }) => id)).size, endpoints.length);
    assert.equal(new Set(endpoints.map(nameOf)).size, endpoints.length);
  });
});

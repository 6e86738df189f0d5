/** Compares the API tests with the contract. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { endpoints, errors, errorsOf, type ErrorCode } from '@berth/contract';
import { readTestTitles, type TestTitles } from '../../scripts/test/test-titles.ts';
import { fileOf, isOfSession, nameOf, sessionErrors, suitesOf } from '../contract/contract-table.ts';

/** The table that credentials.test.ts sends to every endpoint. */
const credentials = '../contract/wrong-credentials.ts';

/**
 * Codes that come from shared behaviour. Each is tested for all endpoints in one
 * table, or once where it originates, and not again in each file.
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
  answer_lost: '../fleet/lost-answers.test.ts',
  body_too_large: 'bad-input.test.ts',
  unsupported_media_type: 'bad-input.test.ts',
  uri_too_long: 'bad-input.test.ts',
  headers_too_large: 'bad-input.test.ts',
  bad_request: 'bad-input.test.ts',
  not_implemented: '../../packages/server/src/http/server/raw-connections.test.ts',
  internal_error: '../../packages/server/src/http/server/server.test.ts',
  draining: 'worker-restarts.test.ts',
  starting: '../../packages/server/src/http/server/port.test.ts',
  request_timeout: 'bad-input.test.ts',
  store_unavailable: 'store-down.test.ts',
  worker_unreachable: 'worker-restarts.test.ts',
  // The shortest deadline is 90 seconds; deadlines are tested with a shorter one in the HTTP server's own tests.
  deadline_exceeded: '../../packages/server/src/http/server/server.test.ts',
  region_unavailable: 'regions.test.ts',
  profile_not_found: 'profiles.test.ts',
  profile_locked: 'profiles.test.ts',
  profile_limit_reached: 'profiles.test.ts',
  profile_unreadable: 'profiles.test.ts',
};

/** Tests that concern many endpoints. */
const tables = [
  'coverage',
  'credentials',
  'login',
  'capacity',
  'disk',
  'metered',
  'spending',
  'balances',
  'refused-creates',
  'rates',
  'idempotency',
  'bad-input',
  'next-steps',
  'store-down',
  'foreign-resources',
  'session-errors',
  'concurrency',
  'leaks',
  'timers',
  'crashes',
  'worker-restarts',
  'cursors',
  'session-names',
  'profiles',
  'pool',
  'reconnect',
  'fetch-attempts',
  'fetch-content',
  'fetch-machines',
  'regions',
  'documents',
  'observability',
  'tracing',
  'log-lines',
];

const folder = import.meta.dirname;
const readTitles = (path: string): TestTitles => readTestTitles(readFileSync(join(folder, path), 'utf8'));
/** The names are unique, whatever folder a file stands in. */
const paths = globSync('**/*.test.ts', { cwd: folder });
const files = paths.map((path) => basename(path));
const titles = new Map(paths.map((path) => [basename(path), readTitles(path)]));
const titlesOf = (file: string): TestTitles => titles.get(file) ?? readTitles(file);

describe('the tests of the API', () => {
  for (const endpoint of endpoints)
    it(`the API tests have a suite for every status of ${nameOf(endpoint)}`, () => {
      const file = fileOf(endpoint);
      assert.ok(files.includes(file), `there is no ${file}`);
      const { suites } = titlesOf(file);
      const once = [...(Object.keys(coveredOnce) as ErrorCode[]), ...(isOfSession(endpoint) ? sessionErrors : [])];
      const expected = suitesOf(endpoint, new Set(once), (code) => errors[code].status);
      const missing = expected.filter((title) => !suites.includes(title));
      assert.deepEqual(missing, [], `${file} has no describe for these`);
    });

  it('the API tests have no suite for a status that is not declared', () => {
    const undeclared = endpoints.flatMap((endpoint) => {
      const declared = suitesOf(endpoint, new Set(), (code) => errors[code].status);
      return titlesOf(fileOf(endpoint))
        .suites.filter((title) => /^\d{3}\b/.test(title) && !declared.includes(title))
        .map((title) => `${fileOf(endpoint)}: ${title}`);
    });
    assert.deepEqual(undeclared, []);
  });

  it('the API tests have no file without an endpoint or a table', () => {
    assert.equal(new Set(files).size, files.length, 'two files have one name');
    const expected = new Set([...endpoints.map(fileOf), ...tables.map((name) => `${name}.test.ts`)]);
    assert.deepEqual(
      files.filter((file) => !expected.has(file)),
      [],
    );
  });

  it('the API tests name each shared code in the file that tests it', () => {
    const missing = Object.entries(coveredOnce).filter(
      ([code, file]) => !titlesOf(file).literals.some((literal) => literal.split(' ').includes(code)),
    );
    assert.deepEqual(missing, []);
  });

  it('the API tests have unique titles in each file', () => {
    for (const file of files) {
      const { tests } = titlesOf(file);
      assert.deepEqual(tests.length, new Set(tests).size, `${file} has a title twice`);
    }
  });
});

describe('the contract', () => {
  it('the contract declares only codes that an endpoint can answer with', () => {
    const reported = new Set(endpoints.flatMap((endpoint) => errorsOf(endpoint)));
    const beforeEndpoints: ErrorCode[] = ['route_not_found', 'method_not_allowed', 'starting'];
    const idle = (Object.keys(errors) as ErrorCode[]).filter((code) => !reported.has(code) && !beforeEndpoints.includes(code));
    assert.deepEqual(idle, []);
  });

  it('the contract gives each endpoint a unique id, method and path', () => {
    assert.equal(new Set(endpoints.map(({ id }) => id)).size, endpoints.length);
    assert.equal(new Set(endpoints.map(nameOf)).size, endpoints.length);
  });
});

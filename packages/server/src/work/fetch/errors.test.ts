import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError, ValidationError } from '@berth/contract';
import { BrowserClosedError, NavigationError, PageError, TabNotFoundError } from '@berth/devtools';
import { HttpError } from '@berth/egress';
import { LaneFullError, LaneTimeoutError } from '@berth/lib/turns/lanes.ts';
import { toFetchError } from './errors.ts';

const request = { timeout_ms: 30_000, session_id: null };

describe('the error of an attempt', () => {
  const issues: [Error, code: string, retryable: boolean, reason: string | null][] = [
    [new HttpError('dns_failed', 'net::ERR_NAME_NOT_RESOLVED'), 'navigation_failed', false, 'dns_failed'],
    [new HttpError('dns_failed', 'net::ERR_NAME_RESOLUTION_FAILED'), 'navigation_failed', true, 'dns_failed'],
    [new HttpError('proxy_error', 'net::ERR_PROXY_AUTH_UNSUPPORTED'), 'navigation_failed', false, 'proxy_error'],
    [new HttpError('connection_refused', 'net::ERR_CONNECTION_REFUSED'), 'navigation_failed', true, 'connection_refused'],
    [new HttpError('connection_reset', 'net::ERR_CONNECTION_RESET'), 'navigation_failed', true, 'connection_reset'],
    [new HttpError('timeout', 'net::ERR_TIMED_OUT'), 'timeout', true, 'timeout'],
    [new HttpError('tls_error', 'net::ERR_CERT_DATE_INVALID'), 'navigation_failed', false, 'tls_error'],
    [new NavigationError('blocked_by_policy', null, 'Not there.'), 'navigation_failed', false, 'blocked_by_policy'],
    [new NavigationError('too_many_redirects', null, 'In circles.'), 'navigation_failed', false, 'too_many_redirects'],
    [new NavigationError('download', 'net::ERR_ABORTED', 'A file.', { download_id: 'a' }), 'navigation_failed', false, 'download'],
    [new NavigationError('proxy_error', null, 'No proxy.'), 'navigation_failed', true, 'proxy_error'],
    [new BrowserClosedError('signal SIGKILL'), 'session_lost', true, 'session_lost'],
    [new ServiceError('session_ended', 'It has ended.'), 'session_lost', true, 'session_lost'],
    [new TabNotFoundError('ABC'), 'tab_not_found', true, null],
    [new PageError('page_crashed', 'The page crashed.'), 'page_failed', true, 'page_crashed'],
    [new LaneFullError('key'), 'no_capacity', true, null],
    [new LaneTimeoutError('key'), 'no_capacity', true, null],
  ];
  for (const [cause, code, retryable, reason] of issues)
    it(`the error of a fetch attempt is ${code} for ${cause.constructor.name} ${reason ?? ''}`, () => {
      const fetchError = toFetchError(cause, request);
      assert.deepEqual([fetchError.code, fetchError.retryable, fetchError.reason], [code, retryable, reason]);
      assert.ok(!fetchError.message.includes('SIGKILL') && !fetchError.message.includes('key'), 'internal details are for the log');
    });

  it('the error of a fetch attempt names the caller’s limit when a part of the fetch ran out of time', () => {
    for (const cause of [
      new NavigationError('timeout', 'net::ERR_TIMED_OUT', 'The page did not load within 13820 ms.'),
      new HttpError('timeout', 'net::ERR_TIMED_OUT'),
      new PageError('timeout', 'The page did not respond within 812 ms.'),
    ]) {
      const { code, message, details } = toFetchError(cause, request);
      assert.deepEqual(
        [code, message.match(/\d+/g), details],
        ['timeout', ['30000'], { reason: 'timeout', net_error: 'net::ERR_TIMED_OUT' }],
      );
    }
  });

  it('the error of a fetch attempt says when the site took no connection', () => {
    const { code, details } = toFetchError(new HttpError('timeout', 'net::ERR_CONNECTION_TIMED_OUT'), request);
    assert.deepEqual([code, details], ['timeout', { reason: 'timeout', net_error: 'net::ERR_CONNECTION_TIMED_OUT' }]);
  });

  it('the error of a fetch attempt asks for a new session where the caller’s own is lost', () => {
    for (const cause of [new BrowserClosedError('signal SIGKILL'), new ServiceError('session_ended', 'It has ended.')]) {
      const { code, message, retryable, reason } = toFetchError(cause, { ...request, session_id: 'ses_a' });
      assert.deepEqual([code, retryable, reason], ['session_lost', false, 'session_lost']);
      assert.match(message, /Create a new session/);
    }
  });

  it('a fetch attempt rethrows errors that the caller or the operator has to fix, and bugs', () => {
    for (const cause of [
      new ServiceError('concurrency_limit', 'Enough.'),
      new ServiceError('no_capacity', 'Full.'),
      new ValidationError([]),
      new TypeError('ours'),
    ])
      assert.throws(() => toFetchError(cause, request), cause);
  });
});

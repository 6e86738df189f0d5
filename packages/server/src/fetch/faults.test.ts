import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError, ValidationError } from '@berth/contract';
import { BrowserGone, NavigationError, PageError, TabNotFound } from '../browser/browser.ts';
import { HttpFailure } from '../egress/egress.ts';
import { LaneFull, LaneTimeout } from '../lib/lanes.ts';
import { faultOf } from './faults.ts';

describe('what went wrong in an attempt', () => {
  const faults: [Error, code: string, retryable: boolean, reason: string | null][] = [
    [new HttpFailure('dns_failed', 'net::ERR_NAME_NOT_RESOLVED'), 'navigation_failed', true, 'dns_failed'],
    [new HttpFailure('timeout', 'net::ERR_TIMED_OUT'), 'timeout', true, 'timeout'],
    [new HttpFailure('tls_error', 'net::ERR_CERT_DATE_INVALID'), 'navigation_failed', false, 'tls_error'],
    [new NavigationError('blocked_by_policy', null, 'Not there.'), 'navigation_failed', false, 'blocked_by_policy'],
    [new NavigationError('too_many_redirects', null, 'In circles.'), 'navigation_failed', false, 'too_many_redirects'],
    [new NavigationError('proxy_error', null, 'No way out.'), 'navigation_failed', true, 'proxy_error'],
    [new BrowserGone('signal SIGKILL'), 'session_lost', true, 'session_lost'],
    [new ServiceError('session_ended', 'It has ended.'), 'session_lost', true, 'session_lost'],
    [new TabNotFound('ABC'), 'tab_not_found', true, null],
    [new PageError('page_crashed', 'The page crashed.'), 'page_failed', true, 'page_crashed'],
    [new LaneFull('key'), 'no_capacity', true, null],
    [new LaneTimeout('key'), 'no_capacity', true, null],
  ];
  for (const [error, code, retryable, reason] of faults)
    it(`is ${code} for ${error.constructor.name} ${reason ?? ''}`, () => {
      const fault = faultOf(error);
      assert.deepEqual([fault.code, fault.retryable, fault.reason], [code, retryable, reason]);
      assert.ok(!fault.message.includes('SIGKILL') && !fault.message.includes('key'), 'what is ours is for the log');
    });

  it('is no fault of the attempt where the caller or the operator has to mend it, nor where it is ours', () => {
    for (const error of [
      new ServiceError('concurrency_limit', 'Enough.'),
      new ServiceError('no_capacity', 'Full.'),
      new ValidationError([]),
      new TypeError('ours'),
    ])
      assert.throws(() => faultOf(error), error);
  });
});

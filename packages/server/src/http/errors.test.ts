import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError, ValidationError, errors, type ErrorBody, type ErrorCode } from '@berth/contract';
import { toErrorPage, toErrorResponse, type HttpResponse } from './errors.ts';

const signalsOf = ({ headers, body }: HttpResponse) => ({
  retryable: (JSON.parse(body) as ErrorBody).error.retryable,
  shouldRetry: headers['x-should-retry'],
  after: headers['retry-after'],
});

describe('the signals of an error by which clients retry', () => {
  for (const code of Object.keys(errors) as ErrorCode[])
    it(`the retry signals of the error ${code} agree`, () => {
      const { status, retryable } = errors[code];
      const plain = signalsOf(toErrorResponse(new ServiceError(code, 'No.'), 'req_1'));
      const isWaiting = retryable && (status === 429 || status === 503);
      assert.deepEqual(plain, { retryable, shouldRetry: String(retryable), after: isWaiting ? '1' : undefined });
      // A time to wait is no promise that a retry helps.
      const timed = new ServiceError(code, 'No.', { retryAfterSeconds: 2.2 });
      assert.equal(signalsOf(toErrorResponse(timed, 'req_1')).after, retryable ? '3' : undefined);
      for (const overridden of [true, false]) {
        const error = new ServiceError(code, 'No.', { retryable: overridden, retryAfterSeconds: 7 });
        const expected = { retryable: overridden, shouldRetry: String(overridden), after: overridden ? '7' : undefined };
        assert.deepEqual(signalsOf(toErrorResponse(error, 'req_1')), expected);
        assert.equal(toErrorPage(error, () => '')?.headers['x-should-retry'], String(overridden));
      }
    });

  it('the retry signals say no for a request that breaks its schema, and yes for an unexpected error', () => {
    assert.deepEqual(toErrorResponse(new ValidationError([]), 'req_1').headers, { 'x-should-retry': 'false' });
    assert.equal(signalsOf(toErrorResponse(new Error('secret'), 'req_1')).shouldRetry, 'true');
  });
});

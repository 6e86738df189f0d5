import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toApiError, toShown } from './api-error.ts';

const noHeaders = new Headers();

describe('an error of the service', () => {
  it('an error of the service has its message, code and request id in the dashboard', () => {
    const body = { error: { code: 'no_capacity', message: 'No machine is free. Try again.', request_id: 'req_1', details: { free: 0 } } };
    const error = toApiError(503, new Headers({ 'retry-after': '5' }), JSON.stringify(body));
    assert.deepEqual(
      [error.message, error.code, error.requestId, error.details, error.retryAfterSeconds],
      ['No machine is free. Try again.', 'no_capacity', 'req_1', { free: 0 }, 5],
    );
  });

  it('an error of the service names the fields of a request that is not valid', () => {
    const detail = [
      { loc: ['body', 'viewport', 'width'], msg: 'Input should be greater than or equal to 320' },
      { loc: ['body', 'locale'], msg: 'Field required' },
    ];
    const error = toApiError(422, new Headers({ 'x-request-id': 'req_2' }), JSON.stringify({ detail }));
    assert.deepEqual(
      error.issues.map(({ field }) => field),
      ['viewport.width', 'locale'],
    );
    assert.equal(error.message, 'viewport.width: Input should be greater than or equal to 320. And 1 more.');
    assert.equal(error.requestId, 'req_2');
  });

  it('an error of the service has the hint for a field', () => {
    const detail = [{ loc: ['body', 'url'], msg: 'Input should be a valid URL', hint: 'Add `https://`.' }];
    const error = toApiError(422, noHeaders, JSON.stringify({ detail }));
    assert.equal(error.message, 'url: Input should be a valid URL. Add `https://`.');
    assert.deepEqual(error.issues, [{ field: 'url', message: 'Input should be a valid URL. Add `https://`.' }]);
  });

  it('an error of the service is understood when a proxy in front answers', () => {
    for (const text of ['', '<html>Bad gateway</html>', 'null', '[]']) {
      const error = toApiError(502, noHeaders, text);
      assert.deepEqual([error.status, error.message], [502, 'The service answered with status 502.']);
    }
  });
});

it('anything that is thrown can be shown in the dashboard', () => {
  assert.equal(toShown(new TypeError('x is not a function')).message, 'x is not a function');
  assert.equal(toShown('text').message, 'text');
});

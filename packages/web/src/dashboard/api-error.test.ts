import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Berth } from '@berth/sdk';
import { toShown, type ApiError } from './api-error.ts';

/** What a page shows of a reply that its client receives, or of none. */
async function shownOf(reply: Response | Error): Promise<ApiError> {
  const answer = (): Promise<Response> => (reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply));
  const berth = new Berth({ apiKey: 'brt_live_1', baseUrl: 'http://127.0.0.1:1', maxRetries: 0, fetch: answer });
  return berth.raw.request('GET', '/v1/sessions').then(() => assert.fail('it was refused'), toShown);
}

const refusal = (status: number, body: object, headers = {}): Response => Response.json(body, { status, headers });

describe('an error of the service', () => {
  it('an error of the service has its message, code and request id in the dashboard', async () => {
    const body = { error: { code: 'no_capacity', message: 'No machine is free. Try again.', request_id: 'req_1', details: { free: 0 } } };
    const error = await shownOf(refusal(503, body, { 'retry-after': '5' }));
    assert.deepEqual(
      [error.message, error.code, error.requestId, error.details, error.retryAfterSeconds],
      ['No machine is free. Try again.', 'no_capacity', 'req_1', { free: 0 }, 5],
    );
  });

  it('an error of the service is shown without the sentences that name a call', async () => {
    const messageOf = async (message: string) => (await shownOf(refusal(404, { error: { code: 'not_found', message } }))).message;
    assert.equal(await messageOf('No such owner. List them with GET /admin/owners. Then try again.'), 'No such owner. Then try again.');
    assert.equal(await messageOf('GET /v1/x is not known.'), 'GET /v1/x is not known.');
  });

  it('an error of the service names the fields of a request that is not valid', async () => {
    const detail = [
      { loc: ['body', 'viewport', 'width'], msg: 'Input should be greater than or equal to 320' },
      { loc: ['body', 'locale'], msg: 'Field required' },
    ];
    const error = await shownOf(refusal(422, { detail }, { 'x-request-id': 'req_2' }));
    assert.deepEqual(
      error.issues.map(({ field }) => field),
      ['viewport.width', 'locale'],
    );
    assert.equal(error.message, 'viewport.width: Input should be greater than or equal to 320. And 1 more.');
    assert.equal(error.requestId, 'req_2');
  });

  it('an error of the service has the hint for a field', async () => {
    const detail = [{ loc: ['body', 'url'], msg: 'Input should be a valid URL', hint: 'Add `https://`.' }];
    const error = await shownOf(refusal(422, { detail }));
    assert.equal(error.message, 'url: Input should be a valid URL. Add `https://`.');
    assert.deepEqual(error.issues, [{ field: 'url', message: 'Input should be a valid URL. Add `https://`.' }]);
  });

  it('an error of the service is understood when a proxy in front answers', async () => {
    for (const text of ['', '<html>Bad gateway</html>', 'null', '[]']) {
      const error = await shownOf(new Response(text, { status: 502 }));
      assert.deepEqual([error.status, error.code], [502, 'unexpected_response']);
      assert.match(error.message, /status 502/);
    }
  });

  it('a service that cannot be reached is told from one that refuses', async () => {
    const error = await shownOf(new TypeError('Failed to fetch'));
    assert.deepEqual([error.status, error.code], [0, 'unreachable']);
    assert.doesNotMatch(error.message, /127\.0\.0\.1|Failed to fetch/);
  });
});

it('anything that is thrown can be shown in the dashboard', () => {
  assert.equal(toShown(new TypeError('x is not a function')).message, 'x is not a function');
  assert.equal(toShown('text').message, 'text');
});

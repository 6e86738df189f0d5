/** An error says what is wrong, then what to do. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ErrorBody, type ErrorCode } from '@berth/contract';
import { adminKey } from '../client.ts';
import { startApp, type TestApp } from '../harness.ts';
import { sendAsIs, type RawRequest } from '../raw-http.ts';
import { endedSession } from '../contract/session-states.ts';

let served: TestApp;
let live = '';
let ended = '';
before(async () => {
  served = await startApp({ environment: { BERTH_METRICS_TOKEN: 'a-metrics-token-of-32-characters' } });
  live = (await served.create()).session_id;
  ended = await endedSession(served);
});
after(() => served.close());

const bearer = (key: string): RawRequest['headers'] => [['authorization', `Bearer ${key}`]];
const json = ['content-type', 'application/json'] as const;

const refusals: [code: ErrorCode, step: RegExp, request: () => Omit<RawRequest, 'method'> & { method?: string }][] = [
  ['invalid_api_key', /create a new one/, () => ({ path: '/v1/sessions', headers: bearer('brt_live_unknown') })],
  ['invalid_admin_key', /Check the configuration/, () => ({ path: '/admin/sessions', headers: [['x-admin-key', 'wrong']] })],
  ['invalid_metrics_token', /Check BERTH_METRICS_TOKEN/, () => ({ path: '/metrics', headers: bearer('wrong') })],
  ['key_not_found', /List the keys/, () => ({ method: 'DELETE', path: '/admin/keys/key_none', headers: [['x-admin-key', adminKey]] })],
  ['connect_token_not_found', /List your tokens/, () => ({ method: 'DELETE', path: '/v1/connect-tokens/tok_none', headers: own() })],
  ['download_not_found', /List the downloads/, () => ({ path: `/v1/session/${live}/downloads/none`, headers: own() })],
  [
    'session_ended',
    /has ended: its owner ended it\. Create a new session/,
    () => ({ path: `/v1/session/${ended}/content`, headers: own() }),
  ],
  ['route_not_found', /Did you mean GET \/v1\/session\/\{session_id\}\?/, () => ({ path: `/v1/sessions/${live}`, headers: own() })],
  ['route_not_found', /Did you mean GET \/v1\/sessions\?/, () => ({ path: '/sessions', headers: own() })],
  ['route_not_found', /Did you mean POST \/v1\/fetch\?/, () => ({ method: 'POST', path: '/api/v1/fetch', headers: own() })],
  ['route_not_found', /See \/docs/, () => ({ path: '/nothing/like/it', headers: own() })],
  ['invalid_api_key', /This is an admin key/, () => ({ path: '/v1/sessions', headers: bearer('brt_admin_0123') })],
  ['invalid_api_key', /This is a connect token/, () => ({ path: '/v1/sessions', headers: bearer('brt_connect_0123') })],
  ['missing_api_key', /not read from the header `x-api-key`/, () => ({ path: '/v1/sessions', headers: [['x-api-key', served.key]] })],
  ['missing_api_key', /The admin key does not open/, () => ({ path: '/v1/sessions', headers: [['x-admin-key', adminKey]] })],
  ['missing_admin_key', /not accepted as a Bearer token/, () => ({ path: '/admin/sessions', headers: bearer('brt_admin_0123') })],
  ['missing_admin_key', /This is an API key/, () => ({ path: '/admin/sessions', headers: own() })],
  ['invalid_admin_key', /This is an API key/, () => ({ path: '/admin/sessions', headers: [['x-admin-key', served.key]] })],
  ['invalid_login_token', /This is an API key/, () => ({ path: '/v1/keys', headers: own() })],
  ['uri_too_long', /Shorten it/, () => ({ path: `/v1/sessions?filler=${'x'.repeat(9000)}`, headers: own() })],
  ['headers_too_large', /Send fewer/, () => ({ path: '/v1/sessions', headers: [...own(), ['x-filler', 'x'.repeat(20_000)]] })],
  ['bad_request', /Correct the request/, () => ({ path: '/v1/sessions', headers: [...own(), ['content-length', 'many']] })],
  [
    'body_too_large',
    /Send less/,
    () => ({ method: 'POST', path: `/v1/session/${live}/navigate`, headers: [...own(), json], body: 'x'.repeat(20 << 20) }),
  ],
];
const own = (): RawRequest['headers'] => bearer(served.key);

for (const [code, step, request] of refusals)
  it(`the error ${code} says what to do: ${step.source}`, async () => {
    const { body, text } = await sendAsIs(served.url, { method: 'GET', ...request() });
    const { error } = ErrorBody.parse(body);
    assert.equal(error.code, code, text);
    assert.match(error.message, step);
  });

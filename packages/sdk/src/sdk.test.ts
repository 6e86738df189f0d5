import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { StandIn, type ScriptedReply } from '../testing/stand-in.ts';
import { Berth, BerthError, type Session } from './sdk.ts';

let service: StandIn;
before(async () => (service = await StandIn.start()));
after(() => service.stop());

function client(...replies: ScriptedReply[]): Berth {
  service.script(replies);
  return new Berth({ baseUrl: service.url, apiKey: 'test-key', wait: async () => undefined });
}
const session = (...replies: ScriptedReply[]): Session => client(...replies).session('ses_1');
const actions = (fields: object): ScriptedReply => ({ body: { status: 'ok', failed_index: null, results: [], ...fields } });
const bodies = (): unknown[] => service.requests.map(({ body }) => JSON.parse(body.toString()));

test('each call has an idempotency key of its own', async () => {
  const berth = client({ body: {} }, { body: {} });
  await berth.fetch('https://example.com/');
  await berth.fetch('https://example.com/');
  const [first, second] = service.requests.map(({ headers }) => headers['idempotency-key']);
  assert.ok(first && second);
  assert.notEqual(first, second);
});

test('a session that is disposed of is ended', async () => {
  const berth = client({ status: 201, body: { session_id: 'ses_9' } }, { status: 204 });
  {
    await using created = await berth.sessions.create({ kind: 'headless' });
    assert.equal(created.id, 'ses_9');
  }
  assert.equal(service.requests.at(-1)?.method, 'DELETE');
  assert.equal(service.requests.at(-1)?.path, '/v1/session/ses_9');
});

test('calls of a handle have the id of its session', async () => {
  await session({ body: [] }).tabs.list();
  await session({ status: 204 }).tabs.close('tab_2');
  assert.deepEqual(
    service.requests.map(({ path }) => path),
    ['/v1/session/ses_1/tabs/tab_2'],
  );
});

test('a URL and its options are one request', async () => {
  await session({ body: {} }).navigate('https://example.com/', { wait_until: 'commit' });
  await client({ body: {} }).inspect('https://example.com/', { include: ['api'] });
  assert.deepEqual(bodies(), [{ url: 'https://example.com/', include: ['api'] }]);
  await client({ body: {} }).run('extract_article', { url: 'https://example.com/' }, { async: true });
  assert.deepEqual(bodies(), [{ task: 'extract_article', inputs: { url: 'https://example.com/' }, async: true }]);
});

test('a step that failed is an error with its code', async () => {
  const failed = { index: 0, type: 'click', status: 'error', error: { code: 'not_found', message: 'No element matches.' } };
  const reply = actions({ status: 'error', failed_index: 0, results: [failed] });
  await assert.rejects(session(reply).click('#buy'), (error) => {
    assert.ok(BerthError.is(error));
    assert.equal(error.code, 'not_found');
    assert.match(error.message, /Step 0: No element matches\./);
    assert.deepEqual(error.details['results'], [failed]);
    return true;
  });
  assert.deepEqual(bodies(), [{ actions: [{ type: 'click', selectors: ['#buy'] }] }]);
});

test('an element is named by a selector, by several, or by a reference of a snapshot', async () => {
  const step = { type: 'click', status: 'ok' };
  const handle = session(...[1, 2, 3, 4].map(() => actions({ results: [step] })));
  await handle.click('e3');
  await handle.click('f2e12');
  await handle.click('em');
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- It is a step, not a list.
  await handle.fill(['#a', ['#frame', '#b']], 'x');
  assert.deepEqual(
    bodies().map((body) => (body as { actions: object[] }).actions[0]),
    [
      { type: 'click', ref: 'e3' },
      { type: 'click', ref: 'f2e12' },
      { type: 'click', selectors: ['em'] },
      { type: 'fill', selectors: ['#a', ['#frame', '#b']], value: 'x' },
    ],
  );
});

test('a caller who goes on after errors gets the results of all steps', async () => {
  const reply = await session(actions({ status: 'error', failed_index: 0 })).act([{ type: 'reload' }], { stop_on_error: false });
  assert.equal(reply.status, 'error');
});

test('details have the type of their code', () => {
  const error: unknown = new BerthError({ code: 'navigation_failed', message: '', details: { reason: 'timeout', net_error: null } });
  assert.ok(BerthError.is(error, 'navigation_failed'));
  const reason: 'timeout' | 'dns_failed' | (string & {}) = error.details.reason;
  assert.equal(reason, 'timeout');
  assert.equal(BerthError.is(error, 'session_ended'), false);
});

test('a call of which only the response is awaited leaves no rejection behind', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const reply = { status: 404, headers: { 'x-should-retry': 'false' }, body: { error: { code: 'session_not_found' } } };
  await assert.rejects(session(reply).tabs.list().withResponse(), { code: 'session_not_found' });
  await assert.rejects(async () => {
    for await (const item of client(reply).sessions.list()) assert.fail(item.session_id);
  });
  await turn();
  process.off('unhandledRejection', note);
  assert.deepEqual(unhandled, []);
});

test('a file is sent as a form', async () => {
  await session({ status: 201, body: {} }).upload(new TextEncoder().encode('hello'), { name: 'a "b".txt' });
  const [{ body, headers }] = service.requests as [(typeof service.requests)[0]];
  assert.match(String(headers['content-type']), /^multipart\/form-data; boundary=/);
  assert.ok(headers['idempotency-key']);
  assert.match(body.toString(), /name="file"; filename="a %22b%22\.txt"\r\n[^]*\r\n\r\nhello\r\n/);
});

test('a stream is sent once, because it cannot be read again', async () => {
  const handle = session({ status: 503, text: 'busy' }, { status: 201, body: {} });
  await assert.rejects(handle.upload(createReadStream(import.meta.filename), { name: 'test.ts' }), { status: 503 });
  assert.equal(service.requests.length, 1);
  assert.match(service.requests[0]?.body.toString() ?? '', /a stream is sent once/);
});

test('a path of another host is refused', async () => {
  await assert.rejects(client().raw.request('GET', '//other.example/'), TypeError);
  assert.equal(service.requests.length, 0);
});

test('a call by its path has no value where the service replies without a body', async () => {
  assert.equal(await client({ status: 204 }).raw.request('DELETE', '/v1/connect-tokens/tok_1'), undefined);
});

test('what is no job cannot be waited for', async () => {
  await assert.rejects(client().jobs.wait({ job_id: null }), /no job/);
});

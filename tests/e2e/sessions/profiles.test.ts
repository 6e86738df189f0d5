/** Profiles, with real browsers: what one session leaves, the next one has. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  createKey,
  createSession,
  deleteProfile,
  endSession,
  getContent,
  getProfile,
  getSession,
  listProfiles,
  navigate,
  type CreateSessionRequest,
} from '@berth/contract';
import { Client } from '../../client.ts';
import { openEvents } from '../../event-stream.ts';
import { Service, eventually, lastingState } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

/** Each visit adds one to what is in the database. */
const account = page(
  'Account',
  `<script>
  const open = indexedDB.open('visits', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('counts').put(0n, 'visits');
  open.onsuccess = () => {
    const counts = open.result.transaction('counts', 'readwrite').objectStore('counts');
    const visits = counts.get('visits');
    visits.onsuccess = () => {
      counts.put(visits.result + 1n, 'visits');
      counts.transaction.oncomplete = () => {
        const [, user] = /user=(\\w+)/.exec(document.cookie) ?? [];
        document.body.textContent = [user ?? 'nobody', localStorage.getItem('token') ?? 'no token', visits.result].join(', ');
      };
    };
  };
</script>`,
);
const signIn = page('Signed in', `<script>document.cookie = 'user=ada; path=/'; localStorage.setItem('token', 'secret-of-ada');</script>`);

describe('profiles', () => {
  let state: Awaited<ReturnType<typeof lastingState>>;
  let site: Site;
  let service: Service;
  let client: Client;
  const start = async (): Promise<void> => {
    const environment = { ...state.environment, BERTH_EGRESS_ALLOW: site.host };
    service = await Service.start({ dataDir: state.dataDir, environment });
    ({ client } = service);
  };
  before(async () => {
    [state, site] = await Promise.all([lastingState(), startSite({ pages: { '/sign-in': signIn, '/account': account } })]);
    await start();
  });
  after(async () => {
    await service.close();
    await site.close();
    await state.remove();
  });

  const create = async (profile: Partial<NonNullable<CreateSessionRequest['profile']>>, by = client): Promise<string> => {
    const { status, body, text } = await by.call(createSession, { body: { profile } });
    assert.equal(status, 201, text);
    return body.session_id;
  };
  const visit = async (session_id: string, path: string): Promise<void> => {
    await client.call(navigate, { params: { session_id }, body: { url: site.url + path } });
  };
  /** What the account page shows when it has read all. */
  const accountOf = async (session_id: string): Promise<string> => {
    await visit(session_id, '/account');
    const read = async (): Promise<string> =>
      (await client.call(getContent, { params: { session_id }, query: { format: 'text' } })).body.content?.trim() ?? '';
    return eventually('the account is shown', async () => (await read()) || undefined);
  };
  const end = (session_id: string) => client.call(endSession, { params: { session_id } });

  it('profiles keep cookies, local storage and databases, also of a site that no tab shows at the end', async () => {
    const first = await create({ name: 'shop', save_changes: true });
    const events = await openEvents(service.url, first, { key: service.key });
    await visit(first, '/sign-in');
    assert.equal(await accountOf(first), 'ada, secret-of-ada, 0');
    await client.call(navigate, { params: { session_id: first }, body: { url: 'about:blank' } });
    await end(first);
    const { data } = await events.nextOf('profile.saved');
    assert.deepEqual([data['cookies'], data['origins'], data['left_out']], [1, 1, { origins: 0, databases: 0, records: 0 }]);
    assert.equal((await events.next())?.type, 'session.ended');

    const second = await create({ name: 'shop' });
    assert.equal(await accountOf(second), 'ada, secret-of-ada, 1', 'a create right after the end waits for the save');
    await end(second);
    const { body } = await client.call(getProfile, { params: { profile_id: 'shop' } });
    assert.deepEqual([body.version, body.cookies, body.origins, body.writer_session_id], [1, 1, 1, null]);
    const third = await create({ id: body.profile_id });
    assert.equal(await accountOf(third), 'ada, secret-of-ada, 1', 'a session that only reads leaves nothing');
    await end(third);
  });

  it('profiles have one writer at a time, and any number of readers', async () => {
    const [writer, reader] = [await create({ name: 'shop', save_changes: true }), await create({ name: 'shop' })];
    const { details, reply } = await client.refuse(createSession, 'profile_locked', {
      body: { profile: { name: 'shop', save_changes: true } },
    });
    assert.deepEqual([details['session_id'], reply.headers.get('x-should-retry')], [writer, 'false']);
    await client.refuse(deleteProfile, 'profile_locked', { params: { profile_id: 'shop' } });
    await Promise.all([end(writer), end(reader)]);
    await end(await create({ name: 'shop', save_changes: true }));
  });

  it('profiles are of one owner alone', async () => {
    const { body } = await client.call(createKey, { body: { owner: 'other' } });
    const other = new Client(service.url, body.key ?? '', service.adminKey);
    const { body: mine } = await client.call(getProfile, { params: { profile_id: 'shop' } });
    assert.deepEqual((await other.call(listProfiles)).body, []);
    for (const profile of [{ id: mine.profile_id }, { name: 'shop' }])
      await other.refuse(createSession, 'profile_not_found', { body: { profile } });
    const theirs = await create({ name: 'shop', save_changes: true }, other);
    await other.call(endSession, { params: { session_id: theirs } });
    assert.equal((await client.call(getProfile, { params: { profile_id: 'shop' } })).body.profile_id, mine.profile_id);
  });

  it('profiles are unlocked, and as they were saved last, after the worker was killed', async () => {
    const lost = await create({ name: 'shop', save_changes: true });
    await visit(lost, '/account');
    await service.stop('SIGKILL');
    await start();
    const next = await create({ name: 'shop', save_changes: true });
    assert.equal(await accountOf(next), 'ada, secret-of-ada, 1');
    await service.stop();
    await start();
    const { body } = await client.call(getSession, { params: { session_id: next } });
    assert.deepEqual([body.ended_reason, body.profile?.save_status], ['drained', 'saved']);
    assert.equal((await client.call(getSession, { params: { session_id: lost } })).body.profile?.save_status, 'failed');
    assert.equal(await accountOf(await create({ name: 'shop' })), 'ada, secret-of-ada, 2', 'a stop of the worker saves it');
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, listProfiles } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
let served: TestApp;
let key = '';
before(async () => {
  served = await startApp({ clock });
  key = await served.ownerKey('lister');
  for (const name of ['one', 'two', 'three']) {
    await served.call(createSession, { key, body: { profile: { name, save_changes: true } } });
    clock.advance(1000);
  }
  await served.call(createSession, { body: { profile: { name: 'of another owner', save_changes: true } } });
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/profiles lists only the caller’s profiles, newest first, page by page', async () => {
    const names: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const query: Record<string, string> = { limit: '2', ...(cursor === '' ? {} : { cursor }) };
      const page = await served.call(listProfiles, { key, query });
      names.push(...page.body.map(({ name }) => name));
      cursor = page.headers.get('x-next-cursor');
    }
    assert.deepEqual(names, ['three', 'two', 'one']);
  });

  it('GET /v1/profiles has metadata and never the content', async () => {
    const { body } = await served.call(listProfiles, { key });
    const { profile_id, writer_session_id, ...rest } = body[0] ?? assert.fail('no profile');
    assert.match(profile_id, /^pro_[0-9a-z]{24}$/);
    assert.match(writer_session_id ?? '', /^ses_/);
    assert.deepEqual(Object.keys(rest).toSorted(), [
      ...['cookies', 'created_at', 'last_used_at', 'name', 'object', 'origins', 'saved_at', 'size_bytes', 'version'],
    ]);
    assert.deepEqual([rest.version, rest.saved_at, rest.size_bytes], [0, null, 0]);
  });
});

describe('422', () => {
  it('GET /v1/profiles refuses a limit out of range and a cursor of another list with 422', async () => {
    for (const query of [{ limit: '0' }, { limit: '501' }, { cursor: Buffer.from('[1,"ses_1"]').toString('base64url') }])
      assert.equal((await served.issues(listProfiles, { query })).length, 1);
  });
});

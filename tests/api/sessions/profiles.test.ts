/** Sessions and other work with profiles. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import {
  createConnectToken,
  createSession,
  deleteProfile,
  endSession,
  fetchPage,
  getJob,
  overview,
  getProfile,
  getSession,
  health,
  inspect,
  listAudit,
  listProfiles,
  navigate,
  runAgent,
  runTemplate,
  type ProfileResponse,
} from '@berth/contract';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { silentLog } from '@berth/lib/log.ts';
import { startProxiedApp } from '../../services/database-proxy.ts';
import { comparable, eventually, jobIdOf, startApp, type TestApp } from '../../harness.ts';
import { refusedSocket } from '../../raw-http.ts';
import { machineOf } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const site = 'http://site.test/a';
const saving = (name: string) => ({ profile: { name, save_changes: true } });
const read = async (name: string, key = served.key): Promise<ProfileResponse> =>
  (await served.call(getProfile, { key, params: { profile_id: name } })).body;
const profileOf = async (session_id: string) => (await served.call(getSession, { params: { session_id } })).body.profile;

async function end(session_id: string, key = served.key): Promise<void> {
  await served.call(endSession, { key, params: { session_id } });
}
async function endSaved(session_id: string): Promise<void> {
  await end(session_id);
  await eventually('the profile is saved', async () => (await profileOf(session_id))?.save_status === 'saved');
}
/** Returns the saved profile of a session that visited a site. */
async function saved(name: string, key = served.key): Promise<ProfileResponse> {
  const { session_id } = await served.create(saving(name), { key });
  await served.call(navigate, { key, params: { session_id }, body: { url: site } });
  await end(session_id, key);
  await eventually('the profile is saved', async () => (await read(name, key)).version > 0);
  return read(name, key);
}
const query = (statement: ReturnType<typeof sql>) => statement.execute(served.app.fleet.deps.store.tables());

describe('a profile', () => {
  it('a profile is created by its name, saved at the end of its session, and in the reply of sessions', async () => {
    const body = await served.create(saving('first'));
    const { session_id } = body;
    const { profile_id } = await read('first');
    assert.deepEqual(body.profile, { profile_id, name: 'first', save_changes: true, save_status: 'pending' });
    await served.call(navigate, { params: { session_id }, body: { url: site } });
    await endSaved(session_id);
    const profile = await read(profile_id);
    assert.deepEqual([profile.version, profile.cookies, profile.origins, profile.writer_session_id], [1, 0, 1, null]);
    assert.ok(profile.size_bytes > 50 && profile.saved_at !== null && profile.last_used_at !== null);
    const reader = await served.create({ profile: { id: profile_id } });
    assert.deepEqual(reader.profile, { profile_id, name: 'first', save_changes: false, save_status: null });
    await end(reader.session_id);
    const { body: trail } = await served.call(listAudit, { query: { subject: profile_id } });
    assert.deepEqual(
      trail.map(({ action, details }) => [action, details]),
      [['profile.created', { name: 'first' }]],
    );
  });

  it('a profile is encrypted in the database', async () => {
    const { profile_id } = await saved('secret');
    const { rows } = (await query(sql`select content from profiles where profile_id = ${profile_id}`)) as { rows: { content: Buffer }[] };
    const content = rows[0]?.content ?? assert.fail('no content');
    assert.equal(
      ['site.test', 'dark', 'theme'].some((word) => content.includes(word)),
      false,
    );
  });

  it('a profile gets one session that saves it, however many ask at once', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => served.call(createSession, { body: saving('raced') })));
    assert.equal(replies.filter(({ status }) => status === 201).length, 1);
    assert.equal(replies.filter(({ status }) => status === 409).length, 7);
    assert.equal((await served.call(listProfiles)).body.filter(({ name }) => name === 'raced').length, 1);
  });

  it('a profile is unchanged and unlocked where it cannot be read from the browser, or the browser is lost', async () => {
    await saved('fragile');
    const failing = (await served.create(saving('fragile'))).session_id;
    machineOf(served, failing).browser.failNext('Storage.getCookies');
    await end(failing);
    await eventually('the session has ended', async () => (await profileOf(failing))?.save_status === 'failed');
    const lost = (await served.create(saving('fragile'))).session_id;
    machineOf(served, lost).crash();
    await eventually('the session has failed', async () => (await profileOf(lost))?.save_status === 'failed');
    const { version, writer_session_id: writer } = await read('fragile');
    assert.deepEqual([version, writer], [1, null]);
  });

  it('a profile is saved when the database is back, where it is away at the end of the session', async () => {
    const waits: string[] = [];
    const log = { ...silentLog, warn: (_fields: object, message?: string) => void waits.push(message ?? '') };
    const proxied = await startProxiedApp({ log });
    try {
      const { session_id } = await proxied.create(saving('patient'));
      await proxied.call(navigate, { params: { session_id }, body: { url: site } });
      const release = machineOf(proxied, session_id).browser.delayTabs();
      await proxied.call(endSession, { params: { session_id } });
      await proxied.proxy.cut();
      release();
      await eventually('the save has failed once', () => waits.includes('profile save delayed'));
      await proxied.proxy.restore();
      const request = { params: { profile_id: 'patient' } };
      await eventually('the profile is saved', async () => (await proxied.call(getProfile, request)).body.version > 0);
      const { body: profile } = await proxied.call(getProfile, request);
      assert.deepEqual([profile.version, profile.origins, profile.writer_session_id], [1, 1, null]);
    } finally {
      await proxied.close();
    }
  });

  it('a profile is saved before the next session starts with it', async () => {
    const { session_id } = await served.create(saving('handed-over'));
    await served.call(navigate, { params: { session_id }, body: { url: site } });
    await end(session_id);
    await served.create(saving('handed-over'));
    assert.equal((await read('handed-over')).version, 1);
  });

  it('a profile can be used by fetches, inspections, flows and templates, which then have a session of their own', async () => {
    const body = saving('worker');
    const fetched = (await served.call(fetchPage, { body: { ...body, url: site } })).body;
    assert.equal(fetched.status, 'ok');
    assert.equal((await profileOf(fetched.session_id ?? ''))?.name, 'worker');
    const ran = (await served.call(runAgent, { body: { ...body, task: 'custom', inputs: { steps: [{ type: 'wait', ms: 1 }] } } })).body;
    assert.equal(ran.status, 'ok');
    const template = { template: 'page_snapshot', inputs: { url: site } };
    assert.equal((await served.call(runTemplate, { body: { ...body, ...template } })).status, 200);
    const report = (await served.call(inspect, { body: { ...body, url: site, settle_ms: 0 } })).body;
    assert.deepEqual([report.status, (await profileOf(report.session_id ?? ''))?.name], ['ok', 'worker']);
    const job_id = jobIdOf((await served.call(fetchPage, { body: { ...body, url: site, async: true } })).body);
    const { body: job } = await served.call(getJob, { params: { job_id }, query: { wait_seconds: '25' } });
    assert.deepEqual([job.status, job.session_id], ['ok', job_id.split('.')[0]]);
    await eventually('all have saved it', async () => (await read('worker')).version === 5);
  });
});

describe('a fleet', () => {
  it('a profile has one lock and one content for all workers of a fleet', async () => {
    const first = await startApp({ isInFleet: true });
    const second = await startApp({ isInFleet: true, beside: first });
    try {
      const { session_id } = await first.create(saving('shared'));
      const { details } = await second.refuse(createSession, 'profile_locked', { body: saving('shared') });
      assert.deepEqual(details, { session_id });
      await first.call(navigate, { params: { session_id }, body: { url: site } });
      await first.call(endSession, { params: { session_id } });
      await second.create(saving('shared'));
      const { body } = await second.call(getProfile, { params: { profile_id: 'shared' } });
      assert.deepEqual([body.version, body.origins], [1, 1]);
    } finally {
      await second.close();
      await first.close();
    }
  });
});

describe('a connect token', () => {
  it('a connect token opens no profile: the cookies in it are of other sessions', async () => {
    await saved('kept-from-links');
    const { body } = await served.call(createConnectToken);
    const reply = await refusedSocket(`${body.cdp_url}&profile.name=kept-from-links`);
    assert.deepEqual([reply.status, reply.text.includes('opens no profiles')], [403, true]);
  });
});

describe('404 profile_not_found', () => {
  it('404 profile_not_found is answered for unknown, malformed and foreign ids, and names that nobody saves, identically', async () => {
    const key = await served.ownerKey('victim');
    const foreign = await saved('theirs', key);
    const ids = [foreign.profile_id, 'pro_000000000000000000000000', 'nothing', "x' OR 1=1"].map((id) => ({ id }));
    const profiles = [...ids, { name: 'theirs' }, { id: foreign.profile_id, save_changes: true }];
    const replies = await Promise.all(profiles.map((profile) => served.refuse(createSession, 'profile_not_found', { body: { profile } })));
    assert.equal(new Set(replies.map(({ reply }) => comparable(reply))).size, 1);
  });
});

describe('409 profile_locked', () => {
  it('409 profile_locked is answered to whoever wants to save a profile while a session does', async () => {
    const { session_id } = await served.create(saving('locked'));
    const body = saving('locked');
    const replies = [
      await served.refuse(createSession, 'profile_locked', { body }),
      await served.refuse(fetchPage, 'profile_locked', { body: { ...body, url: site } }),
      await served.refuse(inspect, 'profile_locked', { body: { ...body, url: site } }),
      await served.refuse(runAgent, 'profile_locked', { body: { ...body, task: 'custom', inputs: { steps: [{ type: 'wait', ms: 1 }] } } }),
      await served.refuse(runTemplate, 'profile_locked', { body: { ...body, template: 'page_snapshot', inputs: { url: site } } }),
    ];
    for (const { details, reply } of replies) assert.deepEqual([details, reply.headers.get('x-should-retry')], [{ session_id }, 'false']);
    const address = `${served.url.replace('http', 'ws')}/v1/connect?profile.name=locked&profile.save_changes=true`;
    assert.equal((await refusedSocket(address, { authorization: `Bearer ${served.key}` })).status, 409);
    assert.equal((await served.create({ profile: { name: 'locked' } })).status, 'ready', 'readers are not locked out');
  });
});

describe('409 profile_limit_reached', () => {
  it('409 profile_limit_reached is answered for the name of a hundred-and-first profile', async () => {
    const key = await served.ownerKey('collector');
    await saved('one', key);
    await query(sql`
      insert into profiles (profile_id, owner_id, name, created_at)
      select 'pro_' || lpad(n::text, 24, '0'), 'collector', 'n' || n, now() from generate_series(2, 100) n`);
    const { details } = await served.refuse(createSession, 'profile_limit_reached', { key, body: saving('another') });
    assert.deepEqual(details, { limit: 100 });
    assert.equal((await served.create(saving('n7'), { key })).status, 'ready');
  });
});

describe('409 profile_unreadable', () => {
  it('409 profile_unreadable is answered where the content was sealed for another profile', async () => {
    const [one, other] = [await saved('mixed-up'), await saved('other')];
    await query(sql`
      update profiles set content = (select content from profiles where profile_id = ${other.profile_id}) where profile_id = ${one.profile_id}`);
    await served.refuse(createSession, 'profile_unreadable', { body: { profile: { name: 'mixed-up' } } });
  });
});

describe('a stored content that was changed', () => {
  const changes: [string, ReturnType<typeof sql>][] = [
    ['one bit of it', sql`set_byte(content, length(content) - 40, get_byte(content, length(content) - 40) # 1)`],
    ['its header', sql`set_byte(content, 3, get_byte(content, 3) # 1)`],
    ['its end cut off', sql`substring(content from 1 for length(content) / 2)`],
    ['to nothing', sql`''::bytea`],
    ['to bytes that are no text', sql`decode(repeat('ff00c328', 100), 'hex')`],
    ['to dots', sql`'.....'::bytea`],
    ['to a token without encryption', sql`'eyJhbGciOiJub25lIn0.e30.'::bytea`],
    ['to one that names another cipher', sql`convert_to('eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.AA.AA.AA.AA', 'UTF8')`],
  ];
  for (const [what, content] of changes)
    it(`a stored profile that was changed is refused as unreadable, and other profiles open: ${what}`, async () => {
      const name = `changed-${what.replaceAll(' ', '-')}`;
      const { profile_id } = await saved(name);
      await saved('untouched');
      await query(sql`update profiles set content = ${content} where profile_id = ${profile_id}`);
      for (const body of [{ profile: { name } }, saving(name)]) {
        const { message } = await served.refuse(createSession, 'profile_unreadable', { body });
        assert.match(message, /Delete it, and create it again/);
      }
      assert.equal((await read(name)).writer_session_id, null);
      assert.equal((await served.create({ profile: { name: 'untouched' } })).status, 'ready');
      assert.equal((await served.call(health)).status, 200);
      assert.equal((await served.call(deleteProfile, { params: { profile_id: name } })).status, 204);
      assert.equal((await saved(name)).version, 1);
    });

  it('a stored profile that was changed is not replaced by the session that was to save it, which says why', async () => {
    const { profile_id } = await saved('changed-meanwhile');
    const { session_id } = await served.create(saving('changed-meanwhile'));
    await query(sql`update profiles set content = ${Buffer.from('changed')} where profile_id = ${profile_id}`);
    await end(session_id);
    await eventually('the save has failed', async () => (await profileOf(session_id))?.save_status === 'failed');
    const { version, writer_session_id } = await read('changed-meanwhile');
    assert.deepEqual([version, writer_session_id], [1, null]);
  });
});

describe('the key of profiles', () => {
  const restarted = (first: TestApp): Promise<TestApp> =>
    startApp({ previous: { dataDir: first.dataDir, databaseUrl: first.databaseUrl, runtime: createFakeRuntime() } });
  const faults: [string, (path: string) => void, RegExp][] = [
    ['missing', (path) => rmSync(path), /profile-key is missing, and one profile is encrypted with it\. Copy profile-key from a backup/],
    ['empty', (path) => writeFileSync(path, '\n'), /profile-key is missing/],
    ['cut short', (path) => truncateSync(path, 32), /profile-key is damaged: it must have 64 hexadecimal digits/],
    ['of another form', (path) => writeFileSync(path, `${'x'.repeat(64)}\n`), /profile-key is damaged/],
  ];

  it('the key of profiles is never replaced while there are profiles: the service does not start without it', async () => {
    const first = await startApp();
    const path = join(first.dataDir, 'profile-key');
    const key = readFileSync(path);
    try {
      const { session_id } = await first.create(saving('kept'));
      await first.call(endSession, { params: { session_id } });
      const versionOf = async () => (await first.call(getProfile, { params: { profile_id: 'kept' } })).body.version;
      await eventually('the profile is saved', async () => (await versionOf()) > 0);
      for (const [, damage, message] of faults) {
        damage(path);
        const before = existsSync(path) && readFileSync(path, 'utf8');
        await assert.rejects(restarted(first), message);
        assert.equal(existsSync(path) && readFileSync(path, 'utf8'), before, 'no other key was written');
        const { status, body } = await first.call(health);
        assert.deepEqual([status, body.checks['keys']?.status], [200, 'degraded'], 'the running service has its key');
        assert.match(body.checks['keys']?.note ?? '', /profile-key/);
        assert.equal(body.checks['keys']?.note.includes(first.dataDir), false, 'the health check is for everybody');
        const { warnings } = (await first.call(overview)).body;
        assert.ok(
          warnings.some((line) => line.includes(path)),
          warnings.join('\n'),
        );
        writeFileSync(path, key);
      }
      const second = await restarted(first);
      assert.equal((await second.create({ profile: { name: 'kept' } })).status, 'ready');
      await second.close();
    } finally {
      await first.close();
    }
  });

  it('the key of profiles is created anew where no profile was saved', async () => {
    const first = await startApp();
    const path = join(first.dataDir, 'profile-key');
    try {
      rmSync(path);
      const second = await restarted(first);
      assert.match(readFileSync(path, 'utf8'), /^[\da-f]{64}\n$/);
      await second.close();
    } finally {
      await first.close();
    }
  });

  it('the key of profiles is that of the database in a fleet, whatever is in the data directory', async () => {
    const first = await startApp({ isInFleet: true });
    try {
      const { session_id } = await first.create(saving('shared'));
      await first.call(endSession, { params: { session_id } });
      const versionOf = async () => (await first.call(getProfile, { params: { profile_id: 'shared' } })).body.version;
      await eventually('the profile is saved', async () => (await versionOf()) > 0);
      const second = await startApp({ isInFleet: true, beside: first });
      assert.equal((await second.create({ profile: { name: 'shared' } })).status, 'ready');
      await second.close();
    } finally {
      await first.close();
    }
  });

  it('a damaged token-key is refused as the key of profiles is', async () => {
    const first = await startApp();
    try {
      truncateSync(join(first.dataDir, 'token-key'), 10);
      await assert.rejects(restarted(first), /token-key is damaged/);
    } finally {
      await first.close();
    }
  });
});

describe('422', () => {
  const wrong: [string, Parameters<TestApp['issues']>[0], Record<string, unknown>, string, string][] = [
    ['neither id nor name', createSession, { profile: {} }, 'body.profile.name', 'missing'],
    ['id and name', createSession, { profile: { id: 'pro_1', name: 'a' } }, 'body.profile.id', 'value_error'],
    ['a misspelled field', createSession, { profile: { name: 'a', save: true } }, 'body.profile.save', 'extra_forbidden'],
    ['a storage state beside it', createSession, { ...saving('a'), storage_state: {} }, 'body.storage_state', 'value_error'],
    ['a fetch in a session', fetchPage, { ...saving('a'), url: site, session_id: 'ses_1' }, 'body.profile', 'value_error'],
    ['a fetch without a browser', fetchPage, { ...saving('a'), url: site, mode: 'http' }, 'body.profile', 'value_error'],
    ['an inspection in a session', inspect, { ...saving('a'), url: site, session_id: 'ses_1' }, 'body.profile', 'value_error'],
    [
      'an inspection of a HAR',
      inspect,
      { ...saving('a'), har: { log: { version: '1.2', creator: { name: 'a', version: '1' }, entries: [] } } },
      'body.profile',
      'value_error',
    ],
    ['a flow in a session', runAgent, { ...saving('a'), task: 'custom', session_id: 'ses_1' }, 'body.profile', 'value_error'],
  ];
  for (const [what, endpoint, body, loc, type] of wrong)
    it(`a profile is refused with 422 for ${what}`, async () => {
      const issues = await served.issues(endpoint, { body });
      assert.ok(
        issues.some((issue) => issue.loc.join('.') === loc && issue.type === type),
        JSON.stringify(issues),
      );
    });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import { ManualClock } from '@berth/lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { Audit, type AuditEvent } from './audit.ts';

let opened: TestStore;
let store: Store;
before(async () => {
  opened = await testStore();
  ({ store } = opened);
});
after(() => opened.drop());

const dayMs = 86_400_000;

/** Entries of an owner of their own, so that the tests do not see each other's. */
function openAudit(owner: string, start?: Date) {
  const clock = new ManualClock(start);
  const audit = new Audit({ store, clock });
  const record = (event: Partial<AuditEvent> = {}): Promise<void> =>
    audit.record(store, { actor: 'operator', action: 'key.created', owner, subject: 'key_1', ...event });
  const listed = async (filter: Partial<Parameters<Audit['list']>[0]> = {}) => audit.list({ owner, limit: 100, ...filter });
  const prune = async (): Promise<void> => {
    audit.pruning.nudge();
    await audit.pruning.idle();
    assert.equal(audit.pruning.status.lastError, null);
  };
  return { audit, clock, record, listed, prune };
}

describe('an entry', () => {
  it('an audit entry is listed as it was written, with its time', async () => {
    const { record, listed, clock } = openAudit('listed');
    await record({ actor: 'login:ada', action: 'key.rotated', details: { replaces: 'key_0' } });
    const [entry] = await listed();
    assert.ok(entry && entry.entryId > 0);
    const expected = {
      at: clock.now(),
      actor: 'login:ada',
      action: 'key.rotated',
      owner: 'listed',
      subject: 'key_1',
      details: { replaces: 'key_0' },
    };
    assert.deepEqual({ ...entry, entryId: 0 }, { entryId: 0, ...expected });
  });

  it('an audit entry needs neither owner nor subject', async () => {
    const { audit } = openAudit('none');
    await audit.record(store, { actor: 'operator', action: 'credit_codes.made', owner: null, subject: null });
    const [entry] = await audit.list({ action: 'credit_codes.made', limit: 1 });
    assert.deepEqual([entry?.owner, entry?.subject, entry?.details], [null, null, {}]);
  });

  it('an audit entry is rolled back with the change that it records', async () => {
    const { audit, record, listed } = openAudit('undone');
    const transaction = store.transaction(async (tx) => {
      await audit.record(tx, { actor: 'operator', action: 'key.revoked', owner: 'undone', subject: 'key_1' });
      throw new Error('the deed failed');
    });
    await assert.rejects(transaction, /the deed failed/);
    await record();
    assert.deepEqual(
      (await listed()).map(({ action }) => action),
      ['key.created'],
    );
  });

  it('an audit entry can be neither changed nor deleted', async () => {
    const { record, listed } = openAudit('fixed');
    await record();
    for (const statement of [sql`UPDATE audit_log SET actor = 'nobody'`, sql`TRUNCATE audit_log`])
      await assert.rejects(statement.execute(store.tables()), /only ever added to/);
    const young = openAudit('young', new Date());
    await young.record();
    await assert.rejects(sql`DELETE FROM audit_log WHERE owner_id = 'young'`.execute(store.tables()), /only ever added to/);
    assert.equal((await listed()).length + (await young.listed()).length, 2);
  });
});

describe('the list', () => {
  it('the audit log lists entries newest first, also of one instant', async () => {
    const { audit, listed } = openAudit('newest');
    const events = ['key_1', 'key_2', 'key_3'].map((subject) => ({
      actor: 'operator',
      action: 'key.created' as const,
      owner: 'newest',
      subject,
    }));
    await audit.record(store, ...events);
    assert.deepEqual(
      (await listed()).map(({ subject }) => subject),
      ['key_3', 'key_2', 'key_1'],
    );
  });

  it('the audit log is filtered by owner, actor, action and time', async () => {
    const { record, listed, clock, audit } = openAudit('narrow');
    await record({ actor: 'login:ada', subject: 'a' });
    await record({ action: 'key.revoked', subject: 'b' });
    clock.advance(1000);
    await record({ subject: 'c' });
    const subjects = async (filter: Parameters<typeof listed>[0]) => (await listed(filter)).map(({ subject }) => subject);
    assert.deepEqual(await subjects({}), ['c', 'b', 'a']);
    assert.deepEqual(await subjects({ actor: 'login:ada' }), ['a']);
    assert.deepEqual(await subjects({ action: 'key.revoked' }), ['b']);
    assert.deepEqual(await subjects({ since: clock.now() }), ['c']);
    assert.deepEqual(await subjects({ actor: 'operator', action: 'key.created' }), ['c']);
    assert.deepEqual(await audit.list({ owner: 'nobody', limit: 100 }), []);
  });

  it('the audit log continues before the last entry of the page', async () => {
    const { record, listed } = openAudit('paged');
    for (const subject of ['a', 'b', 'c']) await record({ subject });
    const page = await listed({ limit: 2 });
    const rest = await listed({ limit: 2, before: page.at(-1)?.entryId });
    assert.deepEqual(
      [...page, ...rest].map(({ subject }) => subject),
      ['c', 'b', 'a'],
    );
  });
});

describe('pruning', () => {
  it('pruning the audit log deletes entries older than 400 days, and nothing else', async () => {
    const { record, listed, clock, prune } = openAudit('old', new Date('2020-01-01T00:00:00Z'));
    await record({ subject: 'first' });
    clock.advance(dayMs);
    await record({ subject: 'second' });
    clock.advance(400 * dayMs);
    await prune();
    assert.deepEqual(
      (await listed()).map(({ subject }) => subject),
      ['second'],
    );
  });

  it('pruning the audit log deletes any number of entries', async () => {
    const { audit, listed, clock, prune } = openAudit('many', new Date('2020-01-01T00:00:00Z'));
    const events = Array.from({ length: 2500 }, () => ({
      actor: 'operator',
      action: 'key.created' as const,
      owner: 'many',
      subject: null,
    }));
    await audit.record(store, ...events);
    clock.advance(401 * dayMs);
    await prune();
    assert.deepEqual(await listed(), []);
  });

  it('pruning the audit log deletes no entry of the last year, whatever the clock of a worker says', async () => {
    const young = openAudit('kept', new Date());
    await young.record();
    const { prune } = openAudit('ahead', new Date(Date.now() + 1000 * dayMs));
    await prune();
    assert.equal((await young.listed()).length, 1);
  });
});

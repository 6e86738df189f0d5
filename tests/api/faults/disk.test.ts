/** A disk with less free space than the floor: nothing but the database grows. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, fetchPage, health } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

describe('below the floor of the disk', () => {
  let served: TestApp;
  before(async () => {
    // No disk of a test machine has a terabyte free.
    served = await startApp({ environment: { BERTH_DISK_FREE_MB_MIN: '1000000' } });
    served.app.disk.watch.nudge();
    await served.app.disk.watch.idle();
  });
  after(() => served.close());

  it('sessions and jobs are refused below the floor of the disk with the reason', async () => {
    const created = await served.refuse(createSession, 'no_capacity', { body: {} });
    assert.deepEqual(created.details, { reason: 'disk_low' });
    assert.equal(created.reply.headers.get('retry-after'), '30');
    const job = await served.refuse(fetchPage, 'no_capacity', { body: { url: 'http://site.test/', async: true, mode: 'http' } });
    assert.deepEqual(job.details, { reason: 'disk_low' });
  });

  it('the health is degraded below the floor of the disk, with what is free and what is refused', async () => {
    const { status, body } = await served.call(health);
    assert.deepEqual([status, body.status, body.checks['disk']?.status], [503, 'degraded', 'degraded']);
    assert.match(body.checks['disk']?.note ?? '', /^\d+ MB free, less than 1000000: new sessions, jobs and files are refused$/);
  });
});

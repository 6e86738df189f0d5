/** The recording of a real browser, which another worker plays from a bucket after its own has stopped. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, createViewToken, endSession, listRecordings } from '@berth/contract';
import { openTestBucket, type TestBucket } from '../../../packages/server/testing/objects.ts';
import { testStore, type TestStore } from '../../../packages/server/testing/test-store.ts';
import { sendAsIs } from '../../raw-http.ts';
import { waitForRecorded } from './recorded-picture.ts';
import { Service, eventually, stopAll } from '../service.ts';
import { startSite, type Site } from '../site.ts';
import { ViewerBrowser, waitForColour } from './viewing.ts';
import { Reports, blue, viewingPages } from './viewing-pages.ts';

/** Encoders have a low priority. */
const videoMs = 40_000;

describe('a recording in a bucket', () => {
  const folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'berth-bucket-e2e-')));
  let bucket: TestBucket;
  let database: TestStore;
  let site: Site;
  let viewers: ViewerBrowser;
  before(async () => {
    [site, database, bucket, viewers] = await Promise.all([
      startSite({ pages: viewingPages(new Reports()) }),
      testStore(),
      openTestBucket(),
      ViewerBrowser.launch(),
    ]);
  });
  after(async () => {
    await viewers?.close();
    await stopAll();
    await site?.close();
    await bucket?.close();
    await database?.drop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const serve = (dataDir = ''): Promise<Service> =>
    Service.start({ dataDir, environment: { BERTH_DATABASE_URL: database.url, BERTH_EGRESS_ALLOW: site.host, ...bucket.environment } });

  it('a recording in a bucket is played by another worker', async () => {
    const first = await serve(folders[0]);
    const created = await first.client.call(createSession, { body: { record: true, start_url: `${site.url}/blue` } });
    assert.equal(created.status, 201, created.text);
    const params = { session_id: created.body.session_id };
    const recId = created.body.recording.rec_id ?? '';
    const recordingAt = async ({ client }: Service) =>
      (await client.call(listRecordings, { params })).body[0] ?? assert.fail('no recording');
    await waitForRecorded(blue, { service: first, session: created.body, withinMs: videoMs });
    assert.equal((await first.client.call(endSession, { params })).status, 204);
    await eventually('it is over', async () => (await recordingAt(first)).status !== 'recording', videoMs);
    const { status, assets } = await recordingAt(first);
    assert.equal(status, 'complete', first.errors);
    assert.equal(await first.stop(), 0);
    assert.equal(existsSync(join(folders[0] ?? '', 'recordings', recId)), false, 'it was uploaded before the worker stopped');

    const second = await serve(folders[1]);
    assert.deepEqual((await recordingAt(second)).assets, assets);
    const path = `/v1/session/${params.session_id}/recordings/${recId}/video.mp4`;
    const part = await sendAsIs(second.url, {
      method: 'GET',
      path,
      headers: [
        ['authorization', `Bearer ${second.key}`],
        ['range', 'bytes=4-7'],
      ],
    });
    assert.deepEqual([part.status, part.text], [206, 'ftyp']);
    const { url } = (await second.client.call(createViewToken, { params, body: { scope: 'recording' } })).body;
    const viewer = await viewers.newViewer({ origin: second.url });
    await viewer.open(url ?? assert.fail('no link'));
    await viewer.page.getByRole('button', { name: 'Play', exact: true }).click();
    await waitForColour(viewer.page.locator('video'), blue);
    viewer.assertNoIssues();
    await viewer.close();
    assert.equal(await second.stop(), 0);
  });
});

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createKey,
  createSession,
  createViewToken,
  endSession,
  getSession,
  listRecordings,
  navigate,
  runActions,
  type RecordingResponse,
  type SessionResponse,
} from '@berth/contract';
import { testStore, type TestStore } from '../../../packages/server/testing/test-store.ts';
import { comparable, type Client, type Reply } from '../../client.ts';
import { sendAsIs } from '../../raw-http.ts';
import { nightly } from '../../nightly.ts';
import { waitForRecorded } from './recorded-picture.ts';
import { Service, eventually, stopAll } from '../service.ts';
import { page as html, startSite, type Site } from '../site.ts';
import { ViewerBrowser, waitForColour, waitForMovement, slowMs, type Viewer } from './viewing.ts';
import { Reports, blue, viewingPages } from './viewing-pages.ts';

const secret = 'correct-horse-7531';
/** Time for an encoder's next segment, or for recovery after a kill: on a busy machine encoders, which have a low priority, come last. */
const videoMs = 40_000;

const pages = {
  '/login': html(
    'Log in',
    '<form action="/in"><input id="user" name="user"><input id="password" name="password" type="password"><button id="go">Go</button></form>',
  ),
  '/in': html(
    'In',
    `<script>console.error('something went wrong', 'http://127.0.0.1/x?key=hidden-in-console'); fetch('/status/500').then((answer) => answer.text()).then(() => fetch('/said', { method: 'POST', body: JSON.stringify({ type: 'asked' }) }))</script>`,
  ),
};

describe('recordings', () => {
  const reports = new Reports();
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-recordings-'));
  let database: TestStore;
  let site: Site;
  let service: Service;
  let client: Client;
  let viewers: ViewerBrowser;
  /** Recorded from the start and ended during the tests. */
  let session: SessionResponse;
  let startedMs: number;
  /** When there was a part of its video. */
  let recordedMs: number;
  before(async () => {
    [site, database, viewers] = await Promise.all([
      startSite({ pages: { ...viewingPages(reports), ...pages } }),
      testStore(),
      ViewerBrowser.launch(),
    ]);
    await serve({});
    startedMs = Date.now();
    session = await record('/red');
  });
  after(async () => {
    await viewers?.close();
    await stopAll();
    await site?.close();
    await database?.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const serve = async (environment: Record<string, string>): Promise<void> => {
    service = await Service.start({
      dataDir,
      environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_DATABASE_URL: database.url, ...environment },
    });
    client = service.client;
  };
  const record = async (path: string): Promise<SessionResponse> => {
    const reply = await client.call(createSession, { body: { record: true, start_url: site.url + path } });
    assert.equal(reply.status, 201, reply.text);
    return reply.body;
  };
  const paramsOf = ({ session_id }: Pick<SessionResponse, 'session_id'>) => ({ session_id });
  const recordingOf = async (of: SessionResponse): Promise<RecordingResponse> => {
    const [recording, ...others] = (await client.call(listRecordings, { params: paramsOf(of) })).body;
    assert.ok(recording && others.length === 0);
    assert.equal(recording.rec_id, of.recording.rec_id);
    return recording;
  };
  const until = (of: SessionResponse, what: string, holds: (recording: RecordingResponse) => boolean): Promise<RecordingResponse> =>
    eventually(
      what,
      async () => {
        const recording = await recordingOf(of);
        return holds(recording) && recording;
      },
      videoMs,
    );
  const folderOf = ({ session_id, recording: { rec_id } }: SessionResponse) => `/v1/session/${session_id}/recordings/${rec_id}`;
  const bearer = () => ['authorization', `Bearer ${service.key}`] as const;
  const asset = (of: SessionResponse, name: string, headers: (readonly [string, string])[] = [bearer()]): Promise<Reply> =>
    sendAsIs(service.url, { method: 'GET', path: `${folderOf(of)}/${name}`, headers });
  const eventsOf = async (of: SessionResponse): Promise<{ t_ms: number; at: string; type: string; data: Record<string, unknown> }[]> =>
    (await asset(of, 'events.ndjson')).text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { t_ms: number; at: string; type: string; data: Record<string, unknown> });
  const play = async (of: SessionResponse, options: object = {}): Promise<Viewer> => {
    const link = (await client.call(createViewToken, { params: paramsOf(of), body: { scope: 'recording' } })).body.url ?? '';
    const viewer = await viewers.newViewer({ origin: service.url, ...options });
    await viewer.open(link);
    assert.equal(viewer.page.url(), `${service.url}${folderOf(of)}/index.html`);
    await viewer.page.getByRole('heading', { name: 'Timeline' }).waitFor();
    return viewer;
  };
  const video = ({ page }: Viewer) => page.locator('video');
  const timeOf = (viewer: Viewer): Promise<number> => video(viewer).evaluate((element) => (element as HTMLVideoElement).currentTime);
  const button = ({ page }: Viewer, name: string) => page.getByRole('button', { name, exact: true });
  const row = ({ page }: Viewer, text: string) => page.getByRole('option').filter({ hasText: text });
  const shown = ({ page }: Viewer) => page.getByRole('listbox', { name: 'Events' }).getByRole('option', { selected: true });

  it('recordings are reported by the session from the start and contain video', async () => {
    assert.equal(session.recording.enabled, true);
    assert.match(session.recording.rec_id ?? '', /^rec_/);
    assert.equal(session.recording.status, 'recording');
    const params = paramsOf(session);
    const type = (selector: string, value: string) => ({ type: 'fill', selectors: [selector], value });
    await client.call(navigate, { params, body: { url: `${site.url}/login` } });
    const actions = [type('#user', 'somebody'), type('#password', secret), { type: 'click', selectors: ['#go'] }];
    const acted = await client.call(runActions, { params, body: { actions } });
    assert.equal(acted.status, 200, acted.text);
    assert.deepEqual(
      acted.body.results.map(({ status }) => status),
      ['ok', 'ok', 'ok'],
    );
    // What the page asks for ends with it.
    await reports.waitFor('asked');
    await client.call(navigate, { params, body: { url: `${site.url}/moving` } });
    const recording = await until(
      session,
      'there is a video',
      ({ video: kind, assets }) => kind !== null && assets.includes('video.m3u8') && assets.includes('poster.jpg'),
    );
    recordedMs = Date.now();
    assert.equal(recording.status, 'recording');
    assert.equal(recording.video, 'hls');
    assert.equal(recording.expires_at, null);
    assert.ok(recording.assets.includes('index.html'));
    assert.equal((await client.call(getSession, { params })).body.connections.viewers, 0, 'the recorder is counted as a person');
  });

  it('recordings play while the session runs and jump to live', async () => {
    const viewer = await play(session);
    await viewer.page
      .getByRole('status')
      .filter({ hasText: /^Recording$/ })
      .waitFor();
    await button(viewer, 'Play').click();
    await eventually('the video plays', async () => (await timeOf(viewer)) > 0.3, videoMs);
    await button(viewer, 'Pause').waitFor();
    const before = await viewer.page.getByRole('slider', { name: 'Position in the video' }).getAttribute('max');
    await row(viewer, '/login').first().waitFor();
    await viewer.inspect('player-recording');
    await eventually('it grows', async () => Number(await viewer.page.getByRole('slider').getAttribute('max')) > Number(before), videoMs);
    const edge = viewer.page.getByRole('button', { name: /live edge/ });
    // At the edge it is disabled, which it may be from one moment to the next.
    await edge.evaluate((element) => (element as HTMLButtonElement).click());
    await waitForMovement(video(viewer), { withinMs: videoMs });
    viewer.assertNoIssues();
    await viewer.close();
  });

  it('recordings are complete after the session, with its duration and every listed file', async () => {
    await client.call(navigate, { params: paramsOf(session), body: { url: `${site.url}/blue` } });
    await waitForRecorded(blue, { service, session, withinMs: videoMs });
    const leastMs = Date.now() - recordedMs;
    await client.call(endSession, { params: paramsOf(session) });
    const mostMs = Date.now() - startedMs;
    const recording = await until(session, 'it is complete', ({ status }) => status !== 'recording');
    assert.equal(recording.status, 'complete');
    assert.equal(recording.truncated, false);
    const isWithin = recording.duration_ms >= leastMs - 100 && recording.duration_ms <= mostMs + 100;
    assert.ok(isWithin, `${recording.duration_ms} ms, not ${leastMs} to ${mostMs}`);
    assert.ok(recording.expires_at && recording.ended_at && recording.size_bytes > 1000);
    await eventually(
      'its session says so',
      async () => (await client.call(getSession, { params: paramsOf(session) })).body.recording.status === 'complete',
    );
    for (const name of ['video.m3u8', 'init.mp4', 'seg00000.m4s', 'events.ndjson', 'har.json', 'poster.jpg', 'recording.json'])
      assert.ok(recording.assets.includes(name), name);
    const link = (await client.call(createViewToken, { params: paramsOf(session), body: { scope: 'recording' } })).body.url ?? '';
    const opened = await fetch(link);
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    for (const name of recording.assets) {
      const [byKey, byLink] = await Promise.all([asset(session, name), asset(session, name, [['cookie', cookie]])]);
      assert.deepEqual([byKey.status, byLink.status], [200, 200], name);
      assert.ok(byKey.text.length > 0 && byKey.text === byLink.text, name);
      assert.equal(byKey.headers.get('content-disposition')?.split(';')[0], 'inline', name);
    }
    assert.deepEqual([...(await asset(session, 'poster.jpg')).text].slice(6, 10).join(''), 'JFIF');
    const playlist = (await asset(session, 'video.m3u8')).text;
    assert.match(playlist, /#EXT-X-ENDLIST/);
    const seconds = [...playlist.matchAll(/#EXTINF:([\d.]+)/g)].reduce((sum, [, length]) => sum + Number(length), 0);
    assert.ok(Math.abs(seconds * 1000 - recording.duration_ms) < 3000, `a video of ${seconds} s of ${recording.duration_ms} ms`);
  });

  it('recordings serve ranges and refuse invalid ranges', async () => {
    const whole = await asset(session, 'events.ndjson');
    const size = Buffer.byteLength(whole.text);
    const fetchRange = (range: string) => asset(session, 'events.ndjson', [bearer(), ['range', range]]);
    for (const [range, from, to] of [
      ['bytes=0-9', 0, 9],
      ['bytes=5-', 5, size - 1],
      ['bytes=-7', size - 7, size - 1],
      [`bytes=${size - 3}-${size + 100}`, size - 3, size - 1],
    ] as const) {
      const reply = await fetchRange(range);
      assert.equal(reply.status, 206, range);
      assert.equal(reply.headers.get('content-range'), `bytes ${from}-${to}/${size}`);
      assert.equal(reply.headers.get('content-length'), String(to - from + 1));
      assert.equal(
        reply.text,
        Buffer.from(whole.text)
          .subarray(from, to + 1)
          .toString(),
      );
    }
    const refused = await fetchRange(`bytes=${size}-`);
    assert.equal(refused.status, 416);
    assert.equal(whole.headers.get('accept-ranges'), 'bytes');
    assert.equal((await fetchRange('lines=0-1')).status, 200);
  });

  it('recordings list events in order without typed text and query values', async () => {
    const events = await eventsOf(session);
    for (const [n, { t_ms, at }] of events.entries()) {
      assert.ok(n === 0 || t_ms >= (events[n - 1]?.t_ms ?? 0), 'out of order');
      assert.ok(!Number.isNaN(Date.parse(at)));
    }
    const has = (type: string, text: string) =>
      assert.ok(
        events.some((event) => event.type === type && JSON.stringify(event.data).includes(text)),
        `${type} ${text}: ${events.map((event) => `\n${event.t_ms} ${event.type} ${JSON.stringify(event.data)}`).join('')}`,
      );
    has('navigation', '/red');
    has('navigation', '/blue');
    has('console', 'something went wrong');
    has('network.failed', '/status/500');
    has('action', '/login');
    has('actions.step', '#go');
    assert.ok(events.some(({ type, data }) => type === 'network' && Number(data['requests']) > 0));
    const reported = (await asset(session, 'events.ndjson')).text + (await asset(session, 'recording.json')).text;
    assert.ok(!reported.includes(secret), 'what was typed is in the timeline');
    assert.ok(!reported.includes('hidden-in-console'), 'a value of an address is in the timeline');
    const harText = (await asset(session, 'har.json')).text;
    assert.ok(!harText.includes(secret), 'what a form sent in its address is in the HAR');
    const har = JSON.parse(harText) as { log: { version: string; entries: { request: { url: string } }[] } };
    assert.equal(har.log.version, '1.2');
    assert.ok(har.log.entries.some(({ request }) => request.url === `${site.url}/red`));
  });

  it('recordings seek to each event by mouse and by keyboard', async () => {
    const viewer = await play(session);
    const { page } = viewer;
    await eventually(
      'the video is as long as the session',
      async () => Number(await page.getByRole('slider').getAttribute('max')) > 5000,
      slowMs,
    );
    await button(viewer, 'Play').click();
    await eventually('the video plays', async () => (await timeOf(viewer)) > 0.5, slowMs);
    await viewer.inspect('player');
    await button(viewer, 'Pause').click();
    await page.getByRole('searchbox').fill('blue');
    const opened = (await eventsOf(session)).find(({ type, data }) => type === 'navigation' && data['url'] === `${site.url}/blue`);
    await row(viewer, 'Page opened').first().click();
    await eventually('it is at the event', async () => Math.abs((await timeOf(viewer)) * 1000 - (opened?.t_ms ?? 0)) < 300, slowMs);
    // A page is painted shortly after it was opened.
    await page.keyboard.press('k');
    await waitForColour(video(viewer), blue);
    // The end may be reached by now, from where the key would play it again.
    await video(viewer).evaluate((element) => (element as HTMLVideoElement).pause());
    await page.getByRole('region', { name: 'Event' }).getByText(`${site.url}/blue`).waitFor();
    const list = page.getByRole('listbox', { name: 'Events' });
    await list.focus();
    // An event chosen before the page has been painted with another filter stays chosen.
    await page.getByRole('searchbox').evaluate(async (field) => {
      (field as HTMLInputElement).value = '';
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
      const events = document.querySelector('[role=listbox]');
      events?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true, cancelable: true }));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100)));
    });
    await page.keyboard.press('Enter');
    await eventually('it is at the start', async () => (await timeOf(viewer)) < 1, slowMs);
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await waitForColour(video(viewer), blue);
    await page.getByRole('button', { name: 'Console' }).click();
    await eventually('console lines are dropped', async () => (await row(viewer, 'something went wrong').count()) === 0);
    assert.equal(await shown(viewer).count(), 1);
    await page.getByRole('heading', { name: 'Timeline' }).click();
    await page.keyboard.press('Home');
    await eventually('it is at the start again', async () => (await timeOf(viewer)) === 0, slowMs);
    await page.keyboard.press('ArrowRight');
    await eventually('it is five seconds on', async () => Math.abs((await timeOf(viewer)) - 5) < 0.3, slowMs);
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+>');
    assert.equal(await page.getByRole('combobox', { name: 'Speed' }).inputValue(), '1.5');
    await page.keyboard.press('k');
    await eventually(
      'it plays faster',
      () =>
        video(viewer).evaluate((element) => !(element as HTMLVideoElement).paused && (element as HTMLVideoElement).playbackRate === 1.5),
      slowMs,
    );
    await page.keyboard.press('k');
    for (const panel of ['Files', 'Help']) {
      await button(viewer, panel).click();
      await viewer.inspect(`player-${panel.toLowerCase()}`);
      await page.keyboard.press('Escape');
    }
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button(viewer, 'Files')
        .click()
        .then(() => page.getByRole('link', { name: 'har.json' }).click()),
    ]);
    assert.equal(download.suggestedFilename(), 'har.json');
    const movie = await page.evaluate(
      (source) =>
        new Promise<number[]>((resolve) => {
          const element = document.createElement('video');
          element.addEventListener('loadedmetadata', () => resolve([element.videoWidth, element.videoHeight]));
          element.addEventListener('error', () => resolve([]));
          element.src = source;
        }),
      'video.mp4',
    );
    assert.deepEqual(movie, [1280, 720]);
    assert.equal(await row(viewer, 'Viewer joined').count(), 0, 'viewers are folded away');
    viewer.assertNoIssues();
    await viewer.close();
  });

  it('recordings play on a phone', nightly, async () => {
    const viewer = await play(session, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
    await button(viewer, 'Play').tap();
    await eventually('the video plays', async () => (await timeOf(viewer)) > 0.3, slowMs);
    assert.ok(await viewer.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it is wider than the phone');
    await viewer.inspect('player-phone');
    viewer.assertNoIssues();
    await viewer.close();
  });

  it('recordings are visible only to their owner', async () => {
    const key = (await client.call(createKey, { body: { owner: 'acme' } })).body.key ?? '';
    await client.refuse(listRecordings, 'session_not_found', { params: paramsOf(session), key });
    await client.refuse(createViewToken, 'session_not_found', { params: paramsOf(session), key, body: { scope: 'recording' } });
    const answers = await Promise.all(
      [folderOf(session), `/v1/session/${session.session_id}/recordings/rec_unknown`, '/v1/session/ses_unknown/recordings/rec_unknown'].map(
        (folder) =>
          sendAsIs(service.url, { method: 'GET', path: `${folder}/recording.json`, headers: [['authorization', `Bearer ${key}`]] }),
      ),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404],
    );
    assert.equal(new Set(answers.map(comparable)).size, 1);
  });

  it('recordings stay playable and are marked incomplete after a kill, and expire', async () => {
    reports.clear();
    const cut = await record('/moving');
    await reports.waitFor('shown', { from: '/moving' });
    const segmentsOf = (assets: readonly string[]): number => assets.filter((name) => name.startsWith('seg')).length;
    const shownAt = segmentsOf((await recordingOf(cut)).assets);
    // One of them is of the page alone.
    await until(cut, 'the page is in the video', ({ assets }) => segmentsOf(assets) >= shownAt + 2);
    await service.stop('SIGKILL');
    await database.store
      .tables<{ recordings: { rec_id: string; expires_at: Date } }>()
      .updateTable('recordings')
      .set({ expires_at: new Date(Date.now() - 1000) })
      .where('rec_id', '=', session.recording.rec_id ?? '')
      .execute();
    const expired = join(dataDir, 'recordings', session.recording.rec_id ?? '');
    assert.ok(existsSync(expired));
    // No encoder is available from here on.
    await serve({ BERTH_FFMPEG: '/nonexistent/ffmpeg' });
    // Read once: it is settled before the first answer.
    const recording = await until(cut, 'it is listed', () => true);
    assert.equal(recording.status, 'incomplete');
    await eventually(
      'its session says so',
      async () => (await client.call(getSession, { params: paramsOf(cut) })).body.recording.status === 'incomplete',
      videoMs,
    );
    const viewer = await play(cut);
    await viewer.page.getByText('Incomplete.').waitFor();
    // What was recorded until the kill may last two seconds: once is too short for a busy machine to see it move.
    await video(viewer).evaluate((element) => ((element as HTMLVideoElement).loop = true));
    await button(viewer, 'Play').click();
    await waitForMovement(video(viewer));
    await viewer.inspect('player-incomplete');
    viewer.assertNoIssues();
    await viewer.close();
    await eventually('the expired recording is deleted', () => !existsSync(expired), videoMs);
    assert.equal((await asset(session, 'recording.json')).status, 404);
  });

  it('recordings contain and play frames without an encoder', async () => {
    const plain = await record('/red');
    await client.call(navigate, { params: paramsOf(plain), body: { url: `${site.url}/moving` } });
    await until(plain, 'there are pictures', ({ video: kind, assets }) => kind === 'frames' && assets.includes('frames.mjpeg'));
    const frames = async (): Promise<number> => (await asset(plain, 'frames.ndjson')).text.split('\n').length;
    const before = await frames();
    await eventually('more frames are kept', async () => (await frames()) - before > 5, videoMs);
    await client.call(endSession, { params: paramsOf(plain) });
    const recording = await until(plain, 'it is complete', ({ status }) => status !== 'recording');
    assert.deepEqual([recording.status, recording.video], ['complete', 'frames']);
    const viewer = await play(plain);
    const picture = viewer.page.locator('canvas');
    await button(viewer, 'Play').click();
    await waitForMovement(picture);
    await viewer.inspect('player-frames');
    viewer.assertNoIssues();
    await viewer.close();
  });

  it('recordings leave nothing when the service stops', async () => {
    assert.equal(await service.stop(), 0);
    const children = await eventually('the rows are stored', async () => {
      const rows = await database.store
        .tables<{ recordings: { rec_id: string; status: string } }>()
        .selectFrom('recordings')
        .selectAll()
        .execute();
      return rows.every(({ status }) => status !== 'recording') && rows;
    });
    assert.equal(children.length, 2);
  });
});

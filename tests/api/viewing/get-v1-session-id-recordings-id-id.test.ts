import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { endSession, navigate, readRecordingAsset, revokeViewTokens, runActions } from '@berth/contract';
import { newId } from '@berth/lib/ids.ts';
import { comparable, eventually, startApp, type Reply, type TestApp } from '../../harness.ts';
import { sendAsIs } from '../../raw-http.ts';
import { recordedSession, recordingSession, endRecorded, type RecordedSession } from '../../prepare/recorded-session.ts';
import { assertError } from '../../contract/session-states.ts';
import { cookieOf, open, tokenFor } from '../../prepare/view-links.ts';

let served: TestApp;
/** A finished recording with a video, as an encoder would write it. */
let over: RecordedSession;
before(async () => {
  served = await startApp();
  over = await recordedSession(served);
  for (const name of ['init.mp4', 'seg00000.m4s', 'seg00001.m4s', 'video.m3u8'])
    writeFileSync(join(over.folder, 'video', name), `of ${name}`);
});
after(() => served.close());

const pathOf = ({ sessionId, recId }: Pick<RecordedSession, 'sessionId' | 'recId'>, name: string): string =>
  `/v1/session/${sessionId}/recordings/${recId}/${name}`;
const byKey = (name: string, headers: Record<string, string> = {}, session = over): Promise<Reply> =>
  open(served.url + pathOf(session, name), { authorization: `Bearer ${served.key}`, ...headers });
const byLink = (session: RecordedSession, name: string, token: string): Promise<Reply> =>
  open(`${served.url}${pathOf(session, name)}?token=${token}`);
const params = ({ sessionId, recId }: RecordedSession, asset_path: string) => ({ session_id: sessionId, rec_id: recId, asset_path });

describe('200', () => {
  for (const [name, contentType, cacheControl] of [
    ['recording.json', 'application/json; charset=utf-8', 'no-store'],
    ['events.ndjson', 'application/x-ndjson; charset=utf-8', 'no-store'],
    ['har.json', 'application/json; charset=utf-8', 'no-store'],
    ['poster.jpg', 'image/jpeg', 'private, max-age=3600'],
    ['video.m3u8', 'application/vnd.apple.mpegurl', 'no-store'],
    ['init.mp4', 'video/mp4', 'private, max-age=3600'],
    ['seg00001.m4s', 'video/iso.segment', 'private, max-age=3600'],
    ['frames.mjpeg', 'video/x-motion-jpeg', 'no-store'],
    ['frames.ndjson', 'application/x-ndjson; charset=utf-8', 'no-store'],
  ] as const)
    it(`GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} serves the file ${name} with its own type, never as a page`, async () => {
      const { status, headers } = await byKey(name);
      assert.equal(status, 200);
      const names = [
        'content-type',
        'cache-control',
        'content-disposition',
        'content-security-policy',
        'x-content-type-options',
        'accept-ranges',
        'cross-origin-resource-policy',
      ];
      assert.deepEqual(
        names.map((each) => headers.get(each)),
        [contentType, cacheControl, `inline; filename=${name}`, "default-src 'none'; sandbox", 'nosniff', 'bytes', 'same-origin'],
      );
      const onDisk = ['.', 'video'].map((folder) => join(over.folder, folder, name)).find((path) => existsSync(path)) ?? '';
      assert.equal(headers.get('content-length'), String(readFileSync(onDisk).length));
    });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} serves the player under a strict policy, identical for all recordings', async () => {
    const { status, headers, text } = await byKey('index.html');
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    const names = ['referrer-policy', 'cache-control', 'cross-origin-resource-policy'];
    assert.deepEqual(
      names.map((each) => headers.get(each)),
      ['no-referrer', 'no-store', 'same-origin'],
    );
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src 'self';.*frame-ancestors 'self'/);
    assert.ok(!text.includes(over.sessionId) && !text.includes(over.recId));
    assert.ok(!/<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=/i.test(text));
    assert.deepEqual(headers.getSetCookie(), []);
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} accepts a link and its cookie, also after the session has ended', async () => {
    const token = await tokenFor(served, over.sessionId, 'recording');
    const first = await byLink(over, 'index.html', token);
    assert.equal(first.status, 200);
    const [cookie = ''] = first.headers.getSetCookie();
    assert.match(cookie, new RegExp(`; Path=/v1/session/${over.sessionId}/recordings; HttpOnly; SameSite=Lax$`));
    for (const name of ['index.html', 'events.ndjson', 'poster.jpg']) {
      const reply = await open(served.url + pathOf(over, name), { cookie: cookieOf(first) });
      assert.equal(reply.status, 200, name);
      assert.deepEqual(reply.headers.getSetCookie(), []);
    }
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} sets the cookie with the first file that is opened by the link, whichever it is, and no second one', async () => {
    const token = await tokenFor(served, over.sessionId, 'recording');
    const first = await byLink(over, 'video.m3u8', token);
    assert.equal(first.status, 200);
    const cookie = cookieOf(first);
    assert.match(first.headers.getSetCookie()[0] ?? '', new RegExp(`; Path=/v1/session/${over.sessionId}/recordings; HttpOnly`));
    assert.equal((await open(served.url + pathOf(over, 'seg00000.m4s'), { cookie })).status, 200);
    const again = await open(`${served.url}${pathOf(over, 'video.m3u8')}?token=${token}`, { cookie });
    assert.deepEqual([again.status, again.headers.getSetCookie()], [200, []]);
    const other = await tokenFor(served, over.sessionId, 'recording');
    assert.notEqual(cookieOf(await open(`${served.url}${pathOf(over, 'video.m3u8')}?token=${other}`, { cookie })), cookie);
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} accepts view links while the session runs', async () => {
    const session = await recordingSession(served);
    for (const scope of ['view', 'control'] as const) {
      const first = await byLink(session, 'index.html', await tokenFor(served, session.sessionId, scope));
      assert.equal(first.status, 200);
      assert.equal((await open(served.url + pathOf(session, 'recording.json'), { cookie: cookieOf(first) })).status, 200);
      if (scope === 'view') continue;
      await endRecorded(served, session);
      assertError(await open(served.url + pathOf(session, 'recording.json'), { cookie: cookieOf(first) }), 403, 'invalid_view_token');
    }
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} lists actions and events on the timeline without typed text', async () => {
    const session = await recordingSession(served);
    const request = { params: { session_id: session.sessionId } };
    await served.call(navigate, { ...request, body: { url: 'http://shop.test/?coupon=hunter2' } });
    const fill = { type: 'fill', selectors: ['input'], value: 'hunter2', timeout_ms: 200, optional: true };
    await served.call(runActions, { ...request, body: { actions: [fill] } });
    await served.refuse(navigate, 'tab_not_found', { ...request, body: { url: 'http://shop.test/', tab_id: 'none' } });
    await endRecorded(served, session);
    const { text } = await byKey('events.ndjson', {}, session);
    assert.doesNotMatch(text, /hunter2/);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { t_ms: number; type: string; data: Record<string, unknown> });
    assert.ok(lines.every(({ t_ms }, at) => t_ms >= (lines[at - 1]?.t_ms ?? 0)));
    const reported = lines.filter(({ type }) => type === 'action').map(({ data: { duration_ms, ...data } }) => [typeof duration_ms, data]);
    assert.deepEqual(reported, [
      ['number', { name: 'navigate', status: 'ok', url: 'http://shop.test/?coupon=…' }],
      ['number', { name: 'actions', status: 'ok' }],
      ['number', { name: 'navigate', status: 'error', error_code: 'tab_not_found', url: 'http://shop.test/' }],
    ]);
    assert.equal(lines[0]?.type, 'session.ready');
    assert.ok(lines.some(({ type }) => type === 'session.ended'));
    assert.ok(lines.some(({ type, data }) => type === 'navigation' && data['url'] === 'http://shop.test/?coupon=…'));
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} has the end of a session that saves its profile, too', async () => {
    const session = await recordingSession(served, { profile: { name: 'recorded', save_changes: true } });
    await endRecorded(served, session);
    const { text } = await byKey('events.ndjson', {}, session);
    assert.equal(text.match(/"session\.ended"/g)?.length, 1);
    assert.match(text, /"ended_reason":"requested"/);
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} serves a growing file up to its current end, without caching', async () => {
    const session = await recordingSession(served);
    await eventually('it has arrived', async () => (await byKey('poster.jpg', {}, session)).status === 200);
    assert.equal((await byKey('poster.jpg', {}, session)).headers.get('cache-control'), 'no-store');
    const before = await byKey('events.ndjson', {}, session);
    await served.call(navigate, { params: { session_id: session.sessionId }, body: { url: 'http://later.test/' } });
    await eventually('more of it has arrived', async () => (await byKey('events.ndjson', {}, session)).text.includes('later.test'));
    assert.ok((await byKey('events.ndjson', {}, session)).text.startsWith(before.text));
    await endRecorded(served, session);
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} sends headers only for HEAD', async () => {
    const response = await fetch(served.url + pathOf(over, 'seg00000.m4s'), {
      method: 'HEAD',
      headers: { authorization: `Bearer ${served.key}` },
    });
    assert.deepEqual([response.status, response.headers.get('content-length'), await response.text()], [200, '15', '']);
  });
});

describe('206', () => {
  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} returns the requested range', async () => {
    for (const [range, text, contentRange] of [
      ['bytes=3-5', 'seg', '3-5/15'],
      ['bytes=12-', 'm4s', '12-14/15'],
      ['bytes=-3', 'm4s', '12-14/15'],
      ['bytes=12-99', 'm4s', '12-14/15'],
    ] as const) {
      const reply = await byKey('seg00000.m4s', { range });
      assert.deepEqual([reply.status, reply.text, reply.headers.get('content-range')], [206, text, `bytes ${contentRange}`]);
    }
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} ignores ranges for the player', async () => {
    assert.equal((await byKey('index.html', { range: 'bytes=0-1' })).status, 200);
  });
});

describe('401 missing_view_token', () => {
  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 401 missing_view_token for a request without a link and without a key', async () => {
    assertError(await open(served.url + pathOf(over, 'poster.jpg')), 401, 'missing_view_token');
    assertError(await open(served.url + pathOf(over, 'poster.jpg'), { cookie: 'other=1' }), 401, 'missing_view_token');
  });
});

describe('403 invalid_view_token', () => {
  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 403 invalid_view_token for links of another session or scope, and revoked links', async () => {
    const other = await recordedSession(served);
    assertError(await byLink(over, 'poster.jpg', await tokenFor(served, other.sessionId, 'recording')), 403, 'invalid_view_token');
    assertError(await byLink(over, 'poster.jpg', 'nonsense'), 403, 'invalid_view_token');
    const token = await tokenFor(served, other.sessionId, 'recording');
    const first = await byLink(other, 'index.html', token);
    await served.call(revokeViewTokens, { params: { session_id: other.sessionId } });
    assertError(await byLink(other, 'index.html', token), 403, 'invalid_view_token');
    assertError(await open(served.url + pathOf(other, 'poster.jpg'), { cookie: cookieOf(first) }), 403, 'invalid_view_token');
  });
});

describe('403 invalid_api_key', () => {
  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 403 invalid_api_key for an invalid key', async () => {
    await served.refuse(readRecordingAsset, 'invalid_api_key', { params: params(over, 'poster.jpg'), key: `${served.key}x` });
  });
});

describe('404 recording_not_found', () => {
  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 404 recording_not_found for the player and the files of an unknown recording', async () => {
    for (const asset of ['index.html', 'poster.jpg', 'nothing'])
      for (const wrong of [
        { recId: newId('rec') },
        { recId: '../x' },
        { recId: 'rec_💥' },
        { sessionId: newId('ses') },
        { sessionId: 'nothing' },
      ])
        await served.refuse(readRecordingAsset, 'recording_not_found', { params: params({ ...over, ...wrong }, asset) });
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 404 recording_not_found under another session of the same owner', async () => {
    const { session_id } = await served.create();
    await served.refuse(readRecordingAsset, 'recording_not_found', { params: params({ ...over, sessionId: session_id }, 'poster.jpg') });
    await served.call(endSession, { params: { session_id } });
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 404 recording_not_found for a foreign id with the same bytes as an unknown id', async () => {
    const key = await served.ownerKey('stranger');
    const foreign = await served.refuse(readRecordingAsset, 'recording_not_found', { params: params(over, 'poster.jpg'), key });
    const unknown = await served.refuse(readRecordingAsset, 'recording_not_found', {
      params: params({ ...over, recId: newId('rec') }, 'poster.jpg'),
      key,
    });
    assert.equal(comparable(foreign.reply), comparable(unknown.reply));
  });
});

/** Raw paths of the request line, not normalized by a client. */
const hostilePaths = [
  '../',
  '../../../worker-id',
  '..%2f..%2f..%2fworker-id',
  '%2e%2e/',
  '%2e%2e%2f%2e%2e%2fworker-id',
  '%252e%252e%252fworker-id',
  '..\\',
  '..%5c..%5cworker-id',
  '/etc/passwd',
  '%2fetc%2fpasswd',
  '%00.webm',
  'poster.jpg%00.html',
  '//host/x',
  '%2f%2fhost%2fx',
  'a'.repeat(5000),
  'video%2fvideo.m3u8',
  'poster.jpg%2f',
  'recording.json.new',
  'seg0.m4s',
  'constructor',
  '%ff',
];

describe('404 asset_not_found', () => {
  for (const path of hostilePaths)
    it(`GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 404 or another harmless error for ${path.slice(0, 40)}`, async () => {
      const reply = await sendAsIs(served.url, {
        method: 'GET',
        path: pathOf(over, path),
        headers: [['authorization', `Bearer ${served.key}`]],
      });
      const { code } = reply.body as { code: string };
      assert.ok(
        ['404 asset_not_found', '404 route_not_found', '400 bad_request'].includes(`${reply.status} ${code}`),
        `${reply.status} ${code}`,
      );
      assert.equal(reply.headers.get('location'), null);
      assert.ok(!reply.text.includes(served.dataDir));
    });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 404 asset_not_found for nested names, and only to those who may read the recording', async () => {
    for (const name of ['video/video.m3u8', 'a/b/c.js', 'poster.jpg/x', '']) {
      assertError(await byKey(name), 404, 'asset_not_found');
      assertError(await open(served.url + pathOf(over, name)), 401, 'missing_view_token');
    }
  });

  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 404 asset_not_found for a file that the recording does not have', async () => {
    for (const name of ['seg99999.m4s', 'seg00000.m4s.tmp', 'worker-id', '💥'])
      await served.refuse(readRecordingAsset, 'asset_not_found', { params: params(over, name) });
  });

  for (const [what, plant] of [
    ['a link', (path: string) => symlinkSync(join(served.dataDir, 'api-key'), path)],
    ['a second name of a file', (path: string) => linkSync(join(served.dataDir, 'api-key'), path)],
    ['a pipe without a writer', (path: string) => void execFileSync('mkfifo', [path])],
    ['a folder', (path: string) => mkdirSync(path)],
  ] as const)
    it(`GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 404 asset_not_found immediately when ${what} has the name of a file`, async () => {
      for (const name of ['har.json', 'video/seg00007.m4s']) {
        const path = join(over.folder, name);
        rmSync(path, { force: true, recursive: true });
        plant(path);
        await served.refuse(readRecordingAsset, 'asset_not_found', {
          params: params(over, name.replace('video/', '')),
          signal: AbortSignal.timeout(5000),
        });
        rmSync(path, { recursive: true });
      }
    });
});

describe('416 range_not_satisfiable', () => {
  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} answers 416 range_not_satisfiable for a range behind the end', async () => {
    const reply = await byKey('seg00000.m4s', { range: 'bytes=15-' });
    assert.deepEqual(assertError(reply, 416, 'range_not_satisfiable'), { size_bytes: 15 });
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} refuses two tokens with 422', async () => {
    const { status, text } = await byKey('poster.jpg?token=a&token=b');
    assert.equal(status, 422);
    assert.match(text, /"type":"string_type"/);
  });
});

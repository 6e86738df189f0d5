import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, linkSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { ServiceError } from '@berth/contract';
import { assetNames, openAsset } from './assets.ts';
import { createFolder } from './files/folder.ts';
import { tempFolder } from '../../../testing/recordings.ts';

const finished = { status: 'complete' } as const;

/** A recording with every file that there can be, and some that there cannot. */
function makeRecording(test: TestContext): { folder: string; root: string } {
  const root = tempFolder((undo) => test.after(undo));
  const folder = join(root, 'rec_a');
  createFolder(folder);
  for (const name of [
    'recording.json',
    'events.ndjson',
    'har.json',
    'poster.jpg',
    'frames.mjpeg',
    'frames.ndjson',
    'secret.txt',
    'recording.json.new',
  ])
    writeFileSync(join(folder, name), `of ${name}`);
  for (const name of [
    'video.m3u8',
    'init.mp4',
    'seg00000.m4s',
    'seg00011.m4s',
    'seg1.m4s',
    'seg00002.m4s.tmp',
    'events.ndjson',
    'evil.html',
  ])
    writeFileSync(join(folder, 'video', name), `of video ${name}`);
  writeFileSync(join(root, 'passwd'), 'of another');
  return { folder, root };
}

async function contentOf(folder: string, name: string, part?: { start: number; end: number }): Promise<string> {
  const file = await openAsset(folder, name, finished);
  try {
    return await text(file.stream(part));
  } finally {
    await file.close();
  }
}

const isMissing = (error: unknown): boolean => error instanceof ServiceError && error.code === 'asset_not_found';
const openHandles = (): number => readdirSync('/proc/self/fd').length;

const hostileNames = [
  '../passwd',
  '..%2fpasswd',
  '%2e%2e/passwd',
  '%252e%252e%252fpasswd',
  '..\\passwd',
  '..\\..\\passwd',
  '/etc/passwd',
  '%00.webm',
  'poster.jpg\0',
  '\0',
  '//host/x',
  'a'.repeat(5000),
  './poster.jpg',
  'video/video.m3u8',
  'video',
  '.',
  '..',
  '',
  'secret.txt',
  'recording.json.new',
  'evil.html',
  'seg1.m4s',
  'seg000000.m4s',
  'seg00002.m4s.tmp',
  'seg٠٠٠٠٠.m4s',
  'SEG00000.M4S',
  'Poster.jpg',
  'poster.jpg/',
  'index.html',
  'constructor',
  '__proto__',
];

describe('the files of a recording', () => {
  it('the files of a recording are listed by name, the player first', async (test) => {
    const { folder } = makeRecording(test);
    assert.deepEqual(await assetNames(folder), [
      'index.html',
      'recording.json',
      'events.ndjson',
      'har.json',
      'poster.jpg',
      'video.m3u8',
      'init.mp4',
      'frames.mjpeg',
      'frames.ndjson',
      'seg00000.m4s',
      'seg00011.m4s',
    ]);
  });

  it('the files of a recording have the whole video as one file, also in parts', async (test) => {
    const { folder } = makeRecording(test);
    const isListed = async (): Promise<boolean> => (await assetNames(folder)).includes('video.mp4');
    assert.equal(await isListed(), false);
    await assert.rejects(openAsset(folder, 'video.mp4', finished), isMissing);
    const playlist = '#EXTM3U\n#EXTINF:1,\nseg00000.m4s\n#EXTINF:1,\n../passwd\n#EXTINF:1,\nseg00011.m4s\n#EXTINF:1,\nseg00099.m4s\n';
    writeFileSync(join(folder, 'video', 'video.m3u8'), playlist);
    assert.equal(await isListed(), true);
    const whole = 'of video init.mp4of video seg00000.m4sof video seg00011.m4s';
    assert.equal(await contentOf(folder, 'video.mp4'), whole);
    for (const [start, end] of [
      [0, 0],
      [5, 20],
      [17, 40],
      [whole.length - 3, whole.length - 1],
    ] as const)
      assert.equal(await contentOf(folder, 'video.mp4', { start, end }), whole.slice(start, end + 1));
  });

  it('the files of a recording are only the player when there is no folder', async (test) => {
    assert.deepEqual(await assetNames(join(makeRecording(test).root, 'none')), ['index.html']);
  });

  for (const [name, contentType, cacheControl] of [
    ['recording.json', 'application/json; charset=utf-8', undefined],
    ['events.ndjson', 'application/x-ndjson; charset=utf-8', undefined],
    ['har.json', 'application/json; charset=utf-8', undefined],
    ['poster.jpg', 'image/jpeg', 'private, max-age=3600'],
    ['video.m3u8', 'application/vnd.apple.mpegurl', undefined],
    ['init.mp4', 'video/mp4', 'private, max-age=3600'],
    ['seg00011.m4s', 'video/iso.segment', 'private, max-age=3600'],
    ['frames.mjpeg', 'video/x-motion-jpeg', undefined],
    ['frames.ndjson', 'application/x-ndjson; charset=utf-8', undefined],
  ] as const)
    it(`the files of a recording are sent with their own type and under no other policy: ${name}`, async (test) => {
      const { folder } = makeRecording(test);
      const file = await openAsset(folder, name, finished);
      assert.deepEqual(
        [file.contentType, file.cacheControl, file.filename, file.inline, file.ranges, file.policy],
        [contentType, cacheControl, name, true, true, undefined],
      );
      assert.match(await text(file.stream()), new RegExp(`^of (video )?${name}$`));
      await file.close();
      assert.equal((await openWhileRecording(folder, name)).cacheControl, undefined);
    });

  it('the files of a recording are sent in part, and up to where they were when they were opened', async (test) => {
    const { folder } = makeRecording(test);
    assert.equal(await contentOf(folder, 'poster.jpg', { start: 3, end: 8 }), 'poster');
    const file = await openAsset(folder, 'events.ndjson', { status: 'recording' });
    appendFileSync(join(folder, 'events.ndjson'), ' and more');
    assert.equal(await text(file.stream()), 'of events.ndjson');
    await file.close();
    writeFileSync(join(folder, 'har.json'), '');
    const empty = await openAsset(folder, 'har.json', finished);
    appendFileSync(join(folder, 'har.json'), 'x');
    assert.deepEqual([empty.bytes, await text(empty.stream())], [0, '']);
    await empty.close();
  });

  for (const name of hostileNames)
    it(`the files of a recording are not reached by ${JSON.stringify(name.slice(0, 40))}`, async (test) => {
      const { folder } = makeRecording(test);
      const before = openHandles();
      await assert.rejects(openAsset(folder, name, finished), isMissing);
      assert.equal(openHandles(), before);
    });

  for (const [what, plant] of [
    ['a link to a file', (path: string, root: string) => symlinkSync(join(root, 'passwd'), path)],
    ['a link to nowhere', (path: string) => symlinkSync('/nowhere', path)],
    ['a second name of a file', (path: string, root: string) => linkSync(join(root, 'passwd'), path)],
    ['a pipe without a writer', (path: string) => void execFileSync('mkfifo', [path])],
    ['a folder', (path: string) => mkdirSync(path)],
  ] as const)
    for (const name of ['poster.jpg', 'seg00000.m4s', 'video.m3u8'])
      it(`a recording does not serve ${what} under the name ${name}, and does not block`, async (test) => {
        const { folder, root } = makeRecording(test);
        const path = join(folder, name === 'poster.jpg' ? '.' : 'video', name);
        rmSync(path);
        plant(path, root);
        const before = openHandles();
        await assert.rejects(openAsset(folder, name, finished), isMissing);
        assert.equal(openHandles(), before);
      });

  it('the files of a recording are not read through a link in place of the folder itself', async (test) => {
    const { folder, root } = makeRecording(test);
    symlinkSync(folder, join(root, 'rec_b'));
    await assert.rejects(openAsset(join(root, 'rec_b'), 'poster.jpg', finished), isMissing);
    rmSync(join(folder, 'video'), { recursive: true });
    mkdirSync(join(root, 'elsewhere'));
    writeFileSync(join(root, 'elsewhere', 'init.mp4'), 'of another');
    symlinkSync(join(root, 'elsewhere'), join(folder, 'video'));
    await assert.rejects(openAsset(folder, 'init.mp4', finished), isMissing);
  });
});

async function openWhileRecording(folder: string, name: string): Promise<{ cacheControl: string | undefined }> {
  const file = await openAsset(folder, name, { status: 'recording' });
  await file.close();
  return { cacheControl: file.cacheControl };
}

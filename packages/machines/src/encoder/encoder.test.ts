import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { silentLog } from '@berth/lib/log.ts';
import { createVideoEncoders } from './encoder.ts';
import { readProcesses, sendSignal, withDescendants } from '../host/processes.ts';
import type { EncoderOptions, VideoEncoder, VideoEncoders } from '../runtime.ts';
import { nightly } from '../../../../tests/nightly.ts';

const root = mkdtempSync(join(tmpdir(), 'encoder-test-'));
// Closed to other users, like the service's own folders.
chmodSync(root, 0o700);
after(() => rm(root, { recursive: true }));

/** Never synchronous: these tests run side by side, and each measures time. */
const run = promisify(execFile);

let folders = 0;
const newFolder = (): string => {
  const folder = join(root, String((folders += 1)));
  mkdirSync(folder);
  return folder;
};
const encoderOptions = (overrides: Partial<EncoderOptions> = {}): EncoderOptions => ({
  folder: newFolder(),
  width: 640,
  height: 360,
  bytesMax: 100 * 1024 ** 2,
  log: silentLog,
  ...overrides,
});

/** Pictures that differ in every part. */
async function makePictures(size: string): Promise<Buffer[]> {
  const folder = newFolder();
  const source = `testsrc2=size=${size}:rate=8`;
  await run('ffmpeg', [
    '-loglevel',
    'error',
    '-f',
    'lavfi',
    '-i',
    source,
    '-frames:v',
    '8',
    '-pix_fmt',
    'yuvj420p',
    join(folder, '%d.jpg'),
  ]);
  return readdirSync(folder).map((name) => readFileSync(join(folder, name)));
}

/** An encoder has the lowest priority: on a busy machine it takes many times as long. */
async function until(isTrue: () => boolean, deadlineMs = 60_000): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!isTrue()) {
    assert.ok(performance.now() < deadline, `not within ${deadlineMs} ms`);
    await sleep(10);
  }
}

/** Minimum time between two pictures: a busy machine makes it longer, never shorter. */
const pictureMs = 50;
const framesPerSecond = 8;
const frameSeconds = 1 / framesPerSecond;

/** Writes frames like a page that always changes. */
function play(encoder: VideoEncoder, pictures: Buffer[]): { stop: () => void; shown: () => number } {
  let shown = 0;
  const show = (): void => void encoder.write(pictures[(shown += 1) % pictures.length] ?? Buffer.alloc(0));
  show();
  const timer = setInterval(show, pictureMs).unref();
  return { stop: () => clearInterval(timer), shown: () => shown };
}

interface Frame {
  seconds: number;
  isKey: boolean;
}

/** Every frame of the video. An open playlist is closed first, as a player would wait for more. */
async function framesOf(folder: string): Promise<{ width: number; height: number; frames: Frame[] }> {
  const closed = join(folder, 'closed.m3u8');
  writeFileSync(closed, `${playlistOf(folder)}\n#EXT-X-ENDLIST\n`);
  const asked = ['-v', 'error', '-show_entries', 'frame=pts_time,key_frame,width,height', '-of', 'json', closed];
  const { stdout } = await run('ffprobe', asked);
  rmSync(closed);
  const read = JSON.parse(stdout) as {
    frames: { pts_time: string; key_frame: number; width: number; height: number }[];
  };
  const [first] = read.frames;
  const frames = read.frames.map(({ pts_time, key_frame }) => ({ seconds: Number(pts_time), isKey: key_frame === 1 }));
  return { width: first?.width ?? 0, height: first?.height ?? 0, frames };
}

const playlistOf = (folder: string): string =>
  existsSync(join(folder, 'video.m3u8')) ? readFileSync(join(folder, 'video.m3u8'), 'utf8') : '';

/** The encoder's processes, found by their working folder. */
function ffmpegsOf(folder: string): number[] {
  const inode = statSync(folder).ino;
  return readProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'ffmpeg' && statSync(`/proc/${pid}/cwd`).ino === inode;
      } catch {
        return false;
      }
    });
}

for (const jail of ['auto', 'none'] as const) {
  /** Options of tests whose result a jail does not change. */
  const likeInJail = jail === 'none' ? nightly : {};
  describe(jail === 'auto' ? 'a video encoder' : 'a video encoder without a jail', { concurrency: true }, () => {
    let encoders: VideoEncoders;
    let pictures: Buffer[];
    let otherPictures: Buffer[];
    before(async () => {
      const available = await createVideoEncoders({ log: silentLog, jail });
      assert.ok(available);
      encoders = available;
      [pictures, otherPictures] = await Promise.all([makePictures('640x360'), makePictures('300x500')]);
    });

    const started = new Set<VideoEncoder>();
    after(() => Promise.all([...started].map((encoder) => encoder.finish({ timeoutMs: 0 }))));
    const start = async (options: EncoderOptions): Promise<VideoEncoder> => {
      const encoder = await encoders.start(options);
      started.add(encoder);
      return encoder;
    };

    it('a video encoder lists a segment of four seconds while it records, and closes the playlist at the end', async () => {
      const options = encoderOptions();
      const encoder = await start(options);
      const startedMs = Date.now();
      const { stop, shown } = play(encoder, pictures);
      assert.ok((encoder.startedAtMs ?? 0) >= startedMs && (encoder.startedAtMs ?? 0) <= Date.now());
      await until(() => playlistOf(options.folder).includes('seg00000.m4s'));
      assert.match(playlistOf(options.folder), /#EXTINF:4\.\d+,\nseg00000\.m4s/);
      assert.doesNotMatch(playlistOf(options.folder), /ENDLIST/);
      assert.ok((await framesOf(options.folder)).frames.length >= 24, 'the open video does not play');
      stop();
      assert.deepEqual(await encoder.finish({ timeoutMs: 60_000 }), { end: 'finished', detail: 'code 0' });
      assert.equal(encoder.write(pictures[0] ?? Buffer.alloc(0)), false);
      assert.match(playlistOf(options.folder), /#EXT-X-PLAYLIST-TYPE:EVENT[\s\S]*#EXT-X-ENDLIST/);
      const { frames, width, height } = await framesOf(options.folder);
      assert.deepEqual([width, height], [640, 360]);
      const last = frames.at(-1)?.seconds ?? 0;
      const shownSeconds = ((shown() - 1) * pictureMs) / 1000;
      assert.ok(last >= shownSeconds - 4 * frameSeconds, `${last} s of video of ${shown()} pictures`);
      assert.ok(Math.abs(frames.length - 1 - last * framesPerSecond) <= 1, `${frames.length} frames in ${last} s`);
      const listed = [...playlistOf(options.folder).matchAll(/#EXTINF:([\d.]+)/g)].reduce((sum, [, seconds]) => sum + Number(seconds), 0);
      assert.ok(Math.abs(listed - last) <= 2 * frameSeconds, `${listed} s in the playlist, ${last} s of video`);
      assert.deepEqual(
        frames.filter(({ isKey }) => isKey).map(({ seconds }) => Math.round(seconds)),
        Array.from({ length: Math.floor(last / 4) + 1 }, (_, index) => index * 4),
      );
      const names = readdirSync(options.folder);
      assert.equal(
        encoder.bytesWritten,
        names.reduce((sum, name) => sum + Math.max(4096, statSync(join(options.folder, name)).size), 0),
      );
      assert.ok(
        names.every((name) => /^(video\.m3u8|init\.mp4|seg\d{5}\.m4s)$/.test(name)),
        names.join(),
      );
    });

    it('a video encoder continues when pictures change their size or are invalid', likeInJail, async () => {
      const options = encoderOptions();
      const encoder = await start(options);
      const writeInvalid = async (): Promise<void> => {
        encoder.write(Buffer.from('no picture'));
        // So that it is read by itself.
        await sleep(150);
      };
      await writeInvalid();
      for (const some of [pictures, otherPictures, pictures]) {
        const { stop, shown } = play(encoder, some);
        await until(() => shown() > 12);
        stop();
        await writeInvalid();
      }
      assert.equal((await encoder.finish({ timeoutMs: 60_000 })).end, 'finished');
      const { frames, width, height } = await framesOf(options.folder);
      assert.deepEqual([width, height], [640, 360]);
      // Twelve pauses of 50 ms, three times.
      assert.ok((frames.at(-1)?.seconds ?? 0) > 1.5);
    });

    it('a video encoder shows a picture for as long as no other comes', likeInJail, async () => {
      const options = encoderOptions();
      const encoder = await start(options);
      encoder.write(pictures[0] ?? Buffer.alloc(0));
      await until(() => playlistOf(options.folder).includes('seg00000.m4s'));
      await encoder.finish({ timeoutMs: 60_000 });
      const { frames } = await framesOf(options.folder);
      assert.ok(frames.length >= 4 * framesPerSecond, `${frames.length} frames`);
    });

    it('a video encoder closes the playlist when its folder is full, and takes no more', likeInJail, async () => {
      const options = encoderOptions({ bytesMax: 1 });
      const encoder = await start(options);
      const { stop } = play(encoder, pictures);
      assert.equal((await encoder.exited).end, 'full');
      stop();
      assert.match(playlistOf(options.folder), /ENDLIST/);
      assert.equal(encoder.write(pictures[0] ?? Buffer.alloc(0)), false);
    });

    it(
      'a video encoder refuses pictures while it is behind, and is killed after the shortest time that it has to finish',
      likeInJail,
      async () => {
        const options = encoderOptions();
        const encoder = await start(options);
        encoder.write(pictures[0] ?? Buffer.alloc(0));
        await until(() => ffmpegsOf(options.folder).length === 1);
        for (const pid of ffmpegsOf(options.folder)) sendSignal(pid, 'SIGSTOP');
        const large = Buffer.alloc(600_000);
        await until(() => !encoder.write(large));
        const exit = encoder.finish({ timeoutMs: 600_000 });
        void encoder.finish({ timeoutMs: 100 });
        assert.equal((await exit).end, 'broken');
        assert.deepEqual(ffmpegsOf(options.folder), []);
      },
    );

    it('a video encoder reports that it was killed by somebody else', likeInJail, async () => {
      const options = encoderOptions();
      const encoder = await start(options);
      encoder.write(pictures[0] ?? Buffer.alloc(0));
      await until(() => ffmpegsOf(options.folder).length === 1);
      for (const pid of ffmpegsOf(options.folder)) sendSignal(pid, 'SIGKILL');
      assert.equal((await encoder.exited).end, 'broken');
      assert.equal((await encoder.finish({ timeoutMs: 1000 })).end, 'broken');
    });

    it('a video encoder gives the folder back when it ends, with nothing in it that others may read', async () => {
      const options = encoderOptions();
      const encoder = await start(options);
      if (process.getuid?.() === 0) assert.ok(statSync(options.folder).uid >= 1_900_000_000);
      encoder.write(pictures[0] ?? Buffer.alloc(0));
      await encoder.finish({ timeoutMs: 60_000 });
      const { uid, mode } = statSync(options.folder);
      assert.deepEqual([uid, mode & 0o777], [process.getuid?.(), 0o700]);
    });

    it('a video encoder runs as an unprivileged user, with a low priority and limits', async () => {
      const options = encoderOptions();
      const encoder = await start(options);
      await until(() => ffmpegsOf(options.folder).length === 1);
      const pid = ffmpegsOf(options.folder)[0] ?? 0;
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      assert.match(status, /^NoNewPrivs:\s+1$/m);
      assert.match(status, /^CapEff:\s+0+$/m);
      assert.match(status, /^Uid:\s+(19|20)\d{8}\b/m);
      const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
      assert.match(limits, /^Max address space\s+1073741824 /m);
      assert.match(limits, /^Max file size\s+16777216 /m);
      assert.equal(/^\S+ \(ffmpeg\) (?:\S+ ){16}(\S+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1], '10');
      if (jail === 'auto') {
        for (const kind of ['net', 'pid', 'mnt', 'ipc', 'uts'])
          assert.notEqual(readlinkSync(`/proc/${pid}/ns/${kind}`), readlinkSync(`/proc/self/ns/${kind}`), kind);
        assert.deepEqual(readdirSync(`/proc/${pid}/root`).toSorted(), ['bin', 'dev', 'etc', 'lib', 'lib64', 'usr', 'video']);
      }
      await encoder.finish({ timeoutMs: 60_000 });
    });

    it('a video encoder ends with a worker that is killed, and what it has finished plays', likeInJail, async () => {
      const options = encoderOptions();
      const worker = encodeInAnotherWorker({ folder: options.folder, picture: pictures[0] ?? Buffer.alloc(0), jail });
      try {
        await until(() => playlistOf(options.folder).includes('seg00000.m4s'));
      } finally {
        const exit = once(worker, 'exit');
        worker.kill('SIGKILL');
        await exit;
      }
      await until(() => ffmpegsOf(options.folder).length === 0);
      assert.ok((await framesOf(options.folder)).frames.length >= 24);
    });
  });
}

describe('video encoders', () => {
  it('there are no video encoders where ffmpeg is missing, or is something else', async () => {
    assert.equal(await createVideoEncoders({ log: silentLog, ffmpegPath: join(root, 'nothing') }), null);
    assert.equal(await createVideoEncoders({ log: silentLog, ffmpegPath: '/usr/bin/false' }), null);
  });

  it('video encoders use an ffmpeg of one’s own as well', async () => {
    const ffmpegPath = join(root, 'own-ffmpeg');
    copyFileSync('/usr/bin/ffmpeg', ffmpegPath);
    const encoders = await createVideoEncoders({ log: silentLog, ffmpegPath });
    assert.deepEqual(encoders?.warnings, []);
  });

  it('video encoders keep their jail where its test takes too long', async () => {
    const ffmpegPath = join(root, 'slow-ffmpeg');
    writeFileSync(ffmpegPath, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const encoders = await createVideoEncoders({ log: silentLog, ffmpegPath, trialMs: 1 });
    assert.deepEqual(encoders?.warnings, []);
  });

  it('a video encoder that cannot be started leaves nothing behind', async () => {
    const encoders = await createVideoEncoders({ log: silentLog });
    const options = encoderOptions({ folder: join(root, 'missing') });
    await assert.rejects(encoders?.start(options) ?? Promise.resolve());
    // Those of the tests before may still be ending.
    await until(() => withDescendants(new Set([process.pid]), readProcesses()).every(({ pid }) => pid === process.pid));
  });
});

function encodeInAnotherWorker({ folder, picture, jail }: { folder: string; picture: Buffer; jail: string }): ReturnType<typeof spawn> {
  const script = `
    const { createVideoEncoders } = await import(${JSON.stringify(new URL('./encoder.ts', import.meta.url).href)});
    const { silentLog } = await import(${JSON.stringify(new URL('../../../lib/src/log.ts', import.meta.url).href)});
    const encoders = await createVideoEncoders({ log: silentLog, jail: ${JSON.stringify(jail)} });
    const encoder = await encoders.start({ folder: ${JSON.stringify(folder)}, width: 640, height: 360, bytesMax: 1e8, log: silentLog });
    encoder.write(Buffer.from(${JSON.stringify(picture.toString('base64'))}, 'base64'));
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'inherit', 'inherit'] });
}

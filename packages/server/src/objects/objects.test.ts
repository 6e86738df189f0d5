import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { after, before, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { ManualClock, systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { ObjectNotFoundError, ObjectTooLargeError, Objects, openBackend, probe, type StorageOptions } from './objects.ts';
import { partBytes } from './s3.ts';
import { openTestBucket, slowDown, testCredentials, type TestBucket } from '../../testing/objects.ts';

const megabyte = 1024 ** 2;
const never = new AbortController().signal;
const isUnavailable = (error: unknown): boolean => error instanceof ServiceError && error.code === 'store_unavailable';

/** Bytes of which each part is another. */
const patternOf = (bytes: number): Buffer => {
  const pattern = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) pattern.writeUInt32LE(at, at);
  return pattern;
};

async function* inChunks(data: Buffer, chunkBytes = 300_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < data.length; at += chunkBytes) {
    yield data.subarray(at, at + chunkBytes);
    await turn();
  }
}

async function keysOf(objects: Objects, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of objects.list(prefix, never)) keys.push(...page.map(({ key }) => key));
  return keys;
}

let bucket: TestBucket;
let folder = '';
before(async () => {
  bucket = await openTestBucket();
  folder = mkdtempSync(join(tmpdir(), 'berth-objects-'));
});
beforeEach(() => {
  bucket.fault = null;
  bucket.requests.length = 0;
});
after(async () => {
  await bucket.close();
  rmSync(folder, { recursive: true, force: true });
});

let opened = 0;
/** Storage without objects. */
async function open(place: StorageOptions, options: { callMs?: number } = {}): Promise<Objects> {
  opened += 1;
  return new Objects({ backend: await openBackend(place), prefix: `of-${opened}/`, clock: systemClock, log: silentLog, ...options });
}

for (const kind of ['folder', 'bucket'] as const)
  describe(`objects in a ${kind}`, () => {
    const place = (): StorageOptions => (kind === 'bucket' ? bucket.place : { kind, path: folder });

    it(`objects in a ${kind} are read as they were written, whole and in parts`, async () => {
      const objects = await open(place());
      const data = patternOf(partBytes + 3 * megabyte + 1);
      await objects.put('a/large', inChunks(data));
      assert.equal((await objects.head('a/large'))?.bytes, data.length);
      for (const [start, end] of [
        [0, data.length - 1],
        [0, 1],
        [data.length - 1, data.length - 1],
        [partBytes - 5, partBytes + 5],
        [megabyte + 1, 6 * megabyte],
      ] as const)
        assert.ok((await buffer(objects.stream('a/large', { start, end }))).equals(data.subarray(start, end + 1)), `${start} to ${end}`);
      assert.ok((await objects.readAll('a/large', data.length)).equals(data));
      await assert.rejects(objects.readAll('a/large', data.length - 1), ObjectTooLargeError);
    });

    it(`objects in a ${kind} are replaced, listed by prefix and deleted`, async () => {
      const objects = await open(place());
      for (const key of ['rec/b/two', 'rec/a/one', 'other/c', 'rec/b/one']) await objects.put(key, inChunks(Buffer.from(key)));
      await objects.put('rec/a/one', inChunks(Buffer.from('again')));
      assert.equal(String(await objects.readAll('rec/a/one', 100)), 'again');
      assert.deepEqual(await keysOf(objects, 'rec/'), ['rec/a/one', 'rec/b/one', 'rec/b/two']);
      assert.deepEqual(await keysOf(objects, 'none/'), []);
      await objects.delete('rec/a/one', 'rec/b/one', 'rec/none');
      assert.deepEqual(await keysOf(objects, 'rec/'), ['rec/b/two']);
      await objects.put('empty', inChunks(Buffer.alloc(0)));
      assert.equal((await objects.readAll('empty', 10)).length, 0);
    });

    it(`objects in a ${kind} that do not exist are no failure of the storage`, async () => {
      const objects = await open(place());
      assert.equal(await objects.head('none'), null);
      await assert.rejects(objects.read('none', { start: 0, end: 0 }), ObjectNotFoundError);
      await objects.put('short', inChunks(Buffer.from('short')));
      await assert.rejects(objects.read('short', { start: 3, end: 9 }), ObjectNotFoundError);
      await assert.rejects(objects.read('short', { start: 9, end: 12 }), ObjectNotFoundError);
      assert.equal(objects.stats.requests.get.error, 0);
    });

    it(`objects in a ${kind} are stored whole or not at all`, async () => {
      const objects = await open(place());
      const broken = async function* (): AsyncGenerator<Buffer> {
        yield* inChunks(patternOf(partBytes + megabyte));
        throw new Error('the disk has failed');
      };
      await assert.rejects(objects.put('broken', broken()), /the disk has failed/);
      const stopping = new AbortController();
      const stopped = async function* (): AsyncGenerator<Buffer> {
        yield* inChunks(patternOf(partBytes + megabyte));
        stopping.abort(new Error('stopping'));
        yield Buffer.from('more');
      };
      await assert.rejects(objects.put('stopped', stopped(), stopping.signal), /stopping/);
      assert.deepEqual(await keysOf(objects, ''), []);
    });

    it(`objects in a ${kind} are written, read and deleted by the doctor`, async () => {
      await probe(place());
    });
  });

describe('a bucket', () => {
  it('a bucket gets an object above the size of a part in parts, and a small one in one request', async () => {
    const objects = await open(bucket.place);
    await objects.put('large', inChunks(patternOf(2 * partBytes + 1)));
    assert.deepEqual(bucket.requests.filter((line) => line.includes('partNumber=')).length, 3);
    bucket.requests.length = 0;
    await objects.put('small', inChunks(patternOf(1000)));
    assert.equal(bucket.requests.length, 1);
    assert.match(bucket.requests[0] ?? '', /^PUT /);
  });

  it('a bucket refuses a wrong secret, by the signature', async () => {
    const objects = await open({ ...bucket.place, credentials: { ...testCredentials, secretAccessKey: 'another' } });
    const causes: string[] = [];
    for (const call of [
      () => objects.put('x', inChunks(Buffer.from('x'))),
      () => objects.read('x', { start: 0, end: 0 }),
      () => objects.delete('x'),
    ])
      await assert.rejects(call(), (error: ServiceError) => {
        causes.push((error.cause as Error).name);
        return isUnavailable(error) && !`${error.publicMessage}${error.message}`.includes('another');
      });
    assert.deepEqual(causes, Array(3).fill('SignatureDoesNotMatch'));
    await assert.rejects(probe({ ...bucket.place, credentials: { ...testCredentials, accessKeyId: 'NOBODY' } }), {
      name: 'InvalidAccessKeyId',
    });
    await assert.rejects(probe({ ...bucket.place, bucket: 'berth-none' }), { name: 'NoSuchBucket' });
  });

  it('a bucket is opened with the credentials of a file', async () => {
    const file = join(folder, 'credentials');
    writeFileSync(
      file,
      `[default]\naws_access_key_id = ${testCredentials.accessKeyId}\naws_secret_access_key = ${testCredentials.secretAccessKey}\n`,
    );
    await probe({ ...bucket.place, credentials: { file } });
    await assert.rejects(probe({ ...bucket.place, credentials: { file: join(folder, 'none') } }));
  });

  it('a bucket that answers 503 for a moment is asked again', async () => {
    const objects = await open(bucket.place);
    let refusals = 1;
    bucket.fault = (_request, response) => (refusals-- > 0 ? slowDown(response) : 'pass');
    await objects.put('busy', inChunks(Buffer.from('busy')));
    refusals = 1;
    assert.equal(String(await objects.readAll('busy', 100)), 'busy');
    assert.equal(objects.stats.requests.put.error, 0);
  });

  it('a bucket that answers 503 for good is asked a few times', async () => {
    const objects = await open(bucket.place);
    bucket.fault = (_request, response) => slowDown(response);
    await assert.rejects(objects.head('busy'), isUnavailable);
    assert.equal(bucket.requests.length, 3);
    assert.deepEqual(objects.stats.requests.head, { ok: 0, error: 1 });
  });

  it('a bucket that does not answer is abandoned, and its connection with it', async () => {
    const objects = await open(bucket.place, { callMs: 200 });
    const held: { destroyed: boolean }[] = [];
    bucket.fault = (request) => {
      held.push(request.socket);
      return 'handled';
    };
    await assert.rejects(objects.head('slow'), isUnavailable);
    while (held.some(({ destroyed }) => !destroyed)) await turn();
  });

  it('a bucket that breaks off in the middle of a piece is asked for that piece again', async () => {
    const objects = await open(bucket.place);
    await objects.put('piece', inChunks(patternOf(megabyte)));
    let breaks = 1;
    bucket.fault = (request, response) => {
      if (request.method !== 'GET' || breaks-- <= 0) return 'pass';
      response.writeHead(206, { 'content-length': String(megabyte) });
      response.write(patternOf(1000), () => response.destroy());
      return 'handled';
    };
    assert.ok((await objects.read('piece', { start: 0, end: megabyte - 1 })).equals(patternOf(megabyte)));
    bucket.fault = (request, response) => {
      if (request.method !== 'GET') return 'pass';
      response.writeHead(206, { 'content-length': String(megabyte) });
      response.write(patternOf(1000), () => response.destroy());
      return 'handled';
    };
    await assert.rejects(buffer(objects.stream('piece', { start: 0, end: megabyte - 1 })), isUnavailable);
  });

  it('a bucket that restarts in the middle of an upload and of a read has lost nothing', async () => {
    const objects = await open(bucket.place);
    const data = patternOf(partBytes + megabyte);
    const restarted = async function* (): AsyncGenerator<Buffer> {
      yield* inChunks(data.subarray(0, partBytes));
      await bucket.stop();
      await bucket.start();
      yield* inChunks(data.subarray(partBytes));
    };
    await objects.put('restarted', restarted());
    const pieces: Buffer[] = [];
    for await (const piece of objects.stream('restarted', { start: 0, end: data.length - 1 }) as AsyncIterable<Buffer>) {
      if (pieces.length === 0) {
        await bucket.stop();
        await bucket.start();
      }
      pieces.push(piece);
    }
    assert.ok(Buffer.concat(pieces).equals(data));
  });

  it('uploads to a bucket that began a day ago are ended', async () => {
    const clock = new ManualClock(new Date('2026-01-03T00:00:00Z'));
    const objects = new Objects({ backend: await openBackend(bucket.place), prefix: 'of/', clock, log: silentLog });
    // The server lists no uploads: what AWS documents as its reply, and the requests that follow it.
    bucket.fault = (request, response) => {
      if (request.method === 'DELETE') {
        response.writeHead(204).end();
        return 'handled';
      }
      if (request.method !== 'GET') return 'pass';
      const upload = (key: string, at: string): string =>
        `<Upload><Key>${key}</Key><UploadId>id-of-${key.slice(3)}</UploadId><Initiated>${at}</Initiated></Upload>`;
      response.writeHead(200, { 'content-type': 'application/xml' });
      response.end(
        `<?xml version="1.0" encoding="UTF-8"?><ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>berth-test</Bucket>${upload('of/old', '2026-01-01T00:00:00.000Z')}${upload('of/new', '2026-01-02T23:00:00.000Z')}<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>`,
      );
      return 'handled';
    };
    objects.maintenance.nudge();
    await objects.maintenance.idle();
    assert.equal(objects.maintenance.status.lastError, null);
    assert.match(bucket.requests[0] ?? '', /^GET \/berth-test\/?\?.*prefix=of%2F.*uploads|^GET \/berth-test\/?\?uploads.*prefix=of%2F/);
    assert.deepEqual(
      bucket.requests.slice(1).map((line) => line.split('&')[0]),
      ['DELETE /berth-test/of/old?uploadId=id-of-old'],
    );
  });
});

describe('a shared folder', () => {
  it('a shared folder is rid of uploads that began a day ago', async () => {
    const path = mkdtempSync(join(folder, 'drafts-'));
    const clock = new ManualClock(new Date(Date.now() + 25 * 3_600_000));
    const objects = new Objects({ backend: await openBackend({ kind: 'folder', path }), prefix: '', clock, log: silentLog });
    await objects.put('whole', inChunks(Buffer.from('whole')));
    writeFileSync(join(path, '.uploads', 'left'), 'half');
    objects.maintenance.nudge();
    await objects.maintenance.idle();
    assert.deepEqual(readdirSync(join(path, '.uploads')), []);
    assert.equal(String(await objects.readAll('whole', 100)), 'whole');
  });
});

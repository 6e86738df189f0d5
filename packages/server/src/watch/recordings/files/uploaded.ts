/**
 * Recordings in object storage.
 *
 * A recording is two objects: `files`, all its files one after another, and then
 * `index.json`, which says where each begins. The video comes first, so that the
 * whole of it is one range. A recording without an index is none.
 */
import { Readable } from 'node:stream';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { FileReply } from '../../../http/call.ts';
import { ObjectNotFoundError, type Objects } from '../../../objects/objects.ts';
import { assetNotFound, fileNames, filesAmong, findAsset, headersOf, isSegment, listAssets } from '../assets.ts';
import { listNames, listSizes, openPlain, videoFolder } from './folder.ts';
import { movieHeaders, movieName, moviePartsOf } from '../video/movie.ts';
import type { RecordingRecord } from '../recording.ts';

export const recordingsPrefix = 'recordings/';

interface Index {
  /** The files in the order in which they are stored. */
  files: [name: string, bytes: number][];
  /** How many of the first files are the video. */
  movieParts: number;
}

interface StoredFile {
  start: number;
  bytes: number;
}

interface StoredRecording {
  files: ReadonlyMap<string, StoredFile>;
  movieBytes: number;
}

/** A day in segments of a few seconds takes 1 MB. */
const indexBytesMax = 8 * 1024 ** 2;
const cachedFilesMax = 100_000;

const filesKey = (recId: string): string => `${recordingsPrefix}${recId}/files`;
export const indexKey = (recId: string): string => `${recordingsPrefix}${recId}/index.json`;

export class UploadedRecordings {
  readonly #objects: Objects;
  /** An index never changes. */
  readonly #indexes = new LRUCache<string, StoredRecording>({ maxSize: cachedFilesMax, sizeCalculation: ({ files }) => files.size + 1 });

  constructor(objects: Objects) {
    this.#objects = objects;
  }

  /** Uploads the files of a finished recording, replacing what an earlier upload left. @throws ServiceError store_unavailable */
  async upload(recId: string, folder: string, signal: AbortSignal): Promise<void> {
    const { index, paths } = await planOf(folder);
    await this.#objects.put(filesKey(recId), contentOf(index, paths), signal);
    await this.#objects.put(indexKey(recId), Readable.from([Buffer.from(JSON.stringify(index))], { objectMode: false }), signal);
  }

  /** The index first: what is left then is found and deleted as an orphan. @throws ServiceError store_unavailable */
  async delete(recId: string): Promise<void> {
    await this.#objects.delete(indexKey(recId), filesKey(recId));
    this.#indexes.delete(recId);
  }

  /** The names of all assets, the player first. @throws ServiceError store_unavailable */
  async assetNames(recId: string): Promise<string[]> {
    const stored = await this.#read(recId);
    const names = new Set(stored?.files.keys());
    const hasMovie = (stored?.movieBytes ?? 0) > 0;
    return listAssets({ hasMovie, files: filesAmong(names), segments: [...names].filter(isSegment) });
  }

  /** @throws ServiceError asset_not_found, store_unavailable */
  async open({ recId, status }: RecordingRecord, name: string): Promise<FileReply> {
    const stored = await this.#read(recId);
    if (!stored) throw assetNotFound();
    if (name === movieName && stored.movieBytes > 0)
      return { ...movieHeaders, ...this.#contentOf(recId, { start: 0, bytes: stored.movieBytes }) };
    const asset = findAsset(name);
    const file = asset && stored.files.get(asset.name);
    if (!file) throw assetNotFound();
    return { ...headersOf(asset, status), ...this.#contentOf(recId, file) };
  }

  #contentOf(recId: string, { start, bytes }: StoredFile): Pick<FileReply, 'bytes' | 'stream' | 'close'> {
    return {
      bytes,
      stream: (part = { start: 0, end: bytes - 1 }) =>
        bytes === 0 ? Readable.from([]) : this.#objects.stream(filesKey(recId), { start: start + part.start, end: start + part.end }),
      close: () => Promise.resolve(),
    };
  }

  /** null: the objects are gone, such as by a rule of the bucket. */
  async #read(recId: string): Promise<StoredRecording | null> {
    const cached = this.#indexes.get(recId);
    if (cached) return cached;
    try {
      const stored = parse(await this.#objects.readAll(indexKey(recId), indexBytesMax));
      this.#indexes.set(recId, stored);
      return stored;
    } catch (error) {
      if (error instanceof ObjectNotFoundError) return null;
      throw error;
    }
  }
}

function parse(text: Buffer): StoredRecording {
  const { files, movieParts } = JSON.parse(String(text)) as Index;
  const stored = new Map<string, StoredFile>();
  let [offset, movieBytes] = [0, 0];
  for (const [position, [name, bytes]] of files.entries()) {
    stored.set(name, { start: offset, bytes });
    offset += bytes;
    if (position < movieParts) movieBytes = offset;
  }
  return { files: stored, movieBytes };
}

/** Which files of a folder are uploaded, and where they are. */
async function planOf(folder: string): Promise<{ index: Index; paths: Map<string, string> }> {
  const video = join(folder, videoFolder);
  const movie = await moviePartsOf(folder);
  const names = [...(await fileNames(folder)), ...(await listNames(video)).filter(isSegment).toSorted()];
  const inVideo = await listSizes(video);
  const sizes = new Map([...(await listSizes(folder)), ...inVideo]);
  const first = new Set(movie.map(({ name }) => name));
  const files = [...first, ...names.filter((name) => !first.has(name))].map((name): [string, number] => [name, sizes.get(name) ?? 0]);
  return {
    index: { files, movieParts: first.size },
    paths: new Map(files.map(([name]) => [name, inVideo.has(name) ? video : folder])),
  };
}

/** @throws Error where a file does not have the size that the index says */
async function* contentOf({ files }: Index, paths: ReadonlyMap<string, string>): AsyncGenerator<Buffer> {
  for (const [name, bytes] of files) {
    if (bytes === 0) continue;
    const { handle } = await openPlain(paths.get(name) ?? '', name);
    try {
      let left = bytes;
      for await (const chunk of handle.createReadStream({ start: 0, end: bytes - 1, autoClose: false }) as AsyncIterable<Buffer>) {
        left -= chunk.length;
        yield chunk;
      }
      if (left !== 0) throw new Error(`${name} has become shorter while it was uploaded`);
    } finally {
      await handle.close();
    }
  }
}

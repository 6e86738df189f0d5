/** What a recording is made of, by the names under which it is served. */
import { Readable } from 'node:stream';
import { join } from 'node:path';
import { ServiceError } from '@berth/contract';
import type { FileReply } from '../http/call.ts';
import { hasFile, listNames, openPlain, videoFolder } from './folder.ts';
import type { RecordingRecord } from './recording.ts';

/** Made by the service, and no file of the recording. */
export const playerName = 'index.html';

interface Asset {
  name: string;
  folder: '.' | typeof videoFolder;
  contentType: string;
  /** What does not change any more once it is there and the recording is over. */
  isFinal: boolean;
}

const assets = [
  { name: 'recording.json', folder: '.', contentType: 'application/json; charset=utf-8', isFinal: false },
  { name: 'events.ndjson', folder: '.', contentType: 'application/x-ndjson; charset=utf-8', isFinal: false },
  { name: 'har.json', folder: '.', contentType: 'application/json; charset=utf-8', isFinal: false },
  { name: 'poster.jpg', folder: '.', contentType: 'image/jpeg', isFinal: true },
  { name: 'video.m3u8', folder: videoFolder, contentType: 'application/vnd.apple.mpegurl', isFinal: false },
  { name: 'init.mp4', folder: videoFolder, contentType: 'video/mp4', isFinal: true },
  { name: 'frames.mjpeg', folder: '.', contentType: 'video/x-motion-jpeg', isFinal: false },
  { name: 'frames.ndjson', folder: '.', contentType: 'application/x-ndjson; charset=utf-8', isFinal: false },
] as const satisfies readonly Asset[];
const index: ReadonlyMap<string, Asset> = new Map(assets.map((asset) => [asset.name, asset]));

/** For how long a browser may keep what does not change. A link that was taken back is good for nothing new. */
const keptSeconds = 3600;

const segmentForm = /^seg(\d{5})\.m4s$/;

/** The asset of that name; its own name, and never the text that was asked for. */
function assetOf(name: string): Asset | undefined {
  const number = segmentForm.exec(name)?.[1];
  if (number === undefined) return index.get(name);
  return {
    name: `seg${String(Number(number)).padStart(5, '0')}.m4s`,
    folder: videoFolder,
    contentType: 'video/iso.segment',
    isFinal: true,
  };
}

/** Names that can be asked for, the player first. */
export async function assetNames(path: string): Promise<string[]> {
  const segments = (await listNames(join(path, videoFolder))).filter((name) => segmentForm.test(name));
  return [playerName, ...(await fileNames(path)), ...segments.sort()];
}

/** Of the files that are there, without the segments of a video. */
export async function fileNames(path: string): Promise<string[]> {
  const there = await Promise.all(assets.map(({ folder, name }) => hasFile(join(path, folder), name)));
  return assets.filter((_, at) => there[at]).map(({ name }) => name);
}

export const assetNotFound = (cause?: unknown): ServiceError =>
  new ServiceError('asset_not_found', 'The recording has no such file.', { cause });

/** As it is now: what is still written is sent up to where it is. @throws ServiceError asset_not_found */
export async function openAsset(path: string, name: string, { status }: Pick<RecordingRecord, 'status'>): Promise<FileReply> {
  const asset = assetOf(name);
  if (!asset) throw assetNotFound();
  const { handle, bytes } = await openPlain(join(path, asset.folder), asset.name).catch((error: unknown) => {
    throw assetNotFound(error);
  });
  return {
    bytes,
    contentType: asset.contentType,
    filename: asset.name,
    inline: true,
    ranges: true,
    ...(asset.isFinal && status !== 'recording' ? { cacheControl: `private, max-age=${keptSeconds}` } : {}),
    stream: (part): Readable => {
      if (bytes === 0) return Readable.from([]);
      const { start, end } = part ?? { start: 0, end: bytes - 1 };
      return handle.createReadStream({ start, end, autoClose: false });
    },
    close: () => handle.close().catch(() => undefined),
  };
}

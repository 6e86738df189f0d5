/** The files of a recording and how they are served. */
import { Readable } from 'node:stream';
import { join } from 'node:path';
import { ServiceError } from '@berth/contract';
import type { FileReply } from '../../http/call.ts';
import { hasFile, listNames, openPlain, videoFolder } from './files/folder.ts';
import { hasMovie, movieName, openMovie } from './video/movie.ts';
import type { RecordingRecord } from './recording.ts';

/** The player page. Served by the service; not a file of the recording. */
export const playerName = 'index.html';

export interface Asset {
  name: string;
  folder: '.' | typeof videoFolder;
  contentType: string;
  /** Whether it no longer changes once the recording has ended. */
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
const assetsByName: ReadonlyMap<string, Asset> = new Map(assets.map((asset) => [asset.name, asset]));

/** How long browsers may cache final files. A revoked link still cannot load anything new. */
const cacheSeconds = 3600;

const segmentPattern = /^seg(\d{5})\.m4s$/;

export const isSegment = (name: string): boolean => segmentPattern.test(name);

/** Finds an asset. Its name is taken from our table, never from the request. */
export function findAsset(name: string): Asset | undefined {
  const number = segmentPattern.exec(name)?.[1];
  if (number === undefined) return assetsByName.get(name);
  return {
    name: `seg${String(Number(number)).padStart(5, '0')}.m4s`,
    folder: videoFolder,
    contentType: 'video/iso.segment',
    isFinal: true,
  };
}

/** Returns the names of all assets, the player first. */
export async function assetNames(path: string): Promise<string[]> {
  const segments = (await listNames(join(path, videoFolder))).filter(isSegment);
  return listAssets({ hasMovie: await hasMovie(path), files: await fileNames(path), segments });
}

/** The names of all assets of such a recording, in the order in which they are listed. */
export const listAssets = (of: { hasMovie: boolean; files: string[]; segments: string[] }): string[] => [
  playerName,
  ...(of.hasMovie ? [movieName] : []),
  ...of.files,
  ...of.segments.toSorted(),
];

/** The names of the files among these that are assets, without video segments, in the order in which they are listed. */
export const filesAmong = (names: ReadonlySet<string>): string[] => assets.map(({ name }) => name).filter((name) => names.has(name));

/** Returns the names of the existing files, without video segments. */
export async function fileNames(path: string): Promise<string[]> {
  const exists = await Promise.all(assets.map(({ folder, name }) => hasFile(join(path, folder), name)));
  return assets.filter((_, position) => exists[position]).map(({ name }) => name);
}

export const assetNotFound = (cause?: unknown): ServiceError =>
  new ServiceError('asset_not_found', 'This recording has no such file. See `assets` for the files it has.', { cause });

/** Opens an asset. A file that is still being written is sent up to its current size. @throws ServiceError asset_not_found */
export async function openAsset(path: string, name: string, { status }: Pick<RecordingRecord, 'status'>): Promise<FileReply> {
  if (name === movieName) {
    const movie = await openMovie(path);
    if (movie) return movie;
  }
  const asset = findAsset(name);
  if (!asset) throw assetNotFound();
  const { handle, bytes } = await openPlain(join(path, asset.folder), asset.name).catch((error: unknown) => {
    throw assetNotFound(error);
  });
  return {
    bytes,
    ...headersOf(asset, status),
    stream: (part): Readable => {
      if (bytes === 0) return Readable.from([]);
      const { start, end } = part ?? { start: 0, end: bytes - 1 };
      return handle.createReadStream({ start, end, autoClose: false });
    },
    close: () => handle.close().catch(() => undefined),
  };
}

type AssetHeaders = Pick<FileReply, 'contentType' | 'filename' | 'inline' | 'ranges' | 'cacheControl'>;

export const headersOf = (asset: Asset, status: RecordingRecord['status']): AssetHeaders => ({
  contentType: asset.contentType,
  filename: asset.name,
  inline: true,
  ranges: true,
  ...(asset.isFinal && status !== 'recording' ? { cacheControl: `private, max-age=${cacheSeconds}` } : {}),
});

/** The video of a recording as one file: fragmented MP4 is its first part and its segments, one after another. */
import { Readable } from 'node:stream';
import { join } from 'node:path';
import type { FileReply } from '../../../http/call.ts';
import { listSizes, openPlain, videoFolder } from '../files/folder.ts';
import { segmentsOf } from './playlist.ts';

export const movieName = 'video.mp4';
const initName = 'init.mp4';

export interface MoviePart {
  name: string;
  bytes: number;
}

/** Returns whether there is a video to play. */
export const hasMovie = async (path: string): Promise<boolean> => (await moviePartsOf(path)).length > 0;

/** Opens the video as far as it is listed. Returns null when there is none. */
export async function openMovie(path: string): Promise<FileReply | null> {
  const parts = await moviePartsOf(path);
  if (parts.length === 0) return null;
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return {
    bytes,
    ...movieHeaders,
    stream: (range = { start: 0, end: bytes - 1 }) => Readable.from(read(join(path, videoFolder), parts, range)),
    close: () => Promise.resolve(),
  };
}

export const movieHeaders = { contentType: 'video/mp4', filename: movieName, inline: true, ranges: true };

/** The files of the video in their order; none where there is no video. Only complete segments are in the playlist. */
export async function moviePartsOf(path: string): Promise<MoviePart[]> {
  const folder = join(path, videoFolder);
  const [segments, sizes] = await Promise.all([segmentsOf(folder), listSizes(folder)]);
  if (segments.length === 0 || !sizes.has(initName)) return [];
  return [initName, ...segments].map((name) => ({ name, bytes: sizes.get(name) ?? 0 }));
}

async function* read(folder: string, parts: readonly MoviePart[], { start, end }: { start: number; end: number }): AsyncIterable<Buffer> {
  let offset = 0;
  for (const { name, bytes } of parts) {
    const [from, to] = [Math.max(0, start - offset), Math.min(bytes - 1, end - offset)];
    offset += bytes;
    if (from > to) continue;
    const { handle } = await openPlain(folder, name);
    try {
      yield* handle.createReadStream({ start: from, end: to, autoClose: false });
    } finally {
      await handle.close();
    }
  }
}

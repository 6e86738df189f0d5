/** The playlist of a video that its encoder has let go of, however: closed, so that it plays to where it comes. */
import { listSizes, readText, replaceFile } from './folder.ts';

export const playlistName = 'video.m3u8';

/** A day in segments of a second. */
const bytesMax = 16 * 1024 * 1024;
const endMark = '#EXT-X-ENDLIST';

export interface ClosedPlaylist {
  text: string;
  durationMs: number;
  /** Whether nothing had to be mended. */
  wasWhole: boolean;
}

/** Null where it names no segment that is there. Ends before the first that is not, which the disk may have lost. */
export function closePlaylist(text: string, sizes: ReadonlyMap<string, number>): ClosedPlaylist | null {
  const kept: string[] = [];
  let [seconds, pendingSeconds, segments, linesWhole] = [0, 0, 0, 0];
  const lines = text.split('\n').map((line) => line.trim());
  let isCut = false;
  for (const line of lines) {
    if (line === '' || line === endMark) continue;
    kept.push(line);
    if (line.startsWith('#EXTINF:')) pendingSeconds = Number.parseFloat(line.slice('#EXTINF:'.length)) || 0;
    if (line.startsWith('#')) continue;
    if (!sizes.get(line)) {
      isCut = true;
      break;
    }
    seconds += pendingSeconds;
    segments += 1;
    linesWhole = kept.length;
  }
  if (segments === 0) return null;
  const wasWhole = !isCut && lines.includes(endMark);
  return { text: `${[...kept.slice(0, linesWhole), endMark].join('\n')}\n`, durationMs: Math.round(seconds * 1000), wasWhole };
}

/** The same in a folder that nobody writes to any more. */
export async function closeVideo(folder: string): Promise<ClosedPlaylist | null> {
  const text = await readText(folder, playlistName, bytesMax);
  const closed = text === null ? null : closePlaylist(text, await listSizes(folder));
  if (closed && !closed.wasWhole) await replaceFile(folder, playlistName, closed.text);
  return closed;
}

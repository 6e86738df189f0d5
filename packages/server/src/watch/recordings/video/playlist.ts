/** Closes the HLS playlist of a video whose encoder has exited, so that it plays to its last complete segment. */
import { nextTurn, TurnBudget } from '@berth/lib/turns/turn-budget.ts';
import { listSizes, readText, replaceFile } from '../files/folder.ts';

export const playlistName = 'video.m3u8';

/** Maximum bytes of a playlist: enough for a day in segments of one second. */
const bytesMax = 3.5 * 1024 * 1024;
/** Lines between two checks of the time. */
const linesAtOnce = 500;
/** Milliseconds of a turn for one playlist. */
const turnMs = 1;
const endTag = '#EXT-X-ENDLIST';

export interface ClosedPlaylist {
  text: string;
  durationMs: number;
  /** Whether nothing had to be repaired. */
  wasComplete: boolean;
}

/** Returns null when no listed segment exists. Ends before the first missing one. */
export async function closePlaylist(text: string, sizes: ReadonlyMap<string, number>): Promise<ClosedPlaylist | null> {
  /** Lines since the last segment, which are left out where none follows. */
  let pending: string[] = [];
  let complete: string[] = [];
  const parts: string[] = [];
  let [seconds, pendingSeconds, segments, lines] = [0, 0, 0, 0];
  let [isCut, isEnded] = [false, false];
  const turn = new TurnBudget(turnMs);
  for (const line of linesOf(text)) {
    lines += 1;
    if (lines % linesAtOnce === 0 && turn.isSpent()) await nextTurn();
    isEnded ||= line === endTag;
    if (line === '' || line === endTag) continue;
    pending.push(line);
    if (line.startsWith('#EXTINF:')) pendingSeconds = Number.parseFloat(line.slice('#EXTINF:'.length)) || 0;
    if (line.startsWith('#')) continue;
    if (!sizes.get(line)) {
      isCut = true;
      break;
    }
    seconds += pendingSeconds;
    segments += 1;
    for (const each of pending) complete.push(each);
    pending = [];
    if (complete.length < linesAtOnce) continue;
    parts.push(complete.join('\n'));
    complete = [];
  }
  if (segments === 0) return null;
  const wasComplete = !isCut && isEnded;
  return { text: `${[...parts, ...complete, endTag].join('\n')}\n`, durationMs: Math.round(seconds * 1000), wasComplete };
}

function* linesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const next = text.indexOf('\n', at);
    const end = next === -1 ? text.length : next;
    yield text.slice(at, end).trim();
    at = end + 1;
  }
}

const segmentPattern = /^seg\d{5}\.m4s$/;

/** The names of the segments that a folder's playlist lists and that exist, in order. */
export async function segmentsOf(folder: string): Promise<string[]> {
  const text = await readText(folder, playlistName, bytesMax);
  if (text === null) return [];
  const sizes = await listSizes(folder);
  const segments: string[] = [];
  let lines = 0;
  const turn = new TurnBudget(turnMs);
  for (const line of linesOf(text)) {
    lines += 1;
    if (lines % linesAtOnce === 0 && turn.isSpent()) await nextTurn();
    if (segmentPattern.test(line) && (sizes.get(line) ?? 0) > 0) segments.push(line);
  }
  return segments;
}

/** Closes the playlist of a folder that nothing writes to any more. Returns null when there is nothing to play. */
export async function closeVideo(folder: string): Promise<ClosedPlaylist | null> {
  const text = await readText(folder, playlistName, bytesMax);
  const closed = text === null ? null : await closePlaylist(text, await listSizes(folder));
  if (closed && !closed.wasComplete) await replaceFile(folder, playlistName, closed.text);
  return closed;
}

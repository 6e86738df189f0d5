/** Reads what a recording in progress shows so far: a page that has been opened is in its video only when a frame of it is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { eventually, type Service } from '../service.ts';
import { isNear, type Colour } from './viewing.ts';

interface Recorded {
  session_id: string;
  recording: { rec_id: string | null };
}

/** Waits until the last frame of a recording in progress has this colour in its middle. */
export async function waitForRecorded(
  colour: Colour,
  { service, session, withinMs }: { service: Service; session: Recorded; withinMs: number },
): Promise<void> {
  let [bytes, seen] = [0, undefined as Colour | undefined];
  const isRecorded = async (): Promise<boolean> => {
    const video = await videoOf(service, session);
    if (video.length === bytes) return false;
    bytes = video.length;
    seen = await lastColour(video);
    return seen !== undefined && isNear(seen, colour);
  };
  await eventually(`the video ends in ${colour.join(' ')}`, isRecorded, withinMs).catch((error: unknown) => {
    throw new Error(`${bytes} bytes end in ${seen?.join(' ')}`, { cause: error });
  });
}

/** Returns the video without its last segment, which is being written. */
async function videoOf(service: Service, { session_id, recording }: Recorded): Promise<Buffer> {
  const url = `${service.url}/v1/session/${session_id}/recordings/${recording.rec_id}/video.mp4`;
  const reply = await fetch(url, { headers: { authorization: `Bearer ${service.key}` } });
  const bytes = Buffer.from(await reply.arrayBuffer());
  return reply.ok ? bytes : Buffer.alloc(0);
}

/** undefined: there is no frame. */
async function lastColour(video: Buffer): Promise<Colour | undefined> {
  const middle = 'crop=16:16,scale=1:1,format=rgb24';
  const args = ['-loglevel', 'error', '-i', 'pipe:0', '-vf', middle, '-f', 'rawvideo', 'pipe:1'];
  const decoder = spawn('ffmpeg', args, { stdio: ['pipe', 'pipe', 'ignore'] });
  // It need not read all of it.
  decoder.stdin.on('error', () => undefined).end(video);
  const [frames] = await Promise.all([buffer(decoder.stdout), once(decoder, 'exit')]);
  const [red, green, blue] = frames.subarray(-3);
  return red === undefined || green === undefined || blue === undefined ? undefined : [red, green, blue];
}

/**
 * Pictures into video: one ffmpeg for each recording, in a jail of its own.
 *
 * Its input comes from a machine that may be hostile, so it has no network, a
 * user of its own, and of the file system the programs and one folder. What
 * lies in that folder is to be trusted as little as the machine.
 */
import { once } from 'node:events';
import { access, constants, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, type Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { framesPerSecond, trialArguments, videoArguments, type EncoderPlace } from './command.ts';
import type { EncoderOrder, VideoEncoder, VideoEncoders } from './model.ts';
import { Ffmpeg, keepTail, killFfmpeg, spawnFfmpeg } from './ffmpeg.ts';
import { isRoot, newUid } from '../host/users.ts';

export interface VideoEncodersOptions {
  log: Log;
  clock?: Clock;
  ffmpegPath?: string;
  /** `none` starts ffmpeg as another user and with nothing else around it. */
  jail?: 'auto' | 'none';
}

/** Its libraries may have to come from a cold disk. */
const trialMsMax = 20_000;

/** Null where there is no ffmpeg that can do it, which is found out once, here. */
export async function createVideoEncoders(options: VideoEncodersOptions): Promise<VideoEncoders | null> {
  const { log, clock = systemClock, ffmpegPath = '/usr/bin/ffmpeg', jail = 'auto' } = options;
  if (!(await canRun(ffmpegPath))) return null;
  const noJail = jail === 'none' ? 'it is switched off' : await tryOut({ ffmpegPath, jailed: true });
  const jailed = noJail === null;
  const problem = jailed ? null : await tryOut({ ffmpegPath, jailed });
  if (problem !== null) {
    log.warn({ problem }, 'this ffmpeg makes no video: recordings are kept without');
    return null;
  }
  const warnings = jailed
    ? []
    : [`Recordings are encoded without a jail (${noJail}): the encoder may read what every user of this host may.`];
  for (const warning of warnings) log.warn({ warning }, 'recordings are less isolated than they could be');
  return { framesPerSecond, warnings, start: (order) => startEncoder(order, { ffmpegPath, jailed, clock }) };
}

const canRun = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** What was wrong, or null. */
async function tryOut(place: Pick<EncoderPlace, 'ffmpegPath' | 'jailed'>): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-encoder-'));
  try {
    const uid = newUid();
    await giveFolder(folder, uid);
    const child = spawnFfmpeg({ ...place, folder, uid }, trialArguments);
    const saidLast = keepTail(child);
    child.stdin?.on('error', () => {}).end();
    const timer = setTimeout(() => killFfmpeg(child), trialMsMax);
    const code = await new Promise<number | null>((resolve) => child.once('error', () => resolve(null)).once('close', resolve));
    clearTimeout(timer);
    return code === 0 ? null : saidLast() || `code ${code}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function startEncoder(
  order: EncoderOrder,
  { ffmpegPath, jailed, clock }: Pick<EncoderPlace, 'ffmpegPath' | 'jailed'> & { clock: Clock },
): Promise<VideoEncoder> {
  const { folder } = order;
  // The picture's colours are kept for pixels in twos.
  const even = { ...order, width: order.width & ~1, height: order.height & ~1 };
  const uid = newUid();
  await giveFolder(folder, uid);
  const release = (): Promise<void> => giveFolder(folder, process.getuid?.() ?? 0);
  const child = spawnFfmpeg({ ffmpegPath, jailed, uid, folder }, videoArguments(even));
  try {
    await once(child, 'spawn');
  } catch (error) {
    await release();
    throw error;
  }
  return new Ffmpeg(child, { order: even, clock, release });
}

async function giveFolder(folder: string, uid: number): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await handle.chmod(0o700);
    if (isRoot()) await handle.chown(uid, uid);
  } finally {
    await handle.close();
  }
}

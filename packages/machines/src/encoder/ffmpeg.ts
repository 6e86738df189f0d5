/** How ffmpeg is started and fed: its command line, the jail around it, and the container of its input. */
import { spawn, type ChildProcess } from 'node:child_process';
import { confined } from '../host/confine.ts';
import { childrenOf, sendSignal } from '../host/processes.ts';
import { namespaces } from '../host/namespaces.ts';
import { asUser, withoutPrivileges } from '../host/users.ts';
import { sameAsHost } from '../process/jail.ts';

/** Frame rate of the video. More costs processor time and shows nothing new of a page. */
export const framesPerSecond = 8;
const segmentSeconds = 4;
/** Keeps a busy page readable at this frame rate; a still page takes a tenth. */
const bitsPerPixelMax = 0.3;
/** Maximum pixels of a frame, larger than any screen: ffmpeg refuses a larger one before it allocates memory for it. */
const pixelsMax = 4096 * 4096;

/** Limits of one process. 4K video takes a third of this memory, and a segment a few megabytes. */
const addressSpaceBytes = 1024 ** 3;
const fileBytesMax = 16 * 1024 ** 2;
/** Priority below that of the browser and the worker. */
const nice = 10;

const limits = `ulimit -c 0
ulimit -v ${addressSpaceBytes / 1024}
ulimit -f ${fileBytesMax / 512}
exec "$@"`;

export interface FfmpegCommandOptions {
  ffmpegPath: string;
  jailed: boolean;
  uid: number;
  /** Path on the host. */
  folder: string;
}

interface FfmpegCommand {
  program: string;
  args: string[];
  cwd: string;
}

const folderInside = '/video';
/** Path inside the jail of an ffmpeg that is not part of the system. */
const programInside = '/ffmpeg';

/** ffmpeg with these arguments. Its working folder is the only one it can write to. */
function ffmpegCommand({ ffmpegPath, jailed, uid, folder }: FfmpegCommandOptions, args: string[]): FfmpegCommand {
  const privileges = [...asUser(uid), ...(jailed ? withoutPrivileges : ['--no-new-privs', '--pdeathsig=KILL'])];
  const isOfSystem = /^\/usr\/(bin|lib)\//.test(ffmpegPath);
  const work = (program: string): string[] => ['/bin/sh', '-c', limits, 'encoder', 'nice', '-n', String(nice), program, ...args];
  // The folder lies in one that is closed to other users, so without a jail it has to be the working folder from the start.
  if (!jailed) return { program: 'setpriv', args: [...privileges, ...work(ffmpegPath)], cwd: folder };
  const own = isOfSystem ? [] : ['--ro-bind', ffmpegPath, programInside];
  const inner = ['setpriv', ...privileges, 'env', '-C', folderInside, ...work(isOfSystem ? ffmpegPath : programInside)];
  return { program: 'bwrap', args: [...jail(folder, own), '--', ...inner], cwd: '/' };
}

/** Jail with read-only programs and libraries, one writable folder, no network, and no view of other processes. */
function jail(folder: string, own: string[]): string[] {
  const devices = ['null', 'urandom'].flatMap((name) => ['--dev-bind', `/dev/${name}`, `/dev/${name}`]);
  return [
    ...namespaces(),
    ...['/usr', '/etc', '/dev'].flatMap((path) => ['--dir', path]),
    ...['/usr/bin', '/usr/lib'].flatMap((path) => ['--ro-bind', path, path]),
    ...['/usr/lib64', '/etc/ld.so.cache', '/etc/alternatives'].flatMap((path) => ['--ro-bind-try', path, path]),
    ...['/bin', '/lib', '/lib64'].flatMap(sameAsHost),
    ...devices,
    ...own,
    ...['--bind', folder, folderInside, '--remount-ro', '/'],
  ];
}

/** A short run that uses everything a recording needs. */
export const trialArguments = [
  '-loglevel',
  'error',
  '-f',
  'lavfi',
  '-i',
  'color=size=64x64:duration=0.1',
  '-c:v',
  'libx264',
  '-f',
  'null',
  '-',
];

/** Reads JPEGs in IVF from standard input, with timestamps in ms, and writes HLS to the working folder. */
export function videoArguments({ width, height }: { width: number; height: number }): string[] {
  const size = `${width}:${height}`;
  const bitsPerSecond = Math.ceil(width * height * framesPerSecond * bitsPerPixelMax);
  return [
    ...['-nostdin', '-hide_banner', '-loglevel', 'error'],
    // The input format is known, so ffmpeg does not buffer to probe it.
    ...['-probesize', '32', '-analyzeduration', '0', '-fpsprobesize', '0', '-threads', '1', '-max_pixels', String(pixelsMax)],
    ...['-format_whitelist', 'ivf', '-codec_whitelist', 'mjpeg', '-protocol_whitelist', 'pipe', '-f', 'ivf', '-i', 'pipe:0'],
    ...[
      '-filter_threads',
      '1',
      '-vf',
      `scale=${size}:force_original_aspect_ratio=decrease:flags=bilinear:out_range=tv,pad=${size}:-1:-1,setsar=1,format=yuv420p`,
    ],
    ...['-fps_mode', 'cfr', '-r', String(framesPerSecond)],
    // The fastest preset: a tenth less time than the next one, at twice the size.
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-threads', '1', '-crf', '30'],
    ...['-maxrate', String(bitsPerSecond), '-bufsize', String(2 * bitsPerSecond)],
    // Key frames only at the start of a segment.
    ...['-g', '100000', '-force_key_frames', `expr:gte(t,n_forced*${segmentSeconds})`],
    ...[
      '-f',
      'hls',
      '-hls_segment_type',
      'fmp4',
      '-hls_playlist_type',
      'event',
      '-hls_time',
      String(segmentSeconds),
      '-hls_list_size',
      '0',
    ],
    ...[
      '-hls_flags',
      'temp_file+independent_segments',
      '-hls_fmp4_init_filename',
      'init.mp4',
      '-hls_segment_filename',
      'seg%05d.m4s',
      'video.m3u8',
    ],
  ];
}

const logTailLength = 4096;

/** Starts in its own session: a signal from the terminal reaches the worker alone, which then ends its encoders. */
export function spawnFfmpeg(options: FfmpegCommandOptions, args: string[]): ChildProcess {
  const command = confined(ffmpegCommand(options, args));
  const env = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' };
  return spawn(command.program, command.args, { cwd: command.cwd, env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] });
}

/** Kills ffmpeg; in a jail, its first process. The outer process ends after it, which proves that nothing is left. */
export function killFfmpeg(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const inner = childrenOf(child.pid);
  // Its group: what it starts at this moment would outlive it, wait for it for ever, and hold its output open.
  if (inner.length === 0 && child.exitCode === null && child.signalCode === null) sendSignal(-child.pid, 'SIGKILL');
  for (const pid of inner) sendSignal(pid, 'SIGKILL');
}

/** Returns a function that reads the last lines of stderr. */
export function collectTail(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-logTailLength);
  });
  return () => tail.trim();
}

/** Header of an IVF stream (little-endian) of JPEGs with timestamps in ms. The size is a hint: each JPEG has its own. */
export function ivfHeader({ width, height }: { width: number; height: number }): Buffer {
  const header = Buffer.alloc(32);
  header.write('DKIF', 0, 'latin1');
  header.writeUInt16LE(header.length, 6);
  header.write('MJPG', 8, 'latin1');
  header.writeUInt16LE(width, 12);
  header.writeUInt16LE(height, 14);
  header.writeUInt32LE(1000, 16);
  header.writeUInt32LE(1, 20);
  return header;
}

/** Header of one IVF frame. */
export function ivfFrameHeader(bytes: number, atMs: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(bytes, 0);
  header.writeBigUInt64LE(BigInt(atMs), 4);
  return header;
}

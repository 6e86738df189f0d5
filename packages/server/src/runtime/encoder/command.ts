/** How ffmpeg is started: what it may reach, how much it may take, and what it is told to do. */
import { sameAsHost } from '../process/jail.ts';
import { asUser, isRoot, withoutPowers } from '../host/users.ts';

/** Of the video. A page is read, not filmed: more costs processor time and shows nothing. */
export const framesPerSecond = 8;
const segmentSeconds = 4;
/** What a busy page needs at this rate to be read; a still one takes a tenth. */
const bitsPerPixelMax = 0.3;
/** A picture larger than this is none of a screen: it is refused before memory is taken for it. */
const pixelsMax = 4096 * 4096;

/** Ceilings of one process: 4K video takes a third of the memory, and a segment some megabytes. */
const addressSpaceBytes = 1024 ** 3;
const fileBytesMax = 16 * 1024 ** 2;
/** Behind the browser that it shows and the worker that it works for. */
const nice = 10;

const limits = `ulimit -c 0
ulimit -v ${addressSpaceBytes / 1024}
ulimit -f ${fileBytesMax / 512}
exec "$@"`;

export interface EncoderPlace {
  ffmpegPath: string;
  jailed: boolean;
  uid: number;
  /** As the host sees it. */
  folder: string;
}

export interface EncoderCommand {
  program: string;
  args: string[];
  cwd: string;
}

const folderInside = '/video';
/** Where an ffmpeg that is not the system's is inside. */
const programInside = '/ffmpeg';

/** ffmpeg with these arguments, its working folder the one that it may write to. */
export function encoderCommand({ ffmpegPath, jailed, uid, folder }: EncoderPlace, args: string[]): EncoderCommand {
  const privileges = [...asUser(uid), ...(jailed ? withoutPowers : ['--no-new-privs', '--pdeathsig=KILL'])];
  const isOfSystem = /^\/usr\/(bin|lib)\//.test(ffmpegPath);
  const work = (program: string): string[] => ['/bin/sh', '-c', limits, 'encoder', 'nice', '-n', String(nice), program, ...args];
  // Without a jail its user cannot walk to the folder, which lies in one that is closed: it is put there instead.
  if (!jailed) return { program: 'setpriv', args: [...privileges, ...work(ffmpegPath)], cwd: folder };
  const own = isOfSystem ? [] : ['--ro-bind', ffmpegPath, programInside];
  const inner = ['setpriv', ...privileges, 'env', '-C', folderInside, ...work(isOfSystem ? ffmpegPath : programInside)];
  return { program: 'bwrap', args: [...jail(folder, own), '--', ...inner], cwd: '/' };
}

/** Programs and libraries to read, one folder to write, no network, no view of other processes. */
function jail(folder: string, own: string[]): string[] {
  const powers = ['CAP_SETPCAP', ...(isRoot() ? ['CAP_SETUID', 'CAP_SETGID'] : [])];
  const devices = ['null', 'urandom'].flatMap((name) => ['--dev-bind', `/dev/${name}`, `/dev/${name}`]);
  return [
    ...(isRoot() ? [] : ['--unshare-user']),
    ...[
      '--unshare-pid',
      '--unshare-net',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
      '--die-with-parent',
      '--hostname',
      'berth',
    ],
    ...['--cap-drop', 'ALL', ...powers.flatMap((power) => ['--cap-add', power])],
    ...['/usr', '/etc', '/dev'].flatMap((path) => ['--dir', path]),
    ...['/usr/bin', '/usr/lib'].flatMap((path) => ['--ro-bind', path, path]),
    ...['/usr/lib64', '/etc/ld.so.cache', '/etc/alternatives'].flatMap((path) => ['--ro-bind-try', path, path]),
    ...['/bin', '/lib', '/lib64'].flatMap(sameAsHost),
    ...devices,
    ...own,
    ...['--bind', folder, folderInside, '--remount-ro', '/'],
  ];
}

/** A small trial of all that a recording needs. */
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

/** JPEGs in IVF on standard input, with the milliseconds at which each was seen; HLS in the working folder. */
export function videoArguments({ width, height }: { width: number; height: number }): string[] {
  const size = `${width}:${height}`;
  const bitsPerSecond = Math.ceil(width * height * framesPerSecond * bitsPerPixelMax);
  return [
    ...['-nostdin', '-hide_banner', '-loglevel', 'error'],
    // What is to be expected is known, so nothing is held back to find it out.
    ...['-probesize', '32', '-analyzeduration', '0', '-fpsprobesize', '0', '-threads', '1', '-max_pixels', String(pixelsMax)],
    ...['-format_whitelist', 'ivf', '-codec_whitelist', 'mjpeg', '-protocol_whitelist', 'pipe', '-f', 'ivf', '-i', 'pipe:0'],
    ...[
      '-filter_threads',
      '1',
      '-vf',
      `scale=${size}:force_original_aspect_ratio=decrease:flags=bilinear:out_range=tv,pad=${size}:-1:-1,setsar=1,format=yuv420p`,
    ],
    ...['-fps_mode', 'cfr', '-r', String(framesPerSecond)],
    // The fastest preset takes a tenth less time, and twice the space.
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-threads', '1', '-crf', '30'],
    ...['-maxrate', String(bitsPerSecond), '-bufsize', String(2 * bitsPerSecond)],
    // A segment begins with a whole picture, and only a segment does.
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

/** The words in which pictures are made into video. */
import type { Log } from '../../lib/log.ts';

export interface EncoderOrder {
  /**
   * Where the video goes: an empty folder, made by the caller and used for nothing else. While the encoder runs
   * it belongs to the encoder's user, afterwards to the worker again; its files stay the encoder's.
   *
   * `video.m3u8` (an event playlist, written whole or not at all, that ends in `#EXT-X-ENDLIST` after `finish`),
   * `init.mp4`, `seg00000.m4s` and on, each some 4 s; the first is there within some 5 s. Whatever the playlist
   * names is whole. Open with O_NOFOLLOW and take only regular files.
   */
  folder: string;
  /** Of the video, in pixels; made even. Frames of other sizes are scaled to fit, with bars at their sides. */
  width: number;
  height: number;
  /** The encoder stops taking frames and finishes when the folder holds this much. */
  bytesMax: number;
  log: Log;
}

export type EncoderEnd =
  /** `finish` was called: the playlist is closed. */
  | 'finished'
  /** The folder held `bytesMax`: the playlist is closed as well. */
  | 'full'
  /** It ended by itself or was killed: the playlist may be missing, or not closed. */
  | 'broken';

export interface VideoEncoder {
  /**
   * Takes a JPEG as what is seen from now on. Keeps the last one for as long as it runs, and shows it for as long as
   * no other comes. False when it was not taken: the encoder is behind, or over. Never throws.
   */
  write(jpeg: Buffer): boolean;
  /** Epoch ms of second 0 of the video: when the first frame was written. Null before that. */
  readonly startedAtMs: number | null;
  /** Bytes in the folder, some seconds old; exact once it has exited. */
  readonly bytesWritten: number;
  /** Ends the video with the frame of now. Kills the encoder after `timeoutMs`. Idempotent: callers share one promise. Never rejects. */
  finish(options: { timeoutMs: number }): Promise<EncoderExit>;
  /** Settles once, when the process is gone and the folder belongs to the worker again. Never rejects. */
  readonly exited: Promise<EncoderExit>;
}

export interface EncoderExit {
  end: EncoderEnd;
  /** Exit code, signal and the last lines of the encoder's own log: for our log, never for a caller. */
  detail: string;
}

export interface VideoEncoders {
  /** Rate of the video. Frames that come faster leave each other out, the newest wins; slower ones are repeated in the video. */
  readonly framesPerSecond: number;
  /** What an operator should know: without a jail. */
  readonly warnings: readonly string[];
  /** Throws when the process cannot be started at all; the folder is then the worker's. */
  start(order: EncoderOrder): Promise<VideoEncoder>;
}

import { signal } from '@preact/signals';
import Hls, { ErrorTypes, Events, type ErrorData } from 'hls.js/light';
import { tickMs, type Footage, type FootageError } from './footage.ts';

/** Enough for playback at 16 times the speed, without loading all of a long recording. */
const aheadSecondsMax = 60;
const behindSeconds = 60;
const nativeType = 'application/vnd.apple.mpegurl';
/** Delay before it loads again, after network errors and while there is no playlist yet. */
const retryMs = 3000;
/** A media error sooner than this after a recovery is final. */
const recoverAgainMs = 30_000;

/** HLS in a video element. It uses no web worker, which the page's policy forbids. */
export class VideoFootage implements Footage {
  readonly isPlaying = signal(false);
  readonly isWaiting = signal(false);
  readonly timeMs = signal(0);
  readonly durationMs = signal(0);
  readonly error = signal<FootageError | null>(null);
  readonly #video: HTMLVideoElement;
  readonly #hls: Hls | undefined;
  readonly #listening = new AbortController();
  readonly #ticker: ReturnType<typeof setInterval>;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #recoveredMs = -Infinity;

  constructor(video: HTMLVideoElement, playlist: string) {
    this.#video = video;
    this.#listen();
    this.#ticker = setInterval(() => this.#tick(), tickMs);
    if (Hls.isSupported()) {
      this.#hls = new Hls({ enableWorker: false, startPosition: 0, maxMaxBufferLength: aheadSecondsMax, backBufferLength: behindSeconds });
      this.#hls.on(Events.ERROR, (_event, data) => this.#handleError(data));
      this.#hls.loadSource(playlist);
      this.#hls.attachMedia(video);
    } else if (video.canPlayType(nativeType) !== '') video.src = playlist;
    else this.error.value = 'unplayable';
  }

  play(): void {
    // Browsers refuse to play before the first user interaction.
    this.#video.play().catch(() => {});
  }

  pause(): void {
    this.#video.pause();
  }

  seek(toMs: number): void {
    const ms = Math.min(Math.max(0, toMs), this.durationMs.value);
    this.#video.currentTime = ms / 1000;
    this.timeMs.value = ms;
  }

  setRate(rate: number): void {
    this.#video.playbackRate = rate;
    // Sources that are loaded later start at this rate.
    this.#video.defaultPlaybackRate = rate;
  }

  close(): void {
    clearInterval(this.#ticker);
    clearTimeout(this.#retryTimer);
    this.#listening.abort();
    this.#hls?.destroy();
  }

  #listen(): void {
    const video = this.#video;
    const on = (types: string, handler: () => void) =>
      types.split(' ').forEach((type) => video.addEventListener(type, handler, { signal: this.#listening.signal }));
    on('play pause ended', () => (this.isPlaying.value = !video.paused && !video.ended));
    on('waiting stalled', () => (this.isWaiting.value = video.readyState < HTMLMediaElement.HAVE_FUTURE_DATA && !video.paused));
    on('playing canplay pause', () => (this.isWaiting.value = false));
    on('durationchange progress loadedmetadata', () => this.#updateDuration());
    on('timeupdate seeked', () => this.#updateTime());
    on('error', () => {
      if (!this.#hls) this.error.value = 'unplayable';
    });
  }

  #tick(): void {
    if (this.isPlaying.value) this.#updateTime();
  }

  #updateTime(): void {
    if (!this.#video.seeking) this.timeMs.value = this.#video.currentTime * 1000;
  }

  #updateDuration(): void {
    const { duration, seekable } = this.#video;
    const seconds = Number.isFinite(duration) ? duration : seekable.length > 0 ? seekable.end(seekable.length - 1) : 0;
    this.durationMs.value = seconds * 1000;
  }

  #handleError({ fatal, type, response }: ErrorData): void {
    if (response?.code === 401 || response?.code === 403) {
      this.error.value = 'denied';
      this.#hls?.stopLoad();
    } else if (fatal && type === ErrorTypes.NETWORK_ERROR) {
      clearTimeout(this.#retryTimer);
      this.#retryTimer = setTimeout(() => this.#reload(), retryMs);
    } else if (fatal && type === ErrorTypes.MEDIA_ERROR && performance.now() - this.#recoveredMs > recoverAgainMs) {
      this.#recoveredMs = performance.now();
      this.#hls?.recoverMediaError();
      // At the start, recovery does not load by itself.
      this.#hls?.startLoad(this.#video.currentTime);
    } else if (fatal) this.error.value = 'unplayable';
  }

  #reload(): void {
    const hls = this.#hls;
    if (!hls) return;
    // Without a playlist, loading must start over.
    if (hls.levels.length === 0 && hls.url) hls.loadSource(hls.url);
    else hls.startLoad();
  }
}

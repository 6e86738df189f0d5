import { signal } from '@preact/signals';
import Hls, { ErrorTypes, Events, type ErrorData } from 'hls.js/light';
import { tickMs, type Footage, type FootageFault } from './footage.ts';

/** Enough ahead for 16 times the speed, and not the whole of a long recording. */
const aheadSecondsMax = 60;
const behindSeconds = 60;
const nativeType = 'application/vnd.apple.mpegurl';
/** After a loss of the network, and while a playlist is still being written for the first time. */
const retryMs = 3000;
/** A video that breaks again sooner than this cannot be played here. */
const recoverAgainMs = 30_000;

/** HLS in a video element. Without a worker: the page's policy allows none. */
export class VideoFootage implements Footage {
  readonly isPlaying = signal(false);
  readonly isWaiting = signal(false);
  readonly timeMs = signal(0);
  readonly durationMs = signal(0);
  readonly fault = signal<FootageFault | null>(null);
  readonly #video: HTMLVideoElement;
  readonly #hls: Hls | undefined;
  readonly #listening = new AbortController();
  readonly #ticks: ReturnType<typeof setInterval>;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #recoveredMs = -Infinity;

  constructor(video: HTMLVideoElement, playlist: string) {
    this.#video = video;
    this.#listen();
    this.#ticks = setInterval(() => this.#tick(), tickMs);
    if (Hls.isSupported()) {
      this.#hls = new Hls({ enableWorker: false, startPosition: 0, maxMaxBufferLength: aheadSecondsMax, backBufferLength: behindSeconds });
      this.#hls.on(Events.ERROR, (_event, data) => this.#failed(data));
      this.#hls.loadSource(playlist);
      this.#hls.attachMedia(video);
    } else if (video.canPlayType(nativeType) !== '') video.src = playlist;
    else this.fault.value = 'unplayable';
  }

  play(): void {
    // It is refused where the person has touched nothing yet; the button still says Play then.
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
    // A new source begins at this one.
    this.#video.defaultPlaybackRate = rate;
  }

  close(): void {
    clearInterval(this.#ticks);
    clearTimeout(this.#retry);
    this.#listening.abort();
    this.#hls?.destroy();
  }

  #listen(): void {
    const video = this.#video;
    const on = (types: string, take: () => void) =>
      types.split(' ').forEach((type) => video.addEventListener(type, take, { signal: this.#listening.signal }));
    on('play pause ended', () => (this.isPlaying.value = !video.paused && !video.ended));
    on('waiting stalled', () => (this.isWaiting.value = video.readyState < HTMLMediaElement.HAVE_FUTURE_DATA && !video.paused));
    on('playing canplay pause', () => (this.isWaiting.value = false));
    on('durationchange progress loadedmetadata', () => this.#measure());
    on('timeupdate seeked', () => this.#tell());
    on('error', () => {
      if (!this.#hls) this.fault.value = 'unplayable';
    });
  }

  #tick(): void {
    if (this.isPlaying.value) this.#tell();
  }

  #tell(): void {
    if (!this.#video.seeking) this.timeMs.value = this.#video.currentTime * 1000;
  }

  #measure(): void {
    const { duration, seekable } = this.#video;
    const seconds = Number.isFinite(duration) ? duration : seekable.length > 0 ? seekable.end(seekable.length - 1) : 0;
    this.durationMs.value = seconds * 1000;
  }

  #failed({ fatal, type, response }: ErrorData): void {
    if (response?.code === 401 || response?.code === 403) {
      this.fault.value = 'denied';
      this.#hls?.stopLoad();
    } else if (fatal && type === ErrorTypes.NETWORK_ERROR) {
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.#loadAgain(), retryMs);
    } else if (fatal && type === ErrorTypes.MEDIA_ERROR && performance.now() - this.#recoveredMs > recoverAgainMs) {
      this.#recoveredMs = performance.now();
      this.#hls?.recoverMediaError();
      // At the very start it would load nothing by itself.
      this.#hls?.startLoad(this.#video.currentTime);
    } else if (fatal) this.fault.value = 'unplayable';
  }

  #loadAgain(): void {
    const hls = this.#hls;
    if (!hls) return;
    // Without a playlist there is nothing yet that loading could go on with.
    if (hls.levels.length === 0 && hls.url) hls.loadSource(hls.url);
    else hls.startLoad();
  }
}

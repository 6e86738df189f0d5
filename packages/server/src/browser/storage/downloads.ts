/** Files that pages download: named by the browser's own ids, bounded in number and size. */
import type { Protocol } from 'devtools-protocol';
import type { Clock } from '../../lib/clock.ts';
import type { Connection } from '../cdp/connection.ts';
import type { BrowserEvent, DownloadInfo } from '../model.ts';

/** Told of one session; older ones stay in the machine's folder and are forgotten here. */
const downloadsMax = 500;
/** A machine's folder lies on the host's disk. */
const fileBytesMax = 1024 ** 3;
const allBytesMax = 4 * 1024 ** 3;
const longestName = 200;

export interface DownloadsOptions {
  clock: Clock;
  tell(event: BrowserEvent): void;
  /** Whether the frame is one of a page that no caller sees. */
  isPrivate(frameId: string): boolean;
}

export class Downloads {
  readonly #connection: Connection;
  readonly #options: DownloadsOptions;
  readonly #downloads = new Map<string, DownloadInfo & { isPrivate: boolean }>();

  constructor(connection: Connection, options: DownloadsOptions) {
    this.#connection = connection;
    this.#options = options;
    connection.on('Browser.downloadWillBegin', (event, sessionId) => sessionId === undefined && this.#onBegin(event));
    connection.on('Browser.downloadProgress', (event, sessionId) => sessionId === undefined && this.#onProgress(event));
  }

  /** Newest first. */
  list(): DownloadInfo[] {
    return [...this.#downloads.values()].filter(({ isPrivate }) => !isPrivate).toReversed();
  }

  #onBegin({ frameId, guid, url, suggestedFilename }: Protocol.Browser.DownloadWillBeginEvent): void {
    if (!/^[\w-]{1,64}$/.test(guid)) return;
    const isPrivate = this.#options.isPrivate(frameId);
    const download: DownloadInfo = {
      id: guid,
      url: url.slice(0, 2048),
      suggestedFilename: harmlessName(suggestedFilename),
      status: 'in_progress',
      receivedBytes: 0,
      totalBytes: null,
      startedAt: this.#options.clock.now(),
      finishedAt: null,
    };
    this.#downloads.set(guid, { ...download, isPrivate });
    if (this.#downloads.size > downloadsMax) this.#forgetOldest();
    if (!isPrivate) this.#options.tell({ type: 'download.started', download });
  }

  #onProgress({ guid, totalBytes, receivedBytes, state }: Protocol.Browser.DownloadProgressEvent): void {
    const download = this.#downloads.get(guid);
    if (!download || download.status !== 'in_progress') return;
    download.receivedBytes = receivedBytes;
    download.totalBytes = totalBytes > 0 ? totalBytes : null;
    if (receivedBytes > fileBytesMax || this.#received() > allBytesMax) {
      void this.#connection.send('Browser.cancelDownload', { guid }).catch(() => {});
      this.#finish(download, 'too_large');
    } else if (state === 'completed') this.#finish(download, 'completed');
    else if (state === 'canceled') this.#finish(download, 'cancelled');
  }

  #finish(download: DownloadInfo & { isPrivate: boolean }, status: DownloadInfo['status']): void {
    download.status = status;
    download.finishedAt = this.#options.clock.now();
    const { isPrivate, ...told } = download;
    if (!isPrivate) this.#options.tell({ type: 'download.finished', download: told });
  }

  #received(): number {
    let sum = 0;
    for (const { receivedBytes, status } of this.#downloads.values())
      if (status !== 'too_large' && status !== 'cancelled') sum += receivedBytes;
    return sum;
  }

  #forgetOldest(): void {
    const [oldest] = this.#downloads.keys();
    if (oldest !== undefined) this.#downloads.delete(oldest);
  }
}

/** A site may name its file anything: no folders, no control characters, nothing that hides or turns around. */
export function harmlessName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const plain = last
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .replace(/^\.+/, '')
    .trim();
  return plain.slice(-longestName) || 'download';
}

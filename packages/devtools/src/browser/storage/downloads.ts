/** Downloads of pages: files are named by the browser's own ids, limited in number and size. */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Connection } from '../cdp/connection.ts';
import type { BrowserEvent, DownloadInfo, DownloadLimit } from '../interface.ts';

/** Maximum downloads listed per session; older ones stay in the machine's folder. */
const downloadsMax = 500;
/** A machine's folder is on the host's disk. */
const unlimited: DownloadLimit = { bytesMax: 1024 ** 3, resize: () => true };
const nameCharsMax = 200;
const urlCharsMax = 2048;

interface DownloadsDeps {
  clock: Clock;
  emit(event: BrowserEvent): void;
  /** Whether the frame belongs to a private page. */
  isPrivate(frameId: string): boolean;
}

export class Downloads {
  limit = unlimited;
  readonly #connection: Connection;
  readonly #deps: DownloadsDeps;
  readonly #downloads = new Map<string, DownloadInfo & { isPrivate: boolean }>();
  /** The bytes of completed files that are no longer listed. */
  #forgottenBytes = 0;

  constructor(connection: Connection, options: DownloadsDeps) {
    this.#connection = connection;
    this.#deps = options;
    connection.on('Browser.downloadWillBegin', (event, sessionId) => sessionId === undefined && this.#onBegin(event));
    connection.on('Browser.downloadProgress', (event, sessionId) => sessionId === undefined && this.#onProgress(event));
  }

  /** Newest first. */
  list(): DownloadInfo[] {
    return [...this.#downloads.values()].filter(({ isPrivate }) => !isPrivate).toReversed();
  }

  #onBegin({ frameId, guid, url, suggestedFilename }: Protocol.Browser.DownloadWillBeginEvent): void {
    if (!/^[\w-]{1,64}$/.test(guid)) return;
    const isPrivate = this.#deps.isPrivate(frameId);
    const download: DownloadInfo = {
      id: guid,
      url: cutText(url, urlCharsMax),
      suggestedFilename: sanitizeFileName(suggestedFilename),
      status: 'in_progress',
      receivedBytes: 0,
      totalBytes: null,
      startedAt: this.#deps.clock.now(),
      finishedAt: null,
    };
    this.#downloads.set(guid, { ...download, isPrivate });
    if (this.#downloads.size > downloadsMax) this.#forgetOldest();
    if (!isPrivate) this.#deps.emit({ type: 'download.started', download });
  }

  #onProgress({ guid, totalBytes, receivedBytes, state }: Protocol.Browser.DownloadProgressEvent): void {
    const download = this.#downloads.get(guid);
    if (!download || download.status !== 'in_progress') return;
    download.receivedBytes = receivedBytes;
    download.totalBytes = totalBytes > 0 ? totalBytes : null;
    if (!this.#fits(download)) {
      this.#cancel(guid);
      this.#finish(download, 'too_large');
    } else if (state === 'completed') this.#finish(download, 'completed');
    else if (state === 'canceled') this.#finish(download, 'cancelled');
  }

  #finish(download: DownloadInfo & { isPrivate: boolean }, status: DownloadInfo['status']): void {
    download.status = status;
    // The browser deletes cancelled files.
    if (status !== 'completed') this.limit.resize(this.#storedBytes());
    download.finishedAt = this.#deps.clock.now();
    const { isPrivate, ...finished } = download;
    if (!isPrivate) this.#deps.emit({ type: 'download.finished', download: finished });
  }

  /** A size that the site announces is refused before it has arrived. */
  #fits({ receivedBytes, totalBytes }: DownloadInfo): boolean {
    const stored = this.#storedBytes();
    const left = Math.max(0, (totalBytes ?? 0) - receivedBytes);
    return stored + left <= this.limit.bytesMax && this.limit.resize(stored);
  }

  #storedBytes(): number {
    let sum = this.#forgottenBytes;
    for (const { receivedBytes, status } of this.#downloads.values())
      if (status !== 'too_large' && status !== 'cancelled') sum += receivedBytes;
    return sum;
  }

  #forgetOldest(): void {
    const [oldest] = this.#downloads.values();
    if (!oldest) return;
    this.#downloads.delete(oldest.id);
    if (oldest.status === 'completed') this.#forgottenBytes += oldest.receivedBytes;
    else if (oldest.status === 'in_progress') this.#cancel(oldest.id);
  }

  #cancel(guid: string): void {
    void this.#connection.send('Browser.cancelDownload', { guid }).catch(() => {});
  }
}

/** Removes folders, control and bidirectional characters and leading dots from a site's file name. */
export function sanitizeFileName(name: string): string {
  // A site may send megabytes, of which only the end is used.
  const last =
    name
      .slice(-8 * nameCharsMax)
      .split(/[/\\]/)
      .at(-1) ?? '';
  const plain = last
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .replace(/^\.+/, '')
    .trim();
  // The end has the extension; the first half of a pair that is cut goes.
  return cutText(plain.slice(-nameCharsMax).replace(/^[\udc00-\udfff]/, ''), nameCharsMax) || 'download';
}

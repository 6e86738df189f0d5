import { signal } from '@preact/signals';
import { liveViewBounds, type LiveViewCommand } from '@berth/contract/live-view';

interface UploadsOptions {
  send: (command: LiveViewCommand) => void;
  /** Bytes that the connection has not taken yet. */
  unsentBytes: () => number;
}

/** Size of a part: in base64 it stays below the command limit. */
const partBytes = 256 * 1024;
/** Maximum unsent data. More waits here, so that input is not held up. */
const unsentBytesMax = 1024 * 1024;
const waitMs = 20;

/** Sends files from this computer to the session, one after another. */
export class Uploads {
  /** Progress from 0 to 1; null while nothing is sent. */
  readonly progress = signal<number | null>(null);
  readonly #options: UploadsOptions;
  #lastUpload = 0;
  #waiting: PromiseWithResolvers<string> | undefined;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /** Returns the ids of the files; null when one was refused or the connection was lost. */
  async send(files: readonly File[]): Promise<string[] | null> {
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    const ids: string[] = [];
    let sentBytes = 0;
    this.progress.value = 0;
    try {
      for (const file of files)
        ids.push(await this.#sendFile(file, (partSize) => (this.progress.value = (sentBytes += partSize) / Math.max(1, bytes))));
      return ids;
    } catch {
      return null;
    } finally {
      this.progress.value = null;
    }
  }

  onUploaded({ upload, file_id: id }: { upload: number; file_id: string }): void {
    if (upload === this.#lastUpload) this.#waiting?.resolve(id);
  }

  onFailed(): void {
    this.#waiting?.reject(new Error('the upload failed'));
  }

  async #sendFile(file: File, onSent: (bytes: number) => void): Promise<string> {
    const upload = ++this.#lastUpload;
    const waiting = Promise.withResolvers<string>();
    this.#waiting = waiting;
    // Rejected while parts are still sent, it is noticed at the next part.
    waiting.promise.catch(() => {});
    for (let from = 0; from === 0 || from < file.size; from += partBytes) {
      const part = file.slice(from, from + partBytes);
      const data = await toBase64(part);
      while (this.#options.unsentBytes() > unsentBytesMax)
        await Promise.race([waiting.promise, new Promise((resolve) => setTimeout(resolve, waitMs))]);
      this.#options.send({ type: 'upload', upload, name: file.name, data, is_last: from + partBytes >= file.size });
      onSent(part.size);
    }
    return waiting.promise;
  }
}

export const isTooLarge = (file: File): boolean => file.size > liveViewBounds.uploadBytes;

async function toBase64(part: Blob): Promise<string> {
  let binary = '';
  for (const byte of new Uint8Array(await part.arrayBuffer())) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Files that a viewer sends for a page's file chooser, one after another. */
import { ServiceError } from '@berth/contract';
import { liveViewBounds, type LiveViewMessage } from '@berth/contract/live-view';
import type { LiveSession, Machine } from '../../../sessions/sessions/sessions.ts';
import type { Command } from './live-view-commands.ts';

interface UploadsDeps {
  session: LiveSession;
  machine: Machine;
  sendMessage(message: LiveViewMessage): void;
}

/** Linux allows no longer name. */
const nameBytesMax = 255;
/** Bytes of unfinished files of all viewers of a session, which together may take as much as one file. */
const heldBytes = new WeakMap<LiveSession, number>();

export class Uploads {
  readonly #deps: UploadsDeps;
  #upload = -1;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** A refused file, whose other parts are dropped. */
  #refused = -1;

  constructor(deps: UploadsDeps) {
    this.#deps = deps;
  }

  /** @throws ServiceError upload_limit_reached, no_capacity, bad_request */
  async receive({ upload, name, data, is_last: isLast }: Extract<Command, { type: 'upload' }>): Promise<void> {
    if (upload === this.#refused) return;
    if (upload !== this.#upload) this.end();
    this.#upload = upload;
    const part = Buffer.from(data, 'base64');
    if (!this.#hold(part) || Buffer.byteLength(name) > nameBytesMax) throw this.#refuse(upload);
    if (!isLast) return;
    const file = Buffer.concat(this.#parts);
    this.end();
    const { session, machine, sendMessage } = this.#deps;
    const { fileId } = await session.uploads.put(machine, name, file);
    sendMessage({ type: 'uploaded', upload, file_id: fileId });
  }

  /** Drops an unfinished file. */
  end(): void {
    const { session } = this.#deps;
    heldBytes.set(session, (heldBytes.get(session) ?? 0) - this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
  }

  #hold(part: Buffer): boolean {
    const { session } = this.#deps;
    const held = (heldBytes.get(session) ?? 0) + part.length;
    if (held > liveViewBounds.uploadBytes) return false;
    heldBytes.set(session, held);
    this.#parts.push(part);
    this.#bytes += part.length;
    return true;
  }

  #refuse(upload: number): ServiceError {
    this.end();
    this.#refused = upload;
    const megabytes = liveViewBounds.uploadBytes / 1024 ** 2;
    return new ServiceError('bad_request', `The file is too large, or its name is too long. Choose one of at most ${megabytes} MB.`);
  }
}

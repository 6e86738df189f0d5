/** Files of a virtual machine, stored by its agent. Names are validated here, and responses are checked against the request. */
import { Readable } from 'node:stream';
import { guestPaths, guestRequests, UploadResult } from '@berth/contract/guest';
import { NoSuchFileError, type OpenFile, type VmFiles } from '../../runtime.ts';
import { GuestError, type GuestControl } from './control.ts';
import type { GuestStream } from './stream.ts';

/** Names of downloads (given by the browser) and ids of uploads (given by us). */
const plainName = /^[A-Za-z0-9_-]{1,64}$/;
const anyName = /^[^/\0]+$/;
/** Linux allows no longer name. */
const nameBytesMax = 255;

const askMsMax = 10_000;
/** A tenth of the usual rate under emulation. */
const uploadBytesPerMs = 500;
/** Timeout for the next bytes of a download. */
const readMsMax = 30_000;

export class GuestFiles implements VmFiles {
  readonly #control: GuestControl;
  readonly #slowdown: number;

  constructor(control: GuestControl, slowdown: number) {
    this.#control = control;
    this.#slowdown = slowdown;
  }

  /** @throws NoSuchFileError for an invalid name, GuestError, also for an id in use */
  async put(id: string, name: string, data: Buffer): Promise<string> {
    if (!plainName.test(id) || !isFileName(name)) throw new NoSuchFileError('no such name');
    const request = { method: guestRequests.uploads.method, path: `${guestRequests.uploads.path}/${id}/${encodeURIComponent(name)}` };
    const { path } = await this.#control.ask(request, UploadResult, { body: data, msMax: askMsMax + data.length / uploadBytesPerMs });
    if (path !== `${guestPaths.uploads}/${id}/${name}`) throw new GuestError('an upload was stored at another path');
    return path;
  }

  /** The stream fails with GuestError if it does not match the reported length. @throws NoSuchFileError, GuestError */
  async openDownload(name: string): Promise<OpenFile> {
    if (!plainName.test(name)) throw new NoSuchFileError('no such name');
    const { status, bytes, stream } = await this.#control.open(
      { method: 'GET', path: `${guestRequests.downloads.path}/${name}` },
      { msMax: askMsMax },
    );
    if (status === 200 && bytes !== null)
      return { bytes, stream: () => this.#streamBody(stream, bytes), close: async () => void stream.destroy() };
    stream.destroy();
    if (status === 404) throw new NoSuchFileError('no such download');
    throw new GuestError(`download: status ${status}, ${bytes === null ? 'no length' : `${bytes} bytes`}`);
  }

  #streamBody(stream: GuestStream, bytes: number): Readable {
    return Readable.from(readWhole(stream, { bytes, msMax: readMsMax * this.#slowdown }), { objectMode: false });
  }
}

const isFileName = (name: string): boolean =>
  anyName.test(name) && name !== '.' && name !== '..' && Buffer.byteLength(name) <= nameBytesMax;

/** Yields exactly `bytes` bytes. The timeout runs only while the consumer waits for the next chunk. */
async function* readWhole(stream: GuestStream, { bytes, msMax }: { bytes: number; msMax: number }): AsyncGenerator<Buffer> {
  let received = 0;
  let late = false;
  const expire = (): void => {
    late = true;
    stream.destroy();
  };
  let timer = setTimeout(expire, msMax);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      received += chunk.length;
      if (received > bytes) throw new GuestError(`a download has more than the reported ${bytes} bytes`);
      yield chunk;
      timer = setTimeout(expire, msMax);
    }
  } catch (cause) {
    throw cause instanceof GuestError
      ? cause
      : new GuestError(late ? `a download stalled for ${msMax} ms` : 'a download was cut off', { cause });
  } finally {
    clearTimeout(timer);
  }
  if (received < bytes) throw new GuestError(`a download has ${received} bytes instead of ${bytes}`);
}

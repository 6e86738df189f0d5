/** Files of a virtual machine. The agent has them, and bounds what a name may be; what it says of them is held to what was asked. */
import { Readable } from 'node:stream';
import { guestPaths, guestRequests, Uploaded } from '@berth/contract/guest';
import { NoSuchFile } from '../../runtime.ts';
import type { OpenFile, VmFiles } from '../../runtime.ts';
import type { GuestControl } from './control.ts';
import { GuestFault } from './fault.ts';
import type { GuestStream } from './stream.ts';

/** Names that a browser gives to downloads, and we to uploads. */
const plainName = /^[A-Za-z0-9_-]{1,64}$/;
const anyName = /^[^/\0]{1,255}$/;

const askMsMax = 10_000;
/** A tenth of what is usual under emulation. */
const uploadBytesPerMs = 500;
/** How long the guest may take for the next bytes of a download that somebody reads. */
const readMsMax = 30_000;

export class GuestFiles implements VmFiles {
  readonly #control: GuestControl;
  readonly #slowness: number;

  constructor(control: GuestControl, slowness: number) {
    this.#control = control;
    this.#slowness = slowness;
  }

  /** Throws GuestFault, for an id that was used before too. */
  async put(id: string, name: string, data: Buffer): Promise<string> {
    if (!plainName.test(id) || !anyName.test(name) || name === '.' || name === '..') throw new NoSuchFile('no such name');
    const request = { method: guestRequests.uploads.method, path: `${guestRequests.uploads.path}/${id}/${encodeURIComponent(name)}` };
    const { path } = await this.#control.ask(request, Uploaded, { body: data, msMax: askMsMax + data.length / uploadBytesPerMs });
    if (path !== `${guestPaths.uploads}/${id}/${name}`) throw new GuestFault('an upload was put elsewhere');
    return path;
  }

  /** Throws NoSuchFile. What is read may end in GuestFault: the length that was told is what comes. */
  async openDownload(name: string): Promise<OpenFile> {
    if (!plainName.test(name)) throw new NoSuchFile('no such name');
    const { status, bytes, stream } = await this.#control.open(download('GET', name), { msMax: askMsMax });
    if (status === 200 && bytes !== null)
      return { bytes, stream: () => this.#bodyOf(stream, bytes), close: async () => void stream.destroy() };
    stream.destroy();
    if (status === 404) throw new NoSuchFile('no such download');
    throw new GuestFault(`download: status ${status}, ${bytes === null ? 'no length' : `${bytes} bytes`}`);
  }

  async removeDownload(name: string): Promise<void> {
    if (!plainName.test(name)) return;
    await this.#control.exchange(download('DELETE', name), { msMax: askMsMax });
  }

  #bodyOf(stream: GuestStream, bytes: number): Readable {
    return Readable.from(whole(stream, { bytes, msMax: readMsMax * this.#slowness }), { objectMode: false });
  }
}

const download = (method: string, name: string): { method: string; path: string } => ({
  method,
  path: `${guestRequests.downloads.path}/${name}`,
});

/** All of it and no more. The time runs only while somebody waits for what comes next. */
async function* whole(stream: GuestStream, { bytes, msMax }: { bytes: number; msMax: number }): AsyncGenerator<Buffer> {
  let came = 0;
  let late = false;
  const expire = (): void => {
    late = true;
    stream.destroy();
  };
  let timer = setTimeout(expire, msMax);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      came += chunk.length;
      if (came > bytes) throw new GuestFault(`a download has more than the ${bytes} bytes that were told`);
      yield chunk;
      timer = setTimeout(expire, msMax);
    }
  } catch (cause) {
    throw cause instanceof GuestFault
      ? cause
      : new GuestFault(late ? `a download stood still for ${msMax} ms` : 'a download was cut off', { cause });
  } finally {
    clearTimeout(timer);
  }
  if (came < bytes) throw new GuestFault(`a download has ${came} bytes instead of ${bytes}`);
}

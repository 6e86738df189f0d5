/** A machine's display, seen from the worker: a Unix socket in a folder that the machine can write to. */
import { once } from 'node:events';
import { chmod, constants, lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { withFolder } from '../folder.ts';
import { displaySize, sharedFolder } from './display-start.ts';
import { setDesktopSize } from './rfb.ts';

/** The machine has no display, or it cannot be reached. */
export class NoDisplayError extends Error {}

/** The socket's name in its folder. */
export const vncSocket = 'vnc';

/** A local socket answers at once unless its server is stuck. */
const connectMsMax = 2000;
const resizeMsMax = 5000;
/** O_PATH of Linux, which Node does not export. */
const pathOnly = 0o10000000;

export class Display {
  readonly #folder: string;
  readonly #connections = new Set<Socket>();
  #isClosed = false;
  #resizing: Promise<void> = Promise.resolve();

  /** `folder` holds the machine's socket, as a path on the host. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @throws NoDisplayError */
  async connect(): Promise<Socket> {
    if (this.#isClosed) throw new NoDisplayError('the machine has ended');
    try {
      return await withFolder(this.#folder, (folder) => this.#connectIn(folder));
    } catch (cause) {
      throw new NoDisplayError('the display cannot be reached', { cause });
    }
  }

  /** Resizes one after the other, so that the last request wins. @throws NoDisplayError */
  resize(page: { width: number; height: number }): Promise<void> {
    const resizing = this.#resizing.then(() => this.#resize(page));
    this.#resizing = resizing.catch(() => undefined);
    return resizing;
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.destroy();
  }

  /** Connects to the file that was checked, even if its name is replaced meanwhile. */
  async #connectIn(folder: string): Promise<Socket> {
    const handle = await open(`${folder}/${vncSocket}`, pathOnly | constants.O_NOFOLLOW);
    try {
      if (!(await handle.stat()).isSocket()) throw new Error('no socket');
      const socket = connect(`/proc/self/fd/${handle.fd}`);
      this.#connections.add(socket);
      socket.on('close', () => this.#connections.delete(socket));
      try {
        await once(socket, 'connect', { signal: AbortSignal.timeout(connectMsMax) });
      } catch (error) {
        socket.destroy();
        throw error;
      }
      // The `close` event reports a display that ends.
      socket.on('error', () => {});
      return socket;
    } finally {
      await handle.close();
    }
  }

  async #resize(page: { width: number; height: number }): Promise<void> {
    const socket = await this.connect();
    try {
      await setDesktopSize(socket, displaySize(page), { signal: AbortSignal.timeout(resizeMsMax) });
    } catch (cause) {
      throw new NoDisplayError('the display could not be resized', { cause });
    } finally {
      socket.destroy();
    }
  }
}

/** Creates the socket folder that all displays share without a jail. Created by us, it belongs to no machine. */
export async function makeSharedFolder(): Promise<void> {
  try {
    await mkdir(sharedFolder);
    await chmod(sharedFolder, 0o1777);
  } catch {
    // It exists already on most systems.
  }
}

/** An X server that is killed leaves its socket. Removes those of one uid, which no other machine has. */
export async function removeStaleDisplaySockets(uid: number): Promise<void> {
  const names = await readdir(sharedFolder).catch(() => []);
  for (const path of names.filter((name) => /^X\d+$/.test(name)).map((name) => join(sharedFolder, name)))
    if ((await lstat(path).catch(() => null))?.uid === uid) await rm(path, { force: true });
}

/** A machine's display, from the worker's side: a Unix socket in a folder that the machine may fill as it likes. */
import { once } from 'node:events';
import { chmod, constants, lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { within } from './folder.ts';
import { displaySize, sharedFolder } from './display-start.ts';
import { setDesktopSize } from './rfb.ts';

/** The machine has no display, or the display is gone. */
export class NoDisplay extends Error {}

/** The socket's name in its folder. */
export const vncSocket = 'vnc';

/** A local socket answers at once, or its server is stuck. */
const connectMsMax = 2000;
const sizeMsMax = 5000;
/** A handle to what a path names, that reads nothing of it: Linux has it, Node has no name for it. */
const pathOnly = 0o10000000;

export class Display {
  readonly #folder: string;
  readonly #connections = new Set<Socket>();
  #isOver = false;
  #sizing: Promise<void> = Promise.resolve();

  /** `folder` is where the machine has its socket, as the host sees it. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws NoDisplay. */
  async connect(): Promise<Socket> {
    if (this.#isOver) throw new NoDisplay('the machine is gone');
    try {
      return await within(this.#folder, (folder) => this.#connectIn(folder));
    } catch (cause) {
      throw new NoDisplay('the display cannot be reached', { cause });
    }
  }

  /** One after the other, so that the last one asked for is the one that stays. Throws NoDisplay. */
  size(page: { width: number; height: number }): Promise<void> {
    const sizing = this.#sizing.then(() => this.#size(page));
    this.#sizing = sizing.catch(() => undefined);
    return sizing;
  }

  close(): void {
    this.#isOver = true;
    for (const connection of this.#connections) connection.destroy();
  }

  /** What is connected to is what was looked at, whatever the name means by then. */
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
      // A display that ends is told by the close.
      socket.on('error', () => {});
      return socket;
    } finally {
      await handle.close();
    }
  }

  async #size(page: { width: number; height: number }): Promise<void> {
    const socket = await this.connect();
    try {
      await setDesktopSize(socket, displaySize(page), { signal: AbortSignal.timeout(sizeMsMax) });
    } catch (cause) {
      throw new NoDisplay('the display did not take its size', { cause });
    } finally {
      socket.destroy();
    }
  }
}

/** Without a jail all displays share one folder for their sockets: made by us, it is no machine's. */
export async function makeSharedFolder(): Promise<void> {
  try {
    await mkdir(sharedFolder);
    await chmod(sharedFolder, 0o1777);
  } catch {
    // It is there already, as on most systems.
  }
}

/** An X server that is killed leaves its socket there. Takes away those of a user that no other machine has. */
export async function removeDisplayRemains(uid: number): Promise<void> {
  const names = await readdir(sharedFolder).catch(() => []);
  for (const path of names.filter((name) => /^X\d+$/.test(name)).map((name) => join(sharedFolder, name)))
    if ((await lstat(path).catch(() => null))?.uid === uid) await rm(path, { force: true });
}

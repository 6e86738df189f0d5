/**
 * Frames of the browser's own, such as that of the PDF viewer, before they have their address.
 *
 * Such a frame gets a process of its own, and is attached to while its address
 * is still empty. That it will be one is known from its navigation.
 */
import type { Connection } from '../connection.ts';
import { isHiddenAddress } from './client-rules.ts';

/** A frame that closes with its tab has no event. */
const framesMax = 256;

export class HiddenFrames {
  readonly #ids = new Set<string>();

  constructor(connection: Connection) {
    connection.on('Page.frameStartedNavigating', ({ frameId, url }) => {
      this.#ids.delete(frameId);
      if (isHiddenAddress(url)) this.#add(frameId);
    });
    connection.on('Page.frameDetached', ({ frameId, reason }) => {
      if (reason !== 'swap') this.#ids.delete(frameId);
    });
  }

  has(targetId: string): boolean {
    return this.#ids.has(targetId);
  }

  #add(frameId: string): void {
    this.#ids.add(frameId);
    const [oldest] = this.#ids;
    if (this.#ids.size > framesMax && oldest !== undefined) this.#ids.delete(oldest);
  }
}

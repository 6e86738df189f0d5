import type { Duplex } from 'node:stream';

/**
 * Joins two streams: what comes out of either goes into the other, no faster
 * than it is taken. When one is closed so is the other, after it has been given
 * what was left.
 */
export function join(one: Duplex, other: Duplex): void {
  flow(one, other);
  flow(other, one);
}

function flow(from: Duplex, to: Duplex): void {
  from.pipe(to);
  // Why a stream was cut off is not asked: the close tells all that the other needs to know.
  from
    .on('error', () => {})
    .once('close', () => {
      if (from.readableEnded && !to.writableFinished) to.once('finish', () => to.destroy());
      else to.destroy();
    });
}

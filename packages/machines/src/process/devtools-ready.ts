import type { Duplex } from 'node:stream';

/** The browser could not be started; nothing is left of it. Message and `cause` are for our log. */
export class BootError extends Error {}

/**
 * Waits for the first DevTools answer and leaves the pipe to its next reader. It
 * reads on `readable`, as a stream flows again after that when somebody listens
 * to `data`, which a paused one does not.
 */
export function waitForDevTools(cdp: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    const onReadable = (): void => {
      const bytes = cdp.read() as Buffer | null;
      if (!bytes?.includes(0)) return;
      cdp.off('readable', onReadable).off('close', onClose);
      resolve();
    };
    const onClose = (): void => reject(new BootError('the DevTools pipe closed'));
    cdp.on('readable', onReadable).on('close', onClose);
    cdp.write('{"id":1,"method":"Browser.getVersion"}\0');
  });
}

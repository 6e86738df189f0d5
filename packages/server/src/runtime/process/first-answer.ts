import type { Duplex } from 'node:stream';

/** The browser could not be started; nothing is left of it. `cause` and message are for our log. */
export class BootFailed extends Error {}

/**
 * Asks for the version, and leaves the pipe as it was for whoever reads it next:
 * a stream that was read by `readable` flows again when somebody asks for `data`,
 * one that was paused does not.
 */
export function firstAnswer(cdp: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    const onReadable = (): void => {
      const bytes = cdp.read() as Buffer | null;
      if (!bytes?.includes(0)) return;
      cdp.off('readable', onReadable).off('close', onClose);
      resolve();
    };
    const onClose = (): void => reject(new BootFailed('the DevTools pipe closed'));
    cdp.on('readable', onReadable).on('close', onClose);
    cdp.write('{"id":1,"method":"Browser.getVersion"}\0');
  });
}

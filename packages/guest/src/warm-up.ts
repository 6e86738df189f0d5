/**
 * Opens and closes a page before a machine is saved, so that copies start with
 * everything that a first page needs loaded. Nothing of the page remains: its
 * process and its browser context end.
 */
import type { Duplex } from 'node:stream';
import { CdpClient } from './cdp-client.ts';

/** Under emulation a first page takes seconds, on a busy host minutes. */
const pageMsMax = 120_000;

/** Rejects if the browser fails or times out. Leaves the pipe to its next reader. */
export async function warmUp(pipe: Duplex): Promise<void> {
  const cdp = new CdpClient(pipe, { signal: AbortSignal.timeout(pageMsMax) });
  const { browserContextId } = await cdp.call('Target.createBrowserContext');
  const { targetId } = await cdp.call('Target.createTarget', { url: 'about:blank', browserContextId });
  const { sessionId } = await cdp.call('Target.attachToTarget', { targetId, flatten: true });
  await cdp.call('Runtime.evaluate', { expression: '1' }, String(sessionId));
  await cdp.call('Target.disposeBrowserContext', { browserContextId });
  await cdp.end();
}

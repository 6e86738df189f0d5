/**
 * A page that is opened and closed before a machine is saved, so that its
 * copies find what the first page of a browser takes: programs and tables read
 * from the disk, and the browser's own part made. Of the page itself nothing is
 * kept: its process ends, and its browser context with it.
 */
import type { Duplex } from 'node:stream';
import { Talk } from './talk.ts';

/** Under emulation a first page takes seconds, and on a busy host minutes. */
const pageMsMax = 120_000;

/** Rejects when the browser does not take part. Leaves the pipe as it was for whoever reads it next. */
export async function rehearse(pipe: Duplex): Promise<void> {
  const talk = new Talk(pipe, { signal: AbortSignal.timeout(pageMsMax) });
  const { browserContextId } = await talk.ask('Target.createBrowserContext');
  const { targetId } = await talk.ask('Target.createTarget', { url: 'about:blank', browserContextId });
  const { sessionId } = await talk.ask('Target.attachToTarget', { targetId, flatten: true });
  await talk.ask('Runtime.evaluate', { expression: '1' }, String(sessionId));
  await talk.ask('Target.disposeBrowserContext', { browserContextId });
  await talk.end();
}

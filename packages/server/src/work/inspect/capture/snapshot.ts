/** Reads a page: its HTML, its storage, its vitals, and the names that its frameworks define. */
import { PageError, type Page } from '@berth/devtools';
import { snapshotScript, type Snapshot } from '@berth/reading';
import { sourceOf } from '@berth/page-scripts/page-scripts.ts';
import * as inspect from '@berth/page-scripts/read/site/inspect.ts';
import type { InspectedDocument } from '@berth/page-scripts/read/site/inspect.ts';
import * as vitals from '@berth/page-scripts/read/site/vitals.ts';
import { limits } from '../limits.ts';
import type { PageSnapshot } from '@berth/site-report';
import { blobNames, globalNames } from './globals.ts';

export type ReadPage = Omit<PageSnapshot, 'coverage' | 'consoleErrors' | 'usesWebAuthn'> & { usesWebAuthn: boolean };

/** A call of WebAuthn in a page's own scripts. */
export const webAuthnCall = /\bnavigator\.credentials\.(get|create)\b/;

const readMsMax = 10_000;
const globalsMsMax = 2000;

const inspectSource = `(options) => {\n${sourceOf(inspect, vitals)}\nreturn inspectDocument(options);\n}`;
const globalsSource = `(${String(inspect.readGlobals)})(${JSON.stringify(globalNames)}, ${JSON.stringify(blobNames)})`;

/** How long a page is given once the script that kept it from answering was stopped. */
const secondReadMsMax = 5000;

/**
 * The snapshot of a page and its links; null when the page does not answer, also after the script that keeps it from
 * answering was stopped. @throws BrowserClosedError, or the signal's reason
 */
export async function readSnapshot(
  page: Page,
  { pageId, leftMs }: { pageId: string; leftMs: number },
  signal: AbortSignal,
): Promise<{ snapshot: ReadPage; links: string[]; isScriptStopped: boolean } | null> {
  const first = await readOnce(page, { pageId, timeoutMs: page.timeoutScale.ms(readMsMax, leftMs / 2) }, signal);
  if (first !== 'timeout') return first && { ...first, isScriptStopped: false };
  await page.stopScript({ signal });
  const second = await readOnce(page, { pageId, timeoutMs: page.timeoutScale.ms(secondReadMsMax, leftMs / 4) }, signal);
  return second === 'timeout' ? null : second && { ...second, isScriptStopped: true };
}

async function readOnce(
  page: Page,
  { pageId, timeoutMs }: { pageId: string; timeoutMs: number },
  signal: AbortSignal,
): Promise<{ snapshot: ReadPage; links: string[] } | 'timeout' | null> {
  const options = { signal, timeoutMs: Math.max(1, timeoutMs), maxBytes: 8 * limits.snapshotHtmlCharsMax };
  const itemLimits = { itemsMax: limits.storageItemsMax, charsMax: limits.storageCharsMax };
  try {
    const frame = page.mainFrame();
    const htmlOptions = { visibleOnly: false, maxBytes: limits.snapshotHtmlCharsMax };
    const whole = await page.call<Snapshot>(frame, snapshotScript, [htmlOptions], options);
    const read = await page.call<InspectedDocument>(frame, inspectSource, [itemLimits], options);
    const { links, ...document } = read;
    const globals = await readGlobals(page, signal);
    return { links, snapshot: toSnapshot(pageId, whole, document, globals) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PageError)) throw error;
    return error.reason === 'timeout' ? 'timeout' : null;
  }
}

type Globals = ReturnType<typeof inspect.readGlobals>;

/** A page may replace what this reads with anything, so only the expected form is taken. */
async function readGlobals(page: Page, signal: AbortSignal): Promise<Globals> {
  const options = { signal, timeoutMs: page.timeoutScale.ms(globalsMsMax), maxBytes: 64 * 1024 };
  const nothing: Globals = { globals: [], dataBlobs: [] };
  try {
    const { globals, dataBlobs } = (await page.evaluate<Globals | undefined>(page.mainFrame(), globalsSource, options)) ?? nothing;
    return {
      globals: globalNames.filter((name) => Array.isArray(globals) && globals.includes(name)),
      dataBlobs: blobNames.flatMap((name) => {
        const blob = Array.isArray(dataBlobs) ? dataBlobs.find((each) => each.name === name) : undefined;
        return blob ? [{ name, keys: blob.keys.slice(0, 50), bytes: blob.bytes }] : [];
      }),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PageError || error instanceof TypeError) return nothing;
    throw error;
  }
}

function toSnapshot(pageId: string, whole: Snapshot, document: Omit<InspectedDocument, 'links'>, globals: Globals): ReadPage {
  return {
    pageId,
    ...document,
    title: document.title || whole.title,
    html: whole.html,
    isHtmlCut: whole.truncated,
    globals: globals.globals,
    dataBlobs: [...document.dataBlobs, ...globals.dataBlobs],
    usesWebAuthn: webAuthnCall.test(whole.html),
  };
}

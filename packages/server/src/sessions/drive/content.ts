/** Page content: a snapshot taken in the page, converted to the requested format outside it. */
import type { PageContentResponse } from '@berth/contract';
import { documentWarnings, snapshotScript, snapshotWarnings, type Converter, type Snapshot } from '@berth/reading';
import { untilQuiet, untilShown, withFrames, type Page } from '@berth/devtools';

export type PageContent = PageContentResponse;

export interface ContentOptions {
  format: PageContent['format'];
  onlyMainContent: boolean;
  tabId: string | undefined;
}

const snapshotMsMax = 15_000;
const htmlBytesMax = 8 * 1024 * 1024;
/** The HTML, its main part and the text, as JSON. */
const answerBytesMax = 4 * htmlBytesMax;

export interface PageSnapshot {
  tabId: string;
  url: string;
  snapshot: Snapshot;
}

/** @throws PageError */
export async function takeSnapshot(page: Page, format: PageContent['format'], signal: AbortSignal): Promise<PageSnapshot> {
  const visibleOnly = format === 'markdown' || format === 'text';
  const options = { visibleOnly, withFrames: format !== 'html', maxBytes: htmlBytesMax };
  const timeoutMs = page.timeoutScale.ms(snapshotMsMax);
  await untilQuiet(page, { leftMs: timeoutMs / 4, signal });
  const take = (): Promise<Snapshot> =>
    page.call<Snapshot>(page.mainFrame(), snapshotScript, [options], { signal, timeoutMs, maxBytes: answerBytesMax });
  let snapshot = await take();
  if (snapshot.isHidden) {
    await untilShown(page, { leftMs: timeoutMs, signal });
    snapshot = await take();
  }
  snapshot = await withFrames(page, snapshot, { ...options, frameId: page.mainFrame(), signal, leftMs: timeoutMs });
  return { tabId: page.tabId, url: page.url(), snapshot };
}

/** @throws ContentError */
export async function convertSnapshot(
  content: Converter,
  { tabId, url, snapshot }: PageSnapshot,
  { options, signal }: { options: ContentOptions; signal: AbortSignal },
): Promise<PageContent> {
  const { format, onlyMainContent } = options;
  const base = { tab_id: tabId, url, title: snapshot.title, format };
  const warnings = [...(snapshot.truncated ? ['content_cut'] : []), ...(format === 'html' ? documentWarnings : snapshotWarnings)(snapshot)];
  // The snapshot needs no conversion.
  if (format === 'html' && !onlyMainContent) return { ...base, content: snapshot.html, links: null, warnings: warnings };
  const conversion = { url, formats: [format], onlyMainContent, includeSelectors: [], excludeSelectors: [], extract: null };
  const result = await content.convert({ ...conversion, html: snapshot.html }, { signal });
  const links = format === 'links' ? (result.links ?? []) : null;
  return { ...base, content: format === 'links' ? null : (result[format] ?? ''), links, warnings: [...warnings, ...result.warnings] };
}

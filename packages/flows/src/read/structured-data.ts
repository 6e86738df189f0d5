/** The structured data of a page. */
import { z } from 'zod';
import { withFrames } from '@berth/devtools';
import { snapshotScript, snapshotWarnings, type ContentResult, type Snapshot } from '@berth/reading';
import type { SimilarList, MicrodataItem } from '@berth/page-scripts/read/structured-data.ts';
import type { FlowRun } from '../flow-run.ts';
import { flowScripts } from '../page-scripts.ts';

const itemsMax = 200;
const listsMax = 5;

export const Tables = z.array(
  z.object({
    caption: z.string().nullable().describe('Caption; null if there is none.'),
    headers: z.array(z.string()).describe('Texts of the header row.'),
    rows: z.array(z.array(z.string())).describe('Texts of the cells, row by row.'),
  }),
);

export const StructuredData = z.object({
  json_ld: z.array(z.unknown()).describe('JSON-LD documents.'),
  microdata: z
    .array(
      z.object({
        type: z.string().nullable().describe('`itemtype`.'),
        properties: z.record(z.string(), z.unknown()).describe('Values by `itemprop`.'),
      }),
    )
    .describe('Items of microdata.'),
  open_graph: z.record(z.string(), z.string()).describe('Open Graph and Twitter properties.'),
  tables: Tables.describe('Tables.'),
  lists: z
    .array(
      z.object({
        selector: z.string().describe('CSS selector of the items.'),
        count: z.int().describe('Number of items.'),
        items: z
          .array(
            z.object({
              text: z.string().describe('Text of the item.'),
              url: z.string().nullable().describe('Its first link.'),
              image: z.string().nullable().describe('Its first image.'),
            }),
          )
          .describe('The items, at most 200.'),
      }),
    )
    .describe('Lists of similar elements, the most prominent first.'),
});
export type StructuredData = z.infer<typeof StructuredData>;

/** Reads the page as it is now. */
export async function readData(run: FlowRun): Promise<StructuredData> {
  const { page, tables = [] } = await convertPage(run, ['metadata', 'tables']);
  const { microdata, lists } = await run.act('find_data', async () => ({
    microdata: await run.call<MicrodataItem[]>(flowScripts.readMicrodata, [itemsMax]),
    lists: await run.call<SimilarList[]>(flowScripts.findLists, [listsMax, itemsMax]),
  }));
  return { json_ld: page?.json_ld ?? [], microdata, open_graph: page?.open_graph ?? {}, tables, lists };
}

export async function convertPage(
  run: FlowRun,
  formats: readonly ('metadata' | 'tables' | 'markdown' | 'text' | 'links')[],
  { onlyMainContent = false }: { onlyMainContent?: boolean } = {},
): Promise<ContentResult> {
  const snapshot = await run.act('html', () => readPage(run, { isVisible: formats.includes('markdown') || formats.includes('text') }));
  const options = { html: snapshot.html, url: run.url(), formats, onlyMainContent };
  for (const warning of snapshotWarnings(snapshot)) run.warn(warning);
  return run.content.convert({ ...options, includeSelectors: [], excludeSelectors: [], extract: null }, { signal: run.signal });
}

const htmlBytesMax = 8 * 1024 * 1024;

/** Reads the page with the documents of its frames: what a visitor sees, or everything. @throws PageError */
async function readPage(run: FlowRun, { isVisible }: { isVisible: boolean }): Promise<Snapshot> {
  const page = run.page();
  const frameId = page.mainFrame();
  const options = { visibleOnly: isVisible, withFrames: true, maxBytes: htmlBytesMax };
  const read = await page.call<Snapshot>(frameId, snapshotScript, [options], { ...run.callOptions(), maxBytes: 3 * htmlBytesMax });
  if (read.truncated) run.warn('html_truncated');
  return withFrames(page, read, { ...options, frameId, signal: run.signal, leftMs: run.leftMs });
}

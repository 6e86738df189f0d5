/** Reads an uploaded HAR: of Chrome, Firefox, Playwright, or of somebody who lies. Only known fields are taken, with bounds. */
import type { Har } from 'har-format';
import { isJsonWithin } from '@berth/lib/json/bounds.ts';
import { toStorableText } from '@berth/lib/text/text.ts';
import type { Capture, CaptureLoss } from '@berth/site-report';
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './fields.ts';
import { readEntry } from './read-entry.ts';

/** Bounds of a HAR's JSON text. */
const jsonBounds = { depthMax: 100, containersMax: 3_000_000 };
const entriesMax = 5000;
const pagesMax = 100;
const bodiesBytesMax = 48 * 1024 * 1024;
const titleCharsMax = 1024;

export type HarReading = { capture: Capture } | { problem: string };

/** `problem` says to the caller what is wrong. */
export function readHar(source: unknown, { bodyBytesMax }: { bodyBytesMax: number }): HarReading {
  const parsed = typeof source === 'string' ? parse(source) : { value: source };
  if ('problem' in parsed) return parsed;
  const log = fieldsOf(fieldsOf(parsed.value)['log']);
  const entries = listOf(log['entries']);
  if (!Array.isArray(log['entries']))
    return { problem: 'The HAR has no list `log.entries`. Export it again from the browser’s network panel.' };
  const loss: CaptureLoss = { droppedRequests: 0, droppedBytes: 0, reasons: [] };
  const har = toHar(log, entries, { bodyBytesMax, loss });
  if (har.log.entries.length === 0) return { problem: 'The HAR has no requests. Record the site’s traffic, and export it again.' };
  return { capture: { url: findUrl(har), har, pages: [], cookies: [], probes: [], actions: [], loss } };
}

function parse(text: string): { value: unknown } | { problem: string } {
  const { depthMax, containersMax } = jsonBounds;
  // A byte order mark is common in exports.
  const json = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (!isJsonWithin(json, jsonBounds))
    return { problem: `The HAR is nested deeper than ${depthMax}, or has more than ${containersMax} objects and arrays.` };
  try {
    return { value: JSON.parse(json) };
  } catch {
    return { problem: 'The HAR is no JSON. Upload the file as the browser exported it.' };
  }
}

function toHar(log: Fields, entries: readonly unknown[], { bodyBytesMax, loss }: { bodyBytesMax: number; loss: CaptureLoss }): Har {
  const bodies = { bodyBytesMax, leftBytes: bodiesBytesMax, droppedBytes: 0 };
  const read = entries.slice(0, entriesMax).flatMap((entry) => readEntry(fieldsOf(entry), bodies) ?? []);
  loss.droppedRequests = entries.length - read.length;
  loss.droppedBytes = bodies.droppedBytes;
  if (loss.droppedRequests > 0) loss.reasons.push('requests');
  if (loss.droppedBytes > 0) loss.reasons.push('bodies');
  const sorted = read.toSorted((one, other) => Date.parse(one.startedDateTime) - Date.parse(other.startedDateTime));
  const pages = listOf(log['pages']).slice(0, pagesMax).map(readPage);
  const first = pages[0] ?? { ...readPage({}), id: 'page_1', startedDateTime: sorted[0]?.startedDateTime ?? '' };
  const known = new Set(pages.map(({ id }) => id));
  const creator = fieldsOf(log['creator']);
  return {
    log: {
      version: '1.2',
      creator: { name: textOf(creator['name'], 100), version: textOf(creator['version'], 100) },
      pages: pages.length > 0 ? pages : [first],
      // The standard allows entries without a page, and exports have none.
      entries: sorted.map((entry) => (known.has(entry.pageref ?? '') ? entry : { ...entry, pageref: first.id })),
    },
  };
}

function readPage(value: unknown): NonNullable<Har['log']['pages']>[number] {
  const { id, title, startedDateTime, pageTimings } = fieldsOf(value);
  const { onContentLoad, onLoad } = fieldsOf(pageTimings);
  return {
    id: textOf(id, 100),
    title: toStorableText(textOf(title, titleCharsMax)),
    startedDateTime: textOf(startedDateTime, 40),
    pageTimings: { onContentLoad: numberOf(onContentLoad, -1), onLoad: numberOf(onLoad, -1) },
  };
}

/** The first document, or the first request of a HAR without documents. */
function findUrl({ log: { entries } }: Har): string {
  const isDocument = ({ response, _resourceType: type }: Har['log']['entries'][number]): boolean =>
    type === 'document' || (type === undefined && /^text\/html/i.test(response.content.mimeType));
  return (entries.find(isDocument) ?? entries[0])?.request.url ?? '';
}

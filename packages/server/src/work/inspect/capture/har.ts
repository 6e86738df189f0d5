/** Recorded traffic as a HAR with bodies, in the form of Chrome's export. It holds secrets: only the redaction reads it. */
import { setImmediate as pause } from 'node:timers/promises';
import type { Entry, Har } from 'har-format';
import { apiVersion } from '@berth/contract';
import type { EntryDetails, NetworkEntry } from '@berth/devtools';
import { toHarEntry } from '../../../sessions/drive/drive.ts';
import { section } from '@berth/lib/turns/sections.ts';
import { toBodyText, toRequestText } from '../har/body.ts';

export interface VisitedPage {
  pageId: string;
  url: string;
  title: string;
  startedAt: Date;
  domContentLoadedMs: number | null;
  loadMs: number | null;
}

/** Entries between two pauses for other work. */
const pauseEntries = 20;

export async function toCapturedHar(
  entries: readonly NetworkEntry[],
  pages: readonly VisitedPage[],
  pageOf: (requestId: string) => string,
): Promise<Har> {
  const converted: Entry[] = [];
  for (const entry of entries) {
    converted.push(section('har', () => toEntry(entry, pageOf(entry.requestId))));
    if (converted.length % pauseEntries === 0) await pause();
  }
  return {
    log: {
      version: '1.2',
      creator: { name: 'Berth', version: apiVersion },
      pages: pages.map(({ pageId, title, startedAt, domContentLoadedMs, loadMs }) => ({
        id: pageId,
        title,
        startedDateTime: startedAt.toISOString(),
        pageTimings: { onContentLoad: domContentLoadedMs ?? -1, onLoad: loadMs ?? -1 },
      })),
      entries: converted,
    },
  };
}

/** What Chrome's export has and the types lack. */
interface ExtendedEntry extends Entry {
  _eventSourceMessages?: EntryDetails['events'];
  _securityDetails?: NonNullable<EntryDetails['security']>;
}

function toEntry(entry: NetworkEntry, pageref: string): ExtendedEntry {
  const { details } = entry;
  const converted: ExtendedEntry = { ...toHarEntry(entry), pageref };
  if (!details) return converted;
  const { requestBody, responseBody, initiator, priority, messages, events, security } = details;
  if (requestBody !== null) {
    const mimeType = Object.entries(entry.requestHeaders).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
    converted.request.postData = { mimeType, text: toRequestText(requestBody, mimeType) };
    converted.request.bodySize = requestBody.length;
  }
  const text = responseBody && toBodyText(responseBody.text, responseBody.isBase64);
  if (text !== null) converted.response.content.text = text;
  if (initiator) converted._initiator = initiator;
  if (priority !== null) converted._priority = priority;
  if (messages.length > 0) converted._webSocketMessages = messages;
  if (events.length > 0) converted._eventSourceMessages = events;
  if (security) converted._securityDetails = security;
  return converted;
}

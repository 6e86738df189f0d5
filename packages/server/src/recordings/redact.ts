/** What is told on a timeline, without what opens doors: many see a recording who must not have a session's addresses whole. */
import type { NetworkEntry } from '../browser/browser.ts';

const charsMax = 2000;
const addressCharsMax = 1024;
const entriesMax = 30;
const hidden = '…';

/** `https://user:password@host/path?name=value#part` as `https://host/path?name=…#…`. */
export function shownAddress(address: string): string {
  const [, place = '', query, part] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(address) ?? [];
  // What such addresses hold is their document.
  if (/^(data|javascript|blob):/i.test(place)) return `${place.slice(0, place.indexOf(':') + 1)}${hidden}`;
  const names = query?.split('&').map((pair) => (pair.includes('=') ? `${pair.slice(0, pair.indexOf('='))}=${hidden}` : pair && hidden));
  const shown = place.replace(/^([a-z][\w+.-]*:\/\/)[^/]*@/i, '$1');
  return cut(`${shown}${names ? `?${names.join('&')}` : ''}${part ? `#${hidden}` : ''}`, addressCharsMax);
}

/** Addresses stand in texts as well, such as those of a console. */
const addressInText = /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s"'<>`]+/gi;

export const shownText = (text: string): string => cut(text.slice(0, 2 * charsMax).replace(addressInText, shownAddress), charsMax);

/** Headers that hold an address, or a part of one. */
const addressHeader = /^(:path|referer|location|content-location|refresh)$/i;

/** A request as the recording's HAR has it. */
export const shownRequest = (entry: NetworkEntry): NetworkEntry => ({
  ...entry,
  url: shownAddress(entry.url),
  redirectUrl: shownAddress(entry.redirectUrl),
  requestHeaders: shownHeaders(entry.requestHeaders),
  responseHeaders: shownHeaders(entry.responseHeaders),
});

const shownHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, addressHeader.test(name) ? shownAddress(value) : shownText(value)]),
  );

/** All texts in what is told of an event. */
export function shownData(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, shownValue(name, value)]));
}

function shownValue(name: string, value: unknown): unknown {
  if (typeof value === 'string') return /(^|_)url$/.test(name) ? shownAddress(value) : shownText(value);
  if (Array.isArray(value)) return value.slice(0, entriesMax).map((one) => shownValue(name, one));
  if (typeof value === 'object' && value !== null) return shownData(value as Record<string, unknown>);
  return value;
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}${hidden}` : text).toWellFormed();

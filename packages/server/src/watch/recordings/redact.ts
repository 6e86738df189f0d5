/** Removes secrets from what a recording contains: viewers of a recording must not see the full URLs of a session. */
import { cutText } from '@berth/lib/text/text.ts';
import { maskHeader, maskText, maskUrl } from '@berth/lib/secrets/mask.ts';
import type { NetworkEntry } from '@berth/devtools';

const charsMax = 2000;
const urlCharsMax = 1024;
/** Maximum characters of a URL that are inspected; a browser may report one of megabytes. */
const inspectedCharsMax = 8192;
const entriesMax = 30;
const placeholder = '…';

/** `https://user:password@host/path?name=value#part` as `https://host/path?name=…#…`. */
export function redactUrl(address: string): string {
  const url = address.slice(0, inspectedCharsMax);
  const [, base = '', query, fragment] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(url) ?? [];
  // These URLs contain their document.
  if (/^(data|javascript|blob):/i.test(base)) return `${base.slice(0, base.indexOf(':') + 1)}${placeholder}`;
  const names = query
    ?.split('&')
    .map((pair) => (pair.includes('=') ? `${pair.slice(0, pair.indexOf('='))}=${placeholder}` : pair && placeholder));
  // Names of parameters are shown, and a path may hold a token.
  const redacted = maskUrl(base.replace(/^([a-z][\w+.-]*:\/\/)[^/]*@/i, '$1'), placeholder);
  return truncate(`${redacted}${names ? `?${names.join('&')}` : ''}${fragment ? `#${placeholder}` : ''}`, urlCharsMax);
}

/** URLs in other text, such as console messages. */
const urlPattern = /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s"'<>`]+/gi;

export const redactText = (text: string): string =>
  truncate(maskText(text.slice(0, 2 * charsMax).replace(urlPattern, redactUrl), placeholder), charsMax);

/** Headers that contain a URL or a part of one. */
const urlHeaderPattern = /^(:path|referer|location|content-location|refresh)$/i;

/** Returns a request for the recording's HAR. */
export const redactRequest = (entry: NetworkEntry): NetworkEntry => ({
  ...entry,
  url: redactUrl(entry.url),
  redirectUrl: redactUrl(entry.redirectUrl),
  requestHeaders: redactHeaders(entry.requestHeaders),
  responseHeaders: redactHeaders(entry.responseHeaders),
});

const redactHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      urlHeaderPattern.test(name) ? redactUrl(value) : redactText(maskHeader(name, value, placeholder)),
    ]),
  );

/** Redacts all strings of an event's data. */
export function redactData(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, redactValue(name, value)]));
}

function redactValue(name: string, value: unknown): unknown {
  if (typeof value === 'string') return /(^|_)url$/.test(name) ? redactUrl(value) : redactText(value);
  if (Array.isArray(value)) return value.slice(0, entriesMax).map((one) => redactValue(name, one));
  if (typeof value === 'object' && value !== null) return redactData(value as Record<string, unknown>);
  return value;
}

const truncate = (text: string, lengthMax: number): string =>
  text.length > lengthMax ? `${cutText(text, lengthMax - 1)}${placeholder}` : cutText(text, lengthMax);

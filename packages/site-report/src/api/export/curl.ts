import type { CapturedExchange } from '../../exchange.ts';

const bodyCharsMax = 4000;
/** What curl, the connection or the browser sets by itself. */
const automatic =
  /^(?::|host$|connection$|content-length$|accept-encoding$|sec-|user-agent$|origin$|referer$|priority$|upgrade|dnt$|accept-language$|pragma$|cache-control$|te$|if-|cookie$)/;

/** A command that repeats a call; placeholders stand for secrets, and without samples a file for the body. */
export function toCurl({ method, url, requestHeaders, requestText }: CapturedExchange, withSamples: boolean): string {
  const words = ['curl'];
  if (method !== 'GET') words.push('-X', quoted(method));
  words.push(quoted(url.href));
  for (const [name, value] of requestHeaders) if (!automatic.test(name)) words.push('-H', quoted(`${name}: ${value}`));
  const cookies = requestHeaders.get('cookie');
  if (cookies !== undefined) words.push('-b', quoted(cookies));
  if (requestText !== '')
    words.push(...(withSamples ? ['--data-raw', quoted(requestText.slice(0, bodyCharsMax))] : ['--data-binary', '@body']));
  return words.join(' ');
}

/** One word of a POSIX shell. */
const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

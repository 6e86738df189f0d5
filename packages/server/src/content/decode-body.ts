import { isAscii, isUtf8 } from 'node:buffer';
import sniffEncoding from 'html-encoding-sniffer';

export interface DecodedBody {
  text: string;
  /** Of the WHATWG's names, in lower case. */
  encoding: string;
}

/**
 * A body's text, as a browser would read it, but for two common lies.
 *
 * The mark at its beginning decides, then the Content-Type, then `<meta>`. A
 * body declared to be of one byte a letter that is valid UTF-8 beyond ASCII is
 * UTF-8: other text is not that by accident. One declared to be UTF-8 that is
 * mostly not is windows-1252, which nobody who forgets to declare anything
 * else uses. Unknown labels count as none.
 */
export function decodeBody(bytes: Buffer, contentType: string | null): DecodedBody {
  const declared = sniff(bytes, contentType);
  const valid = isUtf8(bytes);
  if (declared === 'utf-8' || declared === null)
    return !valid && isMostlyNotUtf8(bytes) ? decode(bytes, 'windows-1252') : decode(bytes, 'utf-8');
  return valid && oneByteEncodings.test(declared) && !isAscii(bytes) ? decode(bytes, 'utf-8') : decode(bytes, declared);
}

const oneByteEncodings = /^(windows|iso-8859|koi8|macintosh|x-mac|ibm866)/;

function sniff(bytes: Buffer, contentType: string | null): string | null {
  const label = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType ?? '')?.[1];
  const xml = /[/+]xml\b/i.test(contentType ?? '') && !/xhtml/i.test(contentType ?? '');
  const encoding = sniffEncoding(bytes, {
    xml,
    ...(label === undefined ? {} : { transportLayerEncodingLabel: label }),
    defaultEncoding: undeclared,
  });
  return encoding === undeclared ? null : encoding.toLowerCase();
}

/** No encoding's name. */
const undeclared = 'undeclared';

/** Text that is UTF-8 but for a few broken letters stays UTF-8. Looks at the beginning: a page does not change its mind. */
function isMostlyNotUtf8(bytes: Buffer): boolean {
  const text = new TextDecoder('utf-8').decode(bytes.subarray(0, 100_000));
  let broken = 0;
  let whole = 0;
  for (const letter of text) {
    if (letter === '\ufffd') broken += 1;
    else if (letter > '\u007f') whole += 1;
  }
  return broken > whole;
}

function decode(bytes: Buffer, encoding: string): DecodedBody {
  try {
    return { text: new TextDecoder(encoding).decode(bytes), encoding };
  } catch {
    // Of the standard's encodings the runtime lacks x-user-defined and `replacement`, which stands for those that are unsafe to decode.
    return { text: new TextDecoder('utf-8').decode(bytes), encoding: 'utf-8' };
  }
}

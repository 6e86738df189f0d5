import { isAscii, isUtf8 } from 'node:buffer';
import { setImmediate as pause } from 'node:timers/promises';
import sniffEncoding from 'html-encoding-sniffer';
import { section } from '../lib/sections.ts';

interface DecodedBody {
  text: string;
  /** The WHATWG name, in lower case. */
  encoding: string;
}

/**
 * Decodes a body as a browser does, and corrects two common wrong declarations.
 *
 * The byte order mark decides, then the Content-Type, then `<meta>`. A body that
 * declares a single-byte encoding and is valid UTF-8 beyond ASCII is UTF-8: other
 * text is hardly ever valid by accident. A body that declares UTF-8 and is mostly
 * invalid is windows-1252, the usual undeclared encoding. Unknown labels are
 * ignored.
 *
 * Pauses for other work: 12 MB of invalid Shift JIS take a third of a second.
 */
export async function decodeBody(bytes: Buffer, contentType: string | null): Promise<DecodedBody> {
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

/** Not the name of any encoding. */
const undeclared = 'undeclared';

/** UTF-8 with a few invalid bytes stays UTF-8. Reads only the beginning. */
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

/** Decoded at once. */
const sliceBytes = 256 * 1024;

async function decode(bytes: Buffer, encoding: string): Promise<DecodedBody> {
  const decoder = decoderOf(encoding);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    if (at > 0) await pause();
    parts.push(section('decode', () => decoder.decode(bytes.subarray(at, at + sliceBytes), { stream: true })));
  }
  parts.push(decoder.decode());
  return { text: parts.join(''), encoding: decoder.encoding };
}

function decoderOf(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding);
  } catch {
    // The runtime lacks two encodings of the standard: x-user-defined and `replacement`, which stands for unsafe ones.
    return new TextDecoder('utf-8');
  }
}

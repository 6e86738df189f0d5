import { isAscii, isUtf8 } from 'node:buffer';
import sniffEncoding from 'html-encoding-sniffer';
import { section } from '../lib/sections.ts';
import { nextTurn, SliceSize, TurnBudget } from '../lib/turn-budget.ts';

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
  if (declared === 'utf-8' || declared === null) return decode(bytes, !valid && isMostlyNotUtf8(bytes) ? 'windows-1252' : 'utf-8');
  return decode(bytes, valid && oneByteEncodings.test(declared) && !isAscii(bytes) ? 'utf-8' : declared);
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

/** Decoded at once: invalid Shift JIS takes some milliseconds for so much, most text a tenth of that. */
const sliceBytes = 256 * 1024;
/** Of all bodies together, so that many at once take no longer turns than one. */
const turn = new TurnBudget();

async function decode(bytes: Buffer, encoding: string): Promise<DecodedBody> {
  const decoder = decoderOf(encoding);
  // Most pages. It is copied a few times faster than it is decoded.
  if (decoder.encoding === 'utf-8' && isAscii(bytes)) return { text: bytes.toString('latin1'), encoding: 'utf-8' };
  const parts: string[] = [];
  const slice = new SliceSize({ first: sliceBytes, max: sliceBytes });
  for (let at = 0; at < bytes.length;) {
    while (turn.isSpent()) await nextTurn();
    const from = at;
    const decodeSlice = (size: number): string => decoder.decode(bytes.subarray(from, (at = from + size)), { stream: true });
    parts.push(section('decode', () => slice.next(decodeSlice)));
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

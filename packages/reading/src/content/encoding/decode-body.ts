import { isAscii, isUtf8 } from 'node:buffer';
import { section } from '@berth/lib/turns/sections.ts';
import { nextTurn, SliceSize, TurnBudget } from '@berth/lib/turns/turn-budget.ts';
import { declaredEncoding } from './declared-encoding.ts';
import { guessEncoding, tellingBytes } from './guess-encoding.ts';

interface DecodedBody {
  text: string;
  /** The WHATWG name, in lower case. */
  encoding: string;
}

/**
 * Decodes a body as a browser does, and corrects two common wrong declarations.
 *
 * The byte order mark decides, then the Content-Type, then the document. Unknown
 * labels are ignored. A body that declares nothing is UTF-8 if it is valid, and
 * otherwise what a detector takes it for. A body that declares a single-byte
 * encoding and is valid UTF-8 beyond ASCII is UTF-8: other text is hardly ever
 * valid by accident. A body that declares UTF-8 and is mostly invalid has the
 * encoding that the detector sees.
 *
 * Pauses for other work: 12 MB of invalid Shift JIS take a third of a second.
 */
export async function decodeBody(bytes: Buffer, contentType: string | null): Promise<DecodedBody> {
  const declared = section('decode', () => declaredEncoding(bytes, contentType));
  const valid = isUtf8(bytes);
  // Browsers show nothing of encodings that hide scripts from filters.
  if (declared === 'replacement') return { text: bytes.length > 0 ? '\ufffd' : '', encoding: declared };
  if (declared === null || declared === 'utf-8')
    return decode(bytes, !valid && isMostlyNotUtf8(bytes) ? section('decode', () => guessEncoding(bytes)) : 'utf-8');
  // Browsers read x-user-defined as windows-1252 if a document declares it; if a header does, as characters that mean nothing.
  const encoding = declared === 'x-user-defined' ? 'windows-1252' : declared;
  return decode(bytes, valid && oneByteEncodings.test(encoding) && !isAscii(bytes) ? 'utf-8' : encoding);
}

const oneByteEncodings = /^(windows|iso-8859|koi8|macintosh|x-mac|ibm866)/;

/** UTF-8 with a few invalid bytes stays UTF-8. */
function isMostlyNotUtf8(bytes: Buffer): boolean {
  const text = new TextDecoder('utf-8').decode(tellingBytes(bytes));
  let broken = 0;
  let whole = 0;
  for (const letter of text) {
    if (letter === '\ufffd') broken += 1;
    else if (letter > '\u007f') whole += 1;
  }
  return broken > whole;
}

/** Bytes that are decoded at once: invalid Shift JIS takes some milliseconds for so much, most text a tenth of that. */
const sliceBytes = 256 * 1024;
/** One budget for all bodies together, so that many at once take no longer turns than one. */
const turn = new TurnBudget();

async function decode(bytes: Buffer, encoding: string): Promise<DecodedBody> {
  const decoder = new TextDecoder(encoding);
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

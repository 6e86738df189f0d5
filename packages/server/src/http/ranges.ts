import { ServiceError } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import parseRange from 'range-parser';

/** First and last byte. */
export interface Part {
  start: number;
  end: number;
}

/**
 * The `Range` that a request asks for. Only GET has one; and what depends on a
 * validator never applies, since files are sent without any.
 */
export const rangeOf = ({ method, headers }: IncomingMessage): string | undefined =>
  method === 'GET' && headers['if-range'] === undefined ? headers.range : undefined;

/**
 * The one part that is asked for, null for the whole: where there is no range,
 * where it is malformed, and where there are several, which nobody here needs.
 * Throws range_not_satisfiable.
 */
export function partOf(range: string | undefined, bytes: number): Part | null {
  if (range === undefined || range.includes(',')) return null;
  const parts = parseRange(bytes, range);
  if (parts === -2) return null;
  if (parts === -1) return wholeOf(range, bytes);
  const [part] = parts;
  return part && parts.type.toLowerCase() === 'bytes' ? { start: part.start, end: part.end } : null;
}

/** The parser finds no end of a file that is longer than the file, where the standard wants all of it. */
function wholeOf(range: string, bytes: number): Part {
  if (bytes > 0 && /^bytes=\s*-\s*0*[1-9]\d*\s*$/i.test(range)) return { start: 0, end: bytes - 1 };
  throw new ServiceError('range_not_satisfiable', `There is nothing where the range asks for it: this has ${bytes} bytes.`, {
    details: { size_bytes: bytes },
  });
}

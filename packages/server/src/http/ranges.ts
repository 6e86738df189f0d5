import { ServiceError } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import parseRange from 'range-parser';

/** First and last byte. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * The `Range` header of a GET request. A range with `If-Range` never applies,
 * because files are sent without validators (RFC 9110, section 13.1.5).
 */
export const readRangeHeader = ({ method, headers }: IncomingMessage): string | undefined =>
  method === 'GET' && headers['if-range'] === undefined ? headers.range : undefined;

/**
 * The requested range; null for the whole file: without a range, for a malformed
 * one, and for several ranges, which are not supported.
 *
 * @throws ServiceError range_not_satisfiable
 */
export function resolveRange(range: string | undefined, bytes: number): ByteRange | null {
  if (range === undefined || range.includes(',')) return null;
  const parts = parseRange(bytes, range);
  if (parts === -2) return null;
  if (parts === -1) return wholeOf(range, bytes);
  const [byteRange] = parts;
  return byteRange && parts.type.toLowerCase() === 'bytes' ? { start: byteRange.start, end: byteRange.end } : null;
}

/** The parser rejects a suffix range longer than the file; RFC 9110 says that it selects the whole file. */
function wholeOf(range: string, bytes: number): ByteRange {
  if (bytes > 0 && /^bytes=\s*-\s*0*[1-9]\d*\s*$/i.test(range)) return { start: 0, end: bytes - 1 };
  throw new ServiceError('range_not_satisfiable', `Range not satisfiable: the file has ${bytes} bytes.`, {
    details: { size_bytes: bytes },
  });
}

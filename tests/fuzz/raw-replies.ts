/** Reads the replies of one connection from its bytes. */

export interface RawReply {
  status: number;
  headers: Map<string, string>;
  body: string;
  /** Whether it has no body although its headers announce one. */
  isHead: boolean;
}

/** Returns the whole replies in their order, and what follows the last of them. Interim replies are left out. */
export function readReplies(text: string, mayBeHead: boolean): { replies: RawReply[]; rest: string } {
  const replies: RawReply[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1] ?? Number.NaN);
    if (end === -1 || Number.isNaN(status)) break;
    const headers = readHeaders(rest.slice(0, end));
    const after = rest.slice(end + 4);
    if (status === 100) {
      rest = after;
      continue;
    }
    const isHead = mayBeHead && (after === '' || after.startsWith('HTTP/1.1 '));
    const body = status === 101 ? after : isHead ? '' : readBody(headers, after);
    if (body === null) break;
    replies.push({ status, headers, body: decode(headers, body), isHead });
    rest = after.slice(body.length);
  }
  return { replies, rest };
}

const readHeaders = (head: string): Map<string, string> =>
  new Map(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );

/** The bytes of the body; null where they are not complete. */
function readBody(headers: Map<string, string>, after: string): string | null {
  if (headers.get('transfer-encoding') === 'chunked') {
    const end = after.indexOf('0\r\n\r\n');
    return end === -1 ? null : after.slice(0, end + 5);
  }
  const length = Number(headers.get('content-length') ?? 0);
  return after.length < length ? null : after.slice(0, length);
}

const decode = (headers: Map<string, string>, body: string): string =>
  headers.get('transfer-encoding') === 'chunked' ? body.replace(/(^|\r\n)[0-9a-f]+\r\n/g, '') : Buffer.from(body, 'latin1').toString();

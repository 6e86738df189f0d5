/** What was seen, fit to be kept and shown: no query, no token, one line, cut. */

export const evidenceCharsMax = 80;

export function redact(seen: string): string {
  return cut(
    seen
      .slice(0, 4 * evidenceCharsMax)
      .replace(/\?[^\s"'<>]*/g, '')
      .replace(/\/\/[^\s"'<>/@]*@/g, '//')
      // A long run of letters and digits is an id of somebody or something.
      .replace(/[\w-]{12,}/g, (run) => (/\d/.test(run) && /[a-z]/i.test(run) ? '…' : run))
      // oxlint-disable-next-line no-control-regex -- Control characters are what must go.
      .replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
      .trim(),
  );
}

const cut = (text: string): string => (text.length > evidenceCharsMax ? `${text.slice(0, evidenceCharsMax - 1)}…` : text);

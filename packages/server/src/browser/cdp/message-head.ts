/**
 * Reads the session id of a browser's message without parsing it.
 *
 * Chromium writes the session id as the last top-level key, so a message of a
 * session ends in exactly `,"sessionId":"<32 hex>"}`. Those bytes
 * cannot be the end of anything else: inside a string the quotes would be
 * escaped, and inside a nested object a second brace would follow.
 */
const tailStart = Buffer.from(',"sessionId":"');
const idLength = 32;
const tailLength = tailStart.length + idLength + 2;
const quote = 0x22;
const brace = 0x7d;

/** The session id of a message; undefined: the root session. */
export function sessionOf(frame: Buffer): string | undefined {
  const start = frame.length - tailLength;
  if (start < 1 || frame[frame.length - 1] !== brace || frame[frame.length - 2] !== quote) return undefined;
  if (frame.compare(tailStart, 0, tailStart.length, start, start + tailStart.length) !== 0) return undefined;
  const id = frame.toString('latin1', start + tailStart.length, frame.length - 2);
  return /^[0-9A-F]{32}$/.test(id) ? id : undefined;
}

/** Removes the session id in place: nobody else reads the buffer. */
export function withoutSession(frame: Buffer): Buffer {
  const end = frame.length - tailLength;
  frame[end] = brace;
  return frame.subarray(0, end + 1);
}

const attachmentStart = Buffer.from('{"method":"Target.');

/** Whether a message may be `Target.attachedToTarget` or `Target.detachedFromTarget`, which are parsed before a client gets them. */
export function isTargetEvent(frame: Buffer): boolean {
  // The eleventh byte decides nearly always, so that the common message costs one look.
  return (
    frame[11] === 0x54 &&
    frame.length > attachmentStart.length &&
    frame.compare(attachmentStart, 0, attachmentStart.length, 0, attachmentStart.length) === 0
  );
}

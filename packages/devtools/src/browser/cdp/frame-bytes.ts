/** Reads of a message's bytes without parsing it: Chromium writes the fields of a message in a fixed order. */

/** An origin is shorter; the rest of an address is not needed. */
const originBytesMax = 300;

export const methodStart = Buffer.from('{"method":"');

export const startsWith = (frame: Buffer, text: Buffer, at: number): boolean =>
  frame.length >= at + text.length && frame.compare(text, 0, text.length, at, at + text.length) === 0;

/** The origin of the address that is at this place; undefined for one without. */
export function originAt(frame: Buffer, at: number): string | undefined {
  const text = frame.toString('latin1', at, Math.min(at + originBytesMax, frame.length));
  return /^(?:https?|wss?):\/\/[^/?#"\\]+/.exec(text)?.[0];
}

/** X11 keysyms. */

/** Bit that is added to a code point above Latin-1 to form its keysym. */
const unicodeBit = 0x0100_0000;

export const keysyms = { alt: 0xffe9, control: 0xffe3 } as const;

const named: Readonly<Record<string, number>> = {
  Backspace: 0xff08,
  Tab: 0xff09,
  Enter: 0xff0d,
  Escape: 0xff1b,
  Home: 0xff50,
  ArrowLeft: 0xff51,
  ArrowUp: 0xff52,
  ArrowRight: 0xff53,
  ArrowDown: 0xff54,
  PageUp: 0xff55,
  PageDown: 0xff56,
  End: 0xff57,
  Delete: 0xffff,
};

/** Returns the keysym of a non-printing key, by its name in `KeyboardEvent.key`. */
export const keysymOfKey = (key: string): number | undefined => (Object.hasOwn(named, key) ? named[key] : undefined);

/** Returns the keysyms that type a text. Line ends become Enter. */
export function keysymsOfText(text: string): number[] {
  return [...text.replaceAll('\r\n', '\n')].flatMap((character) => {
    const point = character.codePointAt(0) ?? 0;
    if (character === '\n' || character === '\r') return [named['Enter'] ?? 0];
    if (character === '\t') return [named['Tab'] ?? 0];
    const isLatin = (point >= 0x20 && point <= 0x7e) || (point >= 0xa0 && point <= 0xff);
    if (isLatin) return [point];
    return point > 0xff ? [unicodeBit | point] : [];
  });
}

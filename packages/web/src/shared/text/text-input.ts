/** The meaning of a text field's `input` event. Soft keyboards report typing only this way. */
export type TextInput = { kind: 'text'; text: string } | { kind: 'key'; key: 'Enter' | 'Backspace' | 'Delete'; isWord: boolean };

/** Returns undefined for compositions and clipboard events, which are handled elsewhere. */
export function parseTextInput(inputType: string, data: string | null): TextInput | undefined {
  switch (inputType) {
    case 'insertText':
    case 'insertReplacementText':
    case 'insertFromYank':
    case 'insertFromDrop':
      return data ? { kind: 'text', text: data } : undefined;
    case 'insertLineBreak':
    case 'insertParagraph':
      return { kind: 'key', key: 'Enter', isWord: false };
    case 'deleteContentBackward':
      return { kind: 'key', key: 'Backspace', isWord: false };
    case 'deleteWordBackward':
    case 'deleteSoftLineBackward':
    case 'deleteHardLineBackward':
      return { kind: 'key', key: 'Backspace', isWord: true };
    case 'deleteContentForward':
      return { kind: 'key', key: 'Delete', isWord: false };
    case 'deleteWordForward':
      return { kind: 'key', key: 'Delete', isWord: true };
    default:
      return undefined;
  }
}

/** Splits a text into parts of at most `charsMax`, without splitting surrogate pairs. */
export function splitText(text: string, charsMax: number): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + charsMax);
    const last = text.charCodeAt(to - 1);
    const isTorn = to < text.length && last >= 0xd800 && last < 0xdc00;
    if (isTorn && to - 1 > from) to -= 1;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

/** What a text field's `input` event means to somebody who passes typing on. Fields of soft keyboards tell no keys, only this. */
export type TextInput = { kind: 'text'; text: string } | { kind: 'key'; key: 'Enter' | 'Backspace' | 'Delete'; isWord: boolean };

/** undefined for what is told elsewhere: compositions, and what the field's own clipboard does. */
export function readTextInput(inputType: string, data: string | null): TextInput | undefined {
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

/** A text in parts of at most `charsMax`, with no character torn in two. */
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

export interface Attribute {
  name: string;
  /** The value as it stands between its quotes. */
  value: string;
  start: number;
  end: number;
}

const nameCharsMax = 64;
const isNameChar = (code: number): boolean =>
  (code >= 48 && code <= 58) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 || code === 45;
const isSpace = (code: number): boolean => code <= 32;

/** `name="value"`, `name='value'` and `name=value`, in time linear in the text. */
export function readAttributes(text: string, stops: RegExp): Attribute[] {
  const attributes: Attribute[] = [];
  let done = 0;
  for (let equals = text.indexOf('='); equals >= 0; equals = text.indexOf('=', Math.max(done, equals + 1))) {
    let nameEnd = equals;
    while (nameEnd > done && isSpace(text.charCodeAt(nameEnd - 1))) nameEnd -= 1;
    let nameStart = nameEnd;
    while (nameStart > done && nameEnd - nameStart < nameCharsMax && isNameChar(text.charCodeAt(nameStart - 1))) nameStart -= 1;
    let start = equals + 1;
    while (start < text.length && isSpace(text.charCodeAt(start))) start += 1;
    const quote = text[start] === '"' || text[start] === "'" ? text[start] : undefined;
    if (quote !== undefined) start += 1;
    const end = quote === undefined ? endOfBare(text, start, stops) : text.indexOf(quote, start);
    if (end < 0) break;
    if (nameEnd > nameStart) attributes.push({ name: text.slice(nameStart, nameEnd), value: text.slice(start, end), start, end });
    done = quote === undefined ? end : end + 1;
  }
  return attributes;
}

function endOfBare(text: string, start: number, stops: RegExp): number {
  let end = start;
  while (end < text.length && !stops.test(text[end] ?? '')) end += 1;
  return end;
}

export interface JsonBounds {
  depthMax: number;
  /** Maximum number of objects and arrays. */
  containersMax: number;
  /** Maximum number of elements and members, which commas separate. Default: any number. */
  separatedMax?: number;
}

const [quote, backslash, comma, openArray, closeArray, openObject, closeObject] = [0x22, 0x5c, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Whether JSON is within bounds, in one pass and before it is parsed: a megabyte
 * of brackets takes JSON.parse ten times as long as other text. What is no JSON
 * may be taken for larger than it is.
 */
export function isJsonWithin(text: string, { depthMax, containersMax, separatedMax = Infinity }: JsonBounds): boolean {
  let [containers, depth, commas] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = closingQuote(text, at);
    else if (code === comma) {
      commas += 1;
      if (commas >= separatedMax) return false;
    } else if (code === openArray || code === openObject) {
      containers += 1;
      depth += 1;
      if (containers > containersMax || depth > depthMax) return false;
    } else if (code === closeArray || code === closeObject) depth -= 1;
  }
  return true;
}

/** The index of the quote that ends a string, or one behind the text. */
export function closingQuote(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}

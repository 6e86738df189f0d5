/** Finds the string literals of a script, and what in it is JSON, in time linear in the script. */

export interface Literal {
  /** Position of the encoded text, between its quotes. */
  start: number;
  end: number;
}

export interface ScriptTexts {
  /** Strings and templates outside of the JSON. */
  literals: Literal[];
  /** Objects and lists that hold nothing but JSON, the outermost ones. */
  json: Literal[];
}

/** Maximum literals: each costs some tens of bytes while the script is read. */
const literalsMax = 500_000;
/** Minimum length of JSON: shorter one, such as an index, holds no secret. */
const jsonCharsMin = 10;
/** Maximum depth of brackets: deeper ones hold no JSON. */
const depthMax = 10_000;

const codeOf = (char: string): number => char.charCodeAt(0);
const [newline, doubleQuote, dollar, singleQuote, star, slash] = [10, 34, 36, 39, 42, 47];
const [openBracket, backslash, closeBracket, backtick, openBrace, closeBrace] = [91, 92, 93, 96, 123, 125];

/** Characters that may stand between the strings and brackets of JSON. */
const jsonChars = new Set([...' \t\r\n,:0123456789.+-eE'].map(codeOf));
const jsonWords = ['true', 'false', 'null'];

/** A slash after one of these begins a regular expression, and elsewhere it divides. */
const beforeExpression = new Set([...'(,=:[!&|?{};+-*%~^<>\n'].map(codeOf));
const keywordBefore = /(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|do|else|yield|await)\s*$/;

export const readScript = (text: string): ScriptTexts => new ScriptReading(text).run();

interface Bracket {
  start: number;
  isObject: boolean;
  /** JSON inside of it, which is reported where the whole turns out to be none. */
  inner: Literal[];
}

class ScriptReading {
  readonly #text: string;
  readonly #literals: Literal[] = [];
  readonly #json: Literal[] = [];
  readonly #open: Bracket[] = [];
  /** Number of the open brackets, from the outermost one, that hold what is no JSON. */
  #tainted = 0;
  /** Number of brackets that were open where each `${` of a template began. */
  readonly #templates: number[] = [];
  /** The last character outside of strings and comments that is no blank. */
  #before = -1;
  /** Place before which no regular expression ends, so that none is looked for again. */
  #noExpressionUntil = 0;

  constructor(text: string) {
    this.#text = text;
  }

  run(): ScriptTexts {
    const text = this.#text;
    let at = 0;
    while (at < text.length && this.#literals.length < literalsMax) at = this.#read(at);
    this.#taint();
    return { literals: outside(this.#literals, this.#json), json: this.#json };
  }

  /** Reads what begins there. @returns where the next begins */
  #read(at: number): number {
    const text = this.#text;
    const code = text.charCodeAt(at);
    if (code === doubleQuote || code === singleQuote) return this.#string(at, code);
    if (code === backtick) return this.#template(at + 1);
    if (code === slash) return this.#slash(at);
    const before = at;
    if (code === openBrace || code === openBracket) this.#push(at, code === openBrace);
    else if (code === closeBrace && this.#templates.at(-1) === this.#open.length) {
      this.#templates.pop();
      return this.#template(at + 1);
    } else if (code === closeBrace || code === closeBracket) this.#pop(at + 1, code === closeBrace);
    else if (!jsonChars.has(code)) {
      const word = code >= 97 ? jsonWords.find((one) => text.startsWith(one, at)) : undefined;
      if (word !== undefined) {
        this.#before = at + word.length - 1;
        return at + word.length;
      }
      this.#taint();
    }
    if (code > 32) this.#before = before;
    return at + 1;
  }

  #string(open: number, quote: number): number {
    const end = this.#endOfString(open + 1, quote);
    if (end > open + 1) this.#literals.push({ start: open + 1, end });
    if (quote !== doubleQuote) this.#taint();
    this.#before = end;
    return end + 1;
  }

  /** The closing quote, or the end of a line without one: a quote that was none costs no more than its line. */
  #endOfString(start: number, quote: number): number {
    const text = this.#text;
    let end = start;
    while (end < text.length) {
      const code = text.charCodeAt(end);
      if (code === quote || code === newline) return end;
      end += code === backslash ? 2 : 1;
    }
    return text.length;
  }

  /** The part of a template up to its end or to its next expression. */
  #template(start: number): number {
    const text = this.#text;
    this.#taint();
    let end = start;
    while (end < text.length) {
      const code = text.charCodeAt(end);
      if (code === backtick) break;
      if (code === dollar && text.charCodeAt(end + 1) === openBrace) {
        if (end > start) this.#literals.push({ start, end });
        this.#templates.push(this.#open.length);
        this.#before = end + 1;
        return end + 2;
      }
      end += code === backslash ? 2 : 1;
    }
    end = Math.min(end, text.length);
    if (end > start) this.#literals.push({ start, end });
    this.#before = end;
    return end + 1;
  }

  /** A comment, a regular expression, or a division. */
  #slash(at: number): number {
    const text = this.#text;
    const next = text.charCodeAt(at + 1);
    if (next === slash || next === star) {
      const close = next === slash ? text.indexOf('\n', at) : text.indexOf('*/', at + 2);
      return close < 0 ? text.length : close + (next === slash ? 0 : 2);
    }
    this.#taint();
    const before = this.#before;
    const isExpression =
      before < 0 || beforeExpression.has(text.charCodeAt(before)) || keywordBefore.test(text.slice(Math.max(0, before - 11), before + 1));
    this.#before = at;
    return isExpression && at >= this.#noExpressionUntil ? this.#endOfExpression(at) : at + 1;
  }

  #endOfExpression(at: number): number {
    const text = this.#text;
    let isInClass = false;
    for (let end = at + 1; end < text.length; end += 1) {
      const code = text.charCodeAt(end);
      if (code === newline) {
        this.#noExpressionUntil = end;
        return at + 1;
      }
      if (code === backslash) end += 1;
      else if (code === openBracket) isInClass = true;
      else if (code === closeBracket) isInClass = false;
      else if (code === slash && !isInClass) {
        this.#before = end;
        return end + 1;
      }
    }
    this.#noExpressionUntil = text.length;
    return at + 1;
  }

  #push(start: number, isObject: boolean): void {
    if (this.#open.length >= depthMax) this.#taint();
    else this.#open.push({ start, isObject, inner: [] });
  }

  #pop(end: number, isObject: boolean): void {
    const bracket = this.#open.at(-1);
    if (!bracket) return;
    if (bracket.isObject !== isObject) this.#taint();
    this.#open.pop();
    const isJson = this.#open.length >= this.#tainted;
    this.#tainted = Math.min(this.#tainted, this.#open.length);
    if (!isJson) return;
    const json = { start: bracket.start, end };
    if (end - bracket.start < jsonCharsMin) return;
    const outer = this.#open.at(-1);
    if (outer && this.#open.length > this.#tainted) outer.inner.push(json);
    else this.#json.push(json);
  }

  /** Marks all that is open as no JSON: what in it was JSON stands for itself. */
  #taint(): void {
    for (; this.#tainted < this.#open.length; this.#tainted += 1) {
      const bracket = this.#open[this.#tainted];
      if (!bracket) continue;
      this.#json.push(...bracket.inner);
      bracket.inner = [];
    }
  }
}

/** The literals outside of the JSON. Both are in the order of the text, but JSON that was reported late. */
function outside(literals: Literal[], json: Literal[]): Literal[] {
  json.sort((a, b) => a.start - b.start);
  let i = 0;
  return literals.filter(({ start }) => {
    while ((json[i]?.end ?? Infinity) <= start) i += 1;
    return start < (json[i]?.start ?? Infinity);
  });
}

const escape = /\\(?:u\{([\da-f]{1,6})\}|u([\da-f]{4})|x([\da-f]{2})|\r?\n|([^]))/gi;
const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', 0: '\0' };

/** The text of a literal. */
export function textOfLiteral(raw: string): string {
  if (!raw.includes('\\')) return raw;
  return raw.replaceAll(escape, (_, braced?: string, unicode?: string, hex?: string, char?: string) => {
    const digits = braced ?? unicode ?? hex;
    if (digits === undefined) return char === undefined ? '' : (controls[char] ?? char);
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}

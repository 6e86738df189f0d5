/** Reads the strings and numbers of JSON with where they stand, also of JSON that is cut, invalid or nested without end. */
import { kindOfName } from '../names.ts';
import { charClass } from './runs.ts';

export interface JsonScalar {
  /**
   * The nearest key that says something: of an element of an array, the array's; of `{"password":{"value":"b"}}`,
   * `password`; of `{"name":"a","value":"b"}` in any order, `a`.
   */
  name: string | null;
  /** A name that only stands near: the string before it in an array, the head of its column, or the plural around it. */
  nearName: string | null;
  /** Position of the encoded value, between the quotes. */
  start: number;
  end: number;
  isString: boolean;
}

export interface JsonVisitor {
  /** Called for each string and number that is a value. */
  scalar(scalar: JsonScalar): void;
  /** Called for each key of at least `keyCharsMin` characters. */
  key?(start: number, end: number): void;
}

/** Minimum length of a key that may be a token. */
const keyCharsMin = 20;

const spellings = (keys: string): Set<string> =>
  new Set(keys.split(' ').flatMap((key) => [key, key.toUpperCase(), key.charAt(0).toUpperCase() + key.slice(1)]));
/** Keys whose value names the object. */
const namingKeys = spellings('name key id field label type header property param parameter attribute k fieldName placeholder autocomplete');
/** Keys that say nothing about their value. */
const valueKeys = spellings(
  'value val v content contents text data raw plain string current default defaultValue initialValue input answer new old newValue oldValue ' +
    'before after from to set literal s stringValue _text #text $ $t $value _value _ __text @value',
);

/** Maximum length of a name: longer texts name nothing. */
const nameCharsMax = 200;
/** Maximum number of values in one object before the key that names them. */
const pendingMax = 16;
/** Maximum number of columns in a table's head. */
const columnsMax = 64;

interface Frame {
  isObject: boolean;
  /** The current key of an object, or the name that the elements of an array inherit. */
  key: string | null;
  /** The name that the key above this object gives. */
  inherited: string | null;
  /** Value of a key such as `name` in this object. */
  named: string | null;
  /** A key such as `tokens` around it. */
  plural: string | null;
  pending: JsonScalar[] | null;
  /** State of an array: how many elements came, the one before if it is a string, and all that may be heads of columns. */
  index: number;
  before: string | null;
  heads: string[] | null;
  /** Heads of columns that an array beside or before it stated. */
  columns: string[] | null;
}

const frameOf = (isObject: boolean, outer: Frame | null, name: string | null): Frame => ({
  isObject,
  key: isObject ? null : name,
  inherited: name,
  named: null,
  plural: pluralOf(name) ?? outer?.plural ?? null,
  pending: null,
  index: -1,
  before: null,
  heads: isObject ? null : [],
  columns: isObject ? null : (outer?.columns ?? null),
});

const pluralName = /(?:token|secret|password|passwd|key)s$/i;
const pluralOf = (name: string | null): string | null =>
  name !== null && pluralName.test(name) && kindOfName(name.slice(0, -1)) !== null ? name.slice(0, -1) : null;

const [quote, minus, zero, nine] = [34, 45, 48, 57];
const [openBracket, closeBracket, openBrace, closeBrace, comma] = [91, 93, 123, 125, 44];
const numberChars = charClass(/[\d.eE+-]/);

export function readJson(text: string, visitor: JsonVisitor): void {
  new JsonReading(text, visitor).run();
}

class JsonReading {
  readonly #text: string;
  readonly #visitor: JsonVisitor;
  readonly #frames: Frame[] = [];
  readonly #keys: string[] = [];
  #frame: Frame = frameOf(true, null, null);

  constructor(text: string, visitor: JsonVisitor) {
    this.#text = text;
    this.#visitor = visitor;
  }

  run(): void {
    const text = this.#text;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === openBrace || code === openBracket) this.#open(code === openBrace);
      else if (code === closeBrace || code === closeBracket) this.#close();
      else if (code === comma) this.#frame.index += 1;
      else if (code >= zero && code <= nine) {
        const start = text.charCodeAt(at - 1) === minus ? at - 1 : at;
        while (at + 1 < text.length && numberChars[text.charCodeAt(at + 1)] === 1) at += 1;
        this.#scalar({ start, end: at + 1, isString: false });
        this.#frame.before = null;
      } else if (code === quote) {
        const start = at + 1;
        at = endOfString(text, start);
        this.#string(start, at);
      }
    }
    // These objects and arrays are still open in JSON that is cut.
    for (const frame of [...this.#frames, this.#frame]) this.#flush(frame);
  }

  #open(isObject: boolean): void {
    const frame = this.#frame;
    const name = this.#name();
    this.#frames.push(frame);
    if (!frame.isObject) frame.before = null;
    this.#frame = frameOf(isObject, frame, name);
    this.#frame.index = 0;
  }

  #close(): void {
    const closed = this.#frame;
    this.#flush(closed);
    this.#frame = this.#frames.pop() ?? closed;
    const frame = this.#frame;
    if (frame === closed) return;
    if (!closed.isObject && closed.heads && closed.heads.length > 1 && closed.heads.some((head) => kindOfName(head) !== null))
      frame.columns = closed.heads;
    else if (closed.isObject && closed.named !== null) this.#addHead(frame, closed.named);
  }

  #addHead(frame: Frame, head: string): void {
    if (!frame.heads) return;
    if (frame.heads.length < columnsMax && head.length <= nameCharsMax && frame.index === frame.heads.length) frame.heads.push(head);
  }

  #string(start: number, end: number): void {
    const text = this.#text;
    const frame = this.#frame;
    if (frame.isObject && isKey(text, end + 1)) {
      frame.key = keyAt(text, { start, end }, this.#keys);
      if (end - start >= keyCharsMin) this.#visitor.key?.(start, end);
      return;
    }
    if (frame.isObject && namingKeys.has(frame.key ?? '') && end - start <= nameCharsMax) this.#setName(frame, text.slice(start, end));
    this.#scalar({ start, end, isString: true });
    if (frame.isObject) return;
    const isName = end - start <= nameCharsMax;
    frame.before = isName ? text.slice(start, end) : null;
    if (isName) this.#addHead(frame, text.slice(start, end));
  }

  /** The first one, but for one that states a secret: `{"id":"f1","type":"password"}`. */
  #setName(frame: Frame, name: string): void {
    if (frame.named === null || (kindOfName(frame.named) === null && kindOfName(name) !== null)) frame.named = name;
  }

  #name(): string | null {
    const { isObject, key, named, inherited } = this.#frame;
    if (!isObject || key === null || !valueKeys.has(key)) return key;
    return (named !== null && (kindOfName(named) !== null || inherited === null) ? named : inherited) ?? key;
  }

  #nearName(): string | null {
    const { isObject, before, columns, index, plural } = this.#frame;
    if (isObject) return plural;
    const column = columns?.[index];
    if (column !== undefined && kindOfName(column) !== null) return column;
    return before !== null && kindOfName(before) !== null ? before : plural;
  }

  #scalar({ start, end, isString }: { start: number; end: number; isString: boolean }): void {
    const frame = this.#frame;
    const scalar = { name: this.#name(), nearName: this.#nearName(), start, end, isString };
    const mayBeNamedLater = frame.isObject && frame.key !== null && valueKeys.has(frame.key) && kindOfName(scalar.name ?? '') === null;
    if (!mayBeNamedLater || (frame.pending?.length ?? 0) >= pendingMax) return this.#visitor.scalar(scalar);
    frame.pending ??= [];
    frame.pending.push(scalar);
  }

  /** Values whose object may have been named behind them. */
  #flush({ pending, named }: Frame): void {
    if (!pending) return;
    for (const scalar of pending) this.#visitor.scalar(named !== null && kindOfName(named) !== null ? { ...scalar, name: named } : scalar);
  }
}

const keysMax = 512;

/** One string for equal keys, which most objects of a list have: who looks it up hashes it once. */
function keyAt(text: string, { start, end }: { start: number; end: number }, keys: string[]): string {
  const slot = ((end - start) * 31 + text.charCodeAt(start) * 7 + text.charCodeAt(end - 1)) % keysMax;
  const known = keys[slot];
  if (known?.length === end - start && text.startsWith(known, start)) return known;
  const key = text.slice(start, end);
  return (keys[slot] = end - start <= nameCharsMax ? unescaped(key) : key);
}

/** Position of the closing quote, or the end of a text that is cut. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (end - 1 - slashes >= start && text.charCodeAt(end - 1 - slashes) === 92) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

function isKey(text: string, from: number): boolean {
  let i = from;
  while (i < text.length && i - from < 64 && text.charCodeAt(i) <= 32) i += 1;
  return text.charCodeAt(i) === 58;
}

/** The text of an encoded string; as it stands where its escapes are invalid. */
export function unescaped(encoded: string): string {
  if (!encoded.includes('\\')) return encoded;
  try {
    return JSON.parse(`"${encoded}"`) as string;
  } catch {
    return encoded;
  }
}

/**
 * Reads the tags and texts of HTML or XML with where they stand, without a tree, in time linear in the text whatever it
 * is. The only user of the tokenizer.
 */
import { QuoteType, Tokenizer } from 'htmlparser2';

/** A decoded text, and where it stands encoded. Both are of one length where nothing was decoded. */
export interface SourceText {
  value: string;
  start: number;
  end: number;
}

export interface StartTag {
  /** The name as it is written, with its prefix. */
  name: string;
  /** Values by names in lower case; one that is not written is empty. */
  attributes: Map<string, SourceText>;
  /** Whether a slash closes it. */
  isClosed: boolean;
  /** Position behind its `<`. */
  start: number;
}

export interface TokenVisitor {
  start(tag: StartTag): void;
  end(name: string, start: number): void;
  /** The text between two tags or comments. */
  text?(text: SourceText): void;
}

export interface TokenOptions {
  isXml?: boolean;
  /** Maximum attributes of an element; further ones are left out. */
  attributesMax?: number;
}

const nameCharsMax = 200;
/** Maximum characters of the texts between two tags, so that what is joined is bounded. */
const textCharsMax = 200_000;

export function readTokens(source: string, visitor: TokenVisitor, { isXml = false, attributesMax = Infinity }: TokenOptions = {}): void {
  const reading = new TokenReading(source, visitor, attributesMax);
  const tokenizer = new Tokenizer({ xmlMode: isXml, decodeEntities: true }, reading);
  tokenizer.write(source);
  tokenizer.end();
}

/** Receives what the tokenizer finds, in pieces between entities. */
class TokenReading {
  readonly #source: string;
  readonly #visitor: TokenVisitor;
  readonly #attributesMax: number;
  #tag: Omit<StartTag, 'isClosed'> = { name: '', attributes: new Map(), start: 0 };
  #attribute = '';
  #piece: { parts: string[]; start: number; end: number; chars: number } | null = null;

  constructor(source: string, visitor: TokenVisitor, attributesMax: number) {
    this.#source = source;
    this.#visitor = visitor;
    this.#attributesMax = attributesMax;
  }

  onopentagname(start: number, end: number): void {
    this.#endText();
    this.#tag = { name: this.#source.slice(start, end), attributes: new Map(), start };
  }

  onattribname(start: number, end: number): void {
    this.#attribute = this.#source.slice(start, Math.min(end, start + nameCharsMax)).toLowerCase();
    this.#piece = { parts: [], start: end, end, chars: 0 };
  }

  onattribdata(start: number, end: number): void {
    const piece = this.#piece;
    if (!piece) return;
    if (piece.parts.length === 0) piece.start = start;
    piece.parts.push(this.#source.slice(start, end));
    piece.end = end;
  }

  onattribentity(codepoint: number): void {
    const piece = this.#piece;
    if (!piece) return;
    if (piece.parts.length === 0) piece.start = this.#source.indexOf('&', piece.end);
    piece.parts.push(String.fromCodePoint(codepoint));
  }

  onattribend(quote: QuoteType, behind: number): void {
    const piece = this.#piece;
    this.#piece = null;
    const { attributes } = this.#tag;
    const before = attributes.get(this.#attribute);
    // The first one counts, unless it has no value.
    if (!piece || (before ? before.value !== '' : attributes.size >= this.#attributesMax)) return;
    const end = quote === QuoteType.Double || quote === QuoteType.Single ? behind - 1 : behind;
    attributes.set(this.#attribute, { value: piece.parts.join(''), start: piece.start, end });
  }

  onopentagend(): void {
    this.#visitor.start({ ...this.#tag, isClosed: false });
  }

  onselfclosingtag(): void {
    this.#visitor.start({ ...this.#tag, isClosed: true });
  }

  onclosetag(start: number, end: number): void {
    this.#endText();
    this.#visitor.end(this.#source.slice(start, end), start);
  }

  ontext(start: number, end: number): void {
    const piece = (this.#piece ??= { parts: [], start, end, chars: 0 });
    if (piece.chars > textCharsMax) return;
    piece.parts.push(this.#source.slice(start, end));
    piece.chars += end - start;
    piece.end = end;
  }

  ontextentity(codepoint: number, end: number): void {
    const piece = (this.#piece ??= { parts: [], start: this.#source.lastIndexOf('&', end - 1), end, chars: 0 });
    if (piece.chars > textCharsMax) return;
    piece.parts.push(String.fromCodePoint(codepoint));
    piece.chars += 1;
    piece.end = end;
  }

  oncdata(start: number, end: number, offset: number): void {
    this.ontext(start, end - offset);
  }

  oncomment(): void {
    this.#endText();
  }

  ondeclaration(): void {
    this.#endText();
  }

  onprocessinginstruction(): void {
    this.#endText();
  }

  onend(): void {
    this.#endText();
  }

  #endText(): void {
    const piece = this.#piece;
    this.#piece = null;
    if (piece) this.#visitor.text?.({ value: piece.parts.join(''), start: piece.start, end: piece.end });
  }
}

/** Reads from the beginning of an HTML document what shows whether it is complete without scripts. One pass, linear for any input. */
import { afterDeclaration, elementOf, indexAfter, isLetter, isSpace, rawElements, rawEnd, slash, startTagEnd, toText } from './tags.ts';

export interface Outline {
  title: string;
  hasScript: boolean;
  /** What it says about sending its visitor on by itself, as written. */
  refreshes: readonly string[];
  /** The address that relative ones stand in relation to, as written; null for its own. */
  base: string | null;
  /** Where an inline script sends the visitor, as written; empty where that is computed, null where none does. */
  scriptTarget: string | null;
  /** Has an empty root element, which a framework renders into. */
  hasEmptyRoot: boolean;
  /** Has something to fill in or to press. */
  hasControls: boolean;
  /** Asks visitors to enable scripts. */
  asksForScript: boolean;
  /** Characters outside of markup, roughly. */
  visibleChars: number;
}

/** Larger pages have all of this at their beginning. */
const charsMax = 256 * 1024;
const titleCharsMax = 2000;
/** Characters of a `noscript` that are read, and how many of these. */
const noticeCharsMax = 2000;
const noticesMax = 20;
/** A page has one. */
const refreshesMax = 8;
/** Limits of a script that is searched for where it leads, and of the address. Stubs that only redirect have short scripts. */
const scriptCharsMax = 10_000;
const targetCharsMax = 2000;

export function readOutline(html: string): Outline {
  const reader = new OutlineReader(html.slice(0, charsMax));
  reader.read();
  return reader;
}

const controls: ReadonlySet<string> = new Set(['button', 'input', 'select', 'textarea']);
const rootTags: ReadonlySet<string> = new Set(['div', 'main', 'section', 'app-root']);
const rootIds: ReadonlySet<string> = new Set(['root', 'app', '__next', '__nuxt', 'svelte', 'main-app']);
/** Elements with markup inside that is not displayed. */
const hiddenEnds = new Map(['template', 'svg'].map((name) => [name, new RegExp(`</${name}`, 'gi')]));
/** Tags that matter here. */
const tag =
  /(?:base|body|button|input|meta|select|script|style|template|svg|title|textarea|xmp|iframe|noembed|noframes|noscript|div|main|section|app-root)(?![\w-])/iy;
/** What stands before `JavaScript`, within so many characters. */
const request = /enable|require|need|turn on/i;
const requestCharsMax = 90;

class OutlineReader implements Outline {
  title = '';
  hasScript = false;
  refreshes: string[] = [];
  base: string | null = null;
  scriptTarget: string | null = null;
  hasEmptyRoot = false;
  hasControls = false;
  asksForScript = false;
  visibleChars = 0;
  readonly #html: string;
  #notices = 0;

  constructor(html: string) {
    this.#html = html;
  }

  read(): void {
    const html = this.#html;
    for (let at = 0; at !== -1 && at < html.length;) {
      const open = html.indexOf('<', at);
      this.#addText(at, open === -1 ? html.length : open);
      if (open === -1) return;
      const next = html.charCodeAt(open + 1);
      at = isLetter(next) ? this.#readStart(open) : next === slash ? indexAfter(html, '>', open) : afterDeclaration(html, open);
    }
  }

  /** The index behind the tag, or behind the element where its content is no markup; -1 when it does not end. */
  #readStart(open: number): number {
    const html = this.#html;
    const close = startTagEnd(html, open);
    if (close === -1) return -1;
    tag.lastIndex = open + 1;
    const name = tag.test(html) ? html.slice(open + 1, tag.lastIndex).toLowerCase() : '';
    if (name === '') return close;
    if (name === 'body') this.visibleChars = 0;
    if (name === 'meta') this.#readMeta(html.slice(open, close));
    // A refresh is resolved where it stands.
    if (name === 'base' && this.refreshes.length === 0) this.base ??= elementOf(html.slice(open, close)).attributes.get('href') ?? null;
    if (controls.has(name)) this.hasControls = true;
    if (rootTags.has(name)) this.hasEmptyRoot ||= this.#isEmptyRoot(name, open, close);
    if (rawElements.has(name)) return this.#readRaw(name, close);
    const hiddenEnd = hiddenEnds.get(name);
    if (!hiddenEnd) return close;
    hiddenEnd.lastIndex = close;
    return hiddenEnd.exec(html)?.index ?? -1;
  }

  #readMeta(source: string): void {
    const { attributes } = elementOf(source);
    const isRefresh = attributes.get('http-equiv')?.trim().toLowerCase() === 'refresh';
    if (isRefresh && this.refreshes.length < refreshesMax) this.refreshes.push(attributes.get('content') ?? '');
  }

  #readRaw(name: string, close: number): number {
    const html = this.#html;
    const end = rawEnd(html, name, close);
    if (name === 'script') this.hasScript = true;
    if (name === 'script') this.scriptTarget ??= targetOf(html.slice(close, Math.min(end, close + scriptCharsMax)));
    if (name === 'title' && this.title === '') this.title = toText(html.slice(close, Math.min(end, close + titleCharsMax)));
    if (name === 'noscript' && this.#notices < noticesMax) {
      this.#notices += 1;
      this.asksForScript ||= asksForScript(html.slice(close, Math.min(end, close + noticeCharsMax)));
    }
    return end;
  }

  #isEmptyRoot(name: string, open: number, close: number): boolean {
    const html = this.#html;
    let at = close;
    while (isSpace(html.charCodeAt(at))) at += 1;
    if (html.charCodeAt(at + 1) !== slash || html.slice(at, at + name.length + 3).toLowerCase() !== `</${name}>`) return false;
    return name === 'app-root' || rootIds.has(elementOf(html.slice(open, close)).attributes.get('id')?.toLowerCase() ?? '');
  }

  /** White space counts once, and not at the ends. */
  #addText(from: number, to: number): void {
    let [isText, isAfterSpace] = [false, false];
    for (let at = from; at < to; at += 1) {
      if (isSpace(this.#html.charCodeAt(at))) {
        isAfterSpace = isText;
        continue;
      }
      this.visibleChars += isAfterSpace ? 2 : 1;
      [isText, isAfterSpace] = [true, false];
    }
  }
}

const moving = /(?<![\w$])location(?:\.href)?\s*=(?!=)\s*|(?<![\w$])location\.(?:replace|assign)\s*\(\s*/;

/** Where a script leads by `location`, as far as it is written there. */
function targetOf(script: string): string | null {
  const match = moving.exec(script);
  if (!match) return null;
  const start = match.index + match[0].length;
  const behind = script.slice(start, start + targetCharsMax);
  const [, , address = ''] = /^(["'`])([^"'`\n\\$]*)\1\s*[;)\s}]/.exec(`${behind} `) ?? [];
  return address;
}

const asksForScript = (notice: string): boolean =>
  notice
    .split(/javascript/i)
    .slice(0, -1)
    .some((before) => request.test(before.slice(Math.max(before.length - requestCharsMax, before.lastIndexOf('<') + 1))));

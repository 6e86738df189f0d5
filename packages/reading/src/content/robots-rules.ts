/**
 * The rules of a robots.txt for one crawler (RFC 9309).
 *
 * A site writes both the rules and the path, so reading and matching are linear
 * in each and bounded: what exceeds a bound is ignored, as the RFC allows for
 * all behind the first 500 KiB. Both pause for other work every few milliseconds.
 */
import { findBytes } from '@berth/lib/text/find-bytes.ts';
import { section } from '@berth/lib/turns/sections.ts';
import { inTurns, nextTurn, SliceSize } from '@berth/lib/turns/turn-budget.ts';

export const robotsLimits = {
  /** Maximum number of rules for this crawler, and of rules for all crawlers, each. */
  rulesMax: 20_000,
  /** Maximum number of rules with `*` among them: these are searched for in the path. */
  wildcardRulesMax: 1000,
  patternCharsMax: 2048,
  pathCharsMax: 8192,
} as const;

/** Characters that are read between two pauses, in about a millisecond. */
const pauseChars = 32 * 1024;
/** Rules that are searched for between two looks at the clock. */
const searchesAtOnce = 5;

interface Rule {
  /** The canonical pattern without the final `$`. */
  pattern: string;
  isAnchored: boolean;
  isAllowed: boolean;
}

/** The product token that rules for this service name. */
export const robotsAgent = 'Berth';

/** Parses without pauses, for a thread of its own. */
export function parseRobotsAtOnce(text: string, agent: string): RobotsRules {
  const reader = new Reader(agent);
  reader.read(text, 0, text.length);
  return new RobotsRules(reader.rules);
}

/** Reads the groups of `agent`, or those of `*` where none names it. */
export async function parseRobots(text: string, agent: string): Promise<RobotsRules> {
  const reader = new Reader(agent);
  const slice = new SliceSize({ first: pauseChars });
  for (let at = 0; at < text.length;) {
    const from = at;
    at = section('robots', () => slice.next((chars) => reader.read(text, from, from + chars)));
    await nextTurn();
  }
  return new RobotsRules(reader.rules);
}

export class RobotsRules {
  readonly #rules: readonly Rule[];
  /** About what the rules hold in memory. */
  readonly bytes: number;

  constructor(rules: readonly Rule[]) {
    // The most specific rule decides, and of two that are equal the one that allows.
    this.#rules = detached(rules).sort((a, b) => lengthOf(b) - lengthOf(a) || Number(b.isAllowed) - Number(a.isAllowed));
    this.bytes = rules.reduce((sum, { pattern }) => sum + pattern.length + ruleBytes, ruleBytes);
  }

  allows(url: string): Promise<boolean> {
    return inTurns(this.#search(url));
  }

  /** Decides without pauses, for a thread of its own. */
  allowsAtOnce(url: string): boolean {
    const search = this.#search(url);
    for (;;) {
      const { done, value } = search.next();
      if (done) return value;
    }
  }

  /** Yields where it may pause. */
  *#search(url: string): Generator<void, boolean> {
    const { pathname, search } = new URL(url);
    if (pathname === '/robots.txt') return true;
    const path = canonicalPath(`${pathname}${search}`.slice(0, robotsLimits.pathCharsMax));
    const bytes = Buffer.from(path, 'latin1');
    let searches = 0;
    for (const { pattern, isAnchored, isAllowed } of this.#rules) {
      const star = pattern.indexOf('*');
      if (star === -1 && (isAnchored ? path === pattern : path.startsWith(pattern))) return isAllowed;
      if (star === -1 || !path.startsWith(pattern.slice(0, star))) continue;
      searches += 1;
      if (searches % searchesAtOnce === 0) yield;
      if (section('robots', () => hasParts(bytes, pattern.slice(star + 1).split('*'), { from: star, isAnchored }))) return isAllowed;
    }
    return true;
  }
}

/** Whether the path holds the parts in order, the last one at its end if it is anchored. The first place of each is enough. */
function hasParts(path: Buffer, parts: string[], { from, isAnchored }: { from: number; isAnchored: boolean }): boolean {
  const last = Buffer.from(isAnchored ? (parts.pop() ?? '') : '', 'latin1');
  let at = from;
  for (const part of parts) {
    const start = findBytes(path, Buffer.from(part, 'latin1'), at);
    if (start === -1) return false;
    at = start + part.length;
  }
  return at + last.length <= path.length && path.subarray(path.length - last.length).equals(last);
}

/** Memory of a rule's objects, beside its pattern. */
const ruleBytes = 80;

const lengthOf = ({ pattern, isAnchored }: Rule): number => pattern.length + Number(isAnchored);

/** Patterns are slices, which would keep the whole file in memory. */
function detached(rules: readonly Rule[]): Rule[] {
  const joined = Buffer.from(rules.map(({ pattern }) => pattern).join('\n'), 'latin1').toString('latin1');
  const patterns = joined.split('\n');
  return rules.map((rule, i) => ({ ...rule, pattern: patterns[i] ?? '' }));
}

/** Rules of one set of groups, in the order of the file. */
class RuleList {
  readonly rules: Rule[] = [];
  #wildcardRules = 0;

  add(value: string, isAllowed: boolean): void {
    if (this.rules.length >= robotsLimits.rulesMax) return;
    const hasWildcard = value.includes('*');
    if (hasWildcard && this.#wildcardRules >= robotsLimits.wildcardRulesMax) return;
    if (hasWildcard) this.#wildcardRules += 1;
    const isAnchored = value.endsWith('$');
    this.rules.push({ pattern: canonicalPattern(isAnchored ? value.slice(0, -1) : value), isAnchored, isAllowed });
  }
}

/** A longer line holds neither a rule nor an address that counts. */
const lineCharsMax = 8192 + 'sitemap: '.length;

/**
 * Calls `visit` for each line that says something, with its key in lower case, of those that begin in the range.
 * @returns the index behind them
 */
export function readRobotsLines(text: string, visit: (key: string, value: string) => void, from = 0, to = text.length): number {
  let start = from;
  while (start < text.length && start < to) {
    let end = start;
    while (end < text.length && !isLineEnd(text.charCodeAt(end))) end += 1;
    if (end > start && end - start <= lineCharsMax) {
      const [content = ''] = text.slice(start, end).split('#', 1);
      const colon = content.indexOf(':');
      if (colon >= 0) visit(content.slice(0, colon).trim().toLowerCase(), content.slice(colon + 1).trim());
    }
    start = end + 1;
  }
  return start;
}

class Reader {
  readonly #product: string;
  readonly #own = new RuleList();
  readonly #general = new RuleList();
  #isNamed = false;
  /** State of the current group. */
  #group = { isOwn: false, isGeneral: false, hasRules: true };

  constructor(agent: string) {
    this.#product = agent.toLowerCase();
  }

  get rules(): readonly Rule[] {
    return (this.#isNamed ? this.#own : this.#general).rules;
  }

  /** Reads the lines that begin in the range. Returns the index behind them. */
  read(text: string, from: number, to: number): number {
    return readRobotsLines(text, (key, value) => this.#readLine(key, value), from, to);
  }

  #readLine(key: string, value: string): void {
    if (key === 'user-agent') this.#addAgent(value);
    else if (key === 'allow' || key === 'disallow') this.#addRule(value, key === 'allow');
  }

  #addAgent(value: string): void {
    if (this.#group.hasRules) this.#group = { isOwn: false, isGeneral: false, hasRules: false };
    if (value === '*') this.#group.isGeneral = true;
    else if (productOf(value) === this.#product) this.#isNamed = this.#group.isOwn = true;
  }

  #addRule(value: string, isAllowed: boolean): void {
    this.#group.hasRules = true;
    if (value === '' || value.length > robotsLimits.patternCharsMax) return;
    if (this.#group.isOwn) this.#own.add(value, isAllowed);
    else if (this.#group.isGeneral) this.#general.add(value, isAllowed);
  }
}

const isLineEnd = (code: number): boolean => code === 0x0a || code === 0x0d;

/** `Berth/1.0 (+https://…)` as `berth`. */
const productOf = (value: string): string => /^[\w-]+/.exec(value)?.[0]?.toLowerCase() ?? '';

/** Escaped letters and digits are read as such, and all else that is no part of an address is escaped: both spellings are equal. */
const canonical = (text: string): string =>
  isPlain.test(text) ? text : text.toWellFormed().replace(/%[0-9a-f]{2}|[^\w.~:/?#[\]@!$&'()*+,;=%-]+/gi, canonicalPart);
const isPlain = /^[\w.~:/?#[\]@!$&'()*+,;=-]*$/;

function canonicalPart(part: string): string {
  if (part.length !== 3 || !part.startsWith('%')) return encodeURIComponent(part);
  const character = String.fromCharCode(Number.parseInt(part.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : part.toUpperCase();
}

/** Runs of `*` match what one matches; a `$` inside is a character. */
const canonicalPattern = (value: string): string => canonical(value).replace(/\*+/g, '*').replaceAll('$', '%24');
const canonicalPath = (path: string): string => canonical(path).replaceAll('*', '%2A').replaceAll('$', '%24');

/**
 * Snapshots: the accessibility tree as lines, cut to a number of tokens, with a
 * cursor for the rest, and what has changed since an earlier one. Of that only
 * hashes are kept.
 */
import type { Tab } from '../../tabs/tab.ts';
import type { Accessibility, SnapshotNumbers } from './accessibility.ts';
import type { AccessibilityNode, CallOptions, PageSnapshot, SnapshotRequest } from '../page.ts';
import { estimateTokens, hashOf, toLine } from './snapshot-text.ts';

/** Snapshots of a tab that later ones can be compared with: a model has the last few in mind. */
const keptMax = 4;
/** References that are named as gone. */
const removedMax = 50;
/** What stands before and behind the lines. */
const frameTokens = 40;

interface Kept {
  part: string;
  hashes: Float64Array;
  refs: readonly string[];
}

interface Line {
  node: AccessibilityNode;
  text: string;
  /** The line without its places on the screen and in the page; null where it has any. */
  said: string | null;
  tokens: number;
}

export class Snapshots {
  readonly #tab: Tab;
  readonly #accessibility: Accessibility;
  readonly #numbers: SnapshotNumbers;
  readonly #kept = new Map<string, Kept>();

  constructor(tab: Tab, accessibility: Accessibility, numbers: SnapshotNumbers) {
    this.#tab = tab;
    this.#accessibility = accessibility;
    this.#numbers = numbers;
  }

  /** @throws PageError */
  async take(request: SnapshotRequest, options: CallOptions): Promise<PageSnapshot> {
    const { mode, root, find, boxes, urls } = request;
    const tree = await this.#accessibility.tree({ ...options, mode, root, find, boxes, urls });
    const nodes = request.withRefs === false ? tree.nodes.map((node) => ({ ...node, ref: null })) : tree.nodes;
    const all = toLines(nodes, { mode, isSearch: find !== undefined });
    const part = `${mode} ${request.part ?? ''}`;
    const warnings = [
      ...(tree.isTruncated ? ['page_too_large'] : []),
      ...(tree.framesLeftOut > 0 ? [`frames_left_out:${tree.framesLeftOut}`] : []),
    ];
    const before = request.since === undefined ? undefined : this.#comparable(request.since, part);
    if (request.since !== undefined && before === undefined) warnings.push('since_not_found');
    const hashes = hashesOf(all);
    const isWanted = before ? changedIn(hashes, before) : find === undefined ? null : (at: number) => all[at]?.node.isMatch === true;
    const wanted = isWanted === null ? all : withAncestors(all, isWanted);
    const shown = cut(wanted, request);
    this.#accessibility.remember(shown.lines.map(({ node }) => node));
    const id = this.#keep(all, { part, hashes });
    return {
      ...{ id, tabId: this.#tab.id, url: this.#tab.url, title: tree.title },
      ...{ text: shown.lines.map(indent).join('\n'), nodes: shown.lines.map(({ node }) => node) },
      ...{ tokens: shown.tokens, left: shown.left, removed: before ? removedFrom(before, all) : null, warnings },
    };
  }

  #comparable(id: string, part: string): Kept | undefined {
    const kept = this.#kept.get(id);
    return kept?.part === part ? kept : undefined;
  }

  #keep(lines: readonly Line[], { part, hashes }: { part: string; hashes: readonly number[] }): string {
    const id = `s${this.#numbers.nextSnapshot()}`;
    const refs = lines.flatMap(({ node: { ref } }) => (ref === null ? [] : [ref]));
    this.#kept.set(id, { part, hashes: Float64Array.from(hashes), refs });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= keptMax) break;
      this.#kept.delete(oldest);
    }
    return id;
  }
}

function toLines(nodes: readonly AccessibilityNode[], { mode, isSearch }: { mode: string; isSearch: boolean }): Line[] {
  const counts = new Map<string, number>();
  const keys = nodes.map(({ role, name }) => `${role} ${name}`);
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return nodes.map((node, at) => {
    const isPlaced = isSearch || (mode === 'interactive' && (counts.get(keys[at] ?? '') ?? 0) > 1);
    const withPlace = isPlaced && node.place !== undefined;
    const text = toLine(node, { withPlace });
    return { node, text, said: node.box === null && !withPlace ? text : null, tokens: 2 + node.depth + estimateTokens(text) };
  });
}

const indent = ({ node, text }: Line): string => `${'  '.repeat(Math.min(node.depth, 40))}- ${text}`;

/** A hash for each line: of what it says, of the element around it, and of how many there were before. Places on the screen do not count. */
function hashesOf(lines: readonly Line[]): number[] {
  const around: string[] = [];
  const seen = new Map<string, number>();
  return lines.map(({ node, said: known }) => {
    const said = known ?? toLine({ ...node, box: null }, { withPlace: false });
    const key = node.ref === null ? `${around[node.depth - 1] ?? ''}\n${said}` : said;
    around.length = Math.min(around.length, node.depth);
    around[node.depth] = said;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    return hashOf(`${key}\n${count}`);
  });
}

function changedIn(hashes: readonly number[], before: Kept): (at: number) => boolean {
  const known = new Set(before.hashes);
  return (at) => !known.has(hashes[at] ?? 0);
}

function removedFrom(before: Kept, lines: readonly Line[]): string[] {
  const present = new Set(lines.map(({ node: { ref } }) => ref));
  return before.refs.filter((ref) => !present.has(ref)).slice(0, removedMax);
}

/** The wanted lines, and for each the lines that it stands below. */
function withAncestors(lines: readonly Line[], isWanted: (at: number) => boolean): Line[] {
  const kept: Line[] = [];
  // From the end: a line is kept where one that was kept stands below it.
  let below = 0;
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const line = lines[at];
    if (!line || !(isWanted(at) || line.node.depth < below)) continue;
    kept.push(line);
    below = line.node.depth;
  }
  return kept.toReversed();
}

/** The lines from the cursor on, as many as the tokens suffice for; those around the first one come before it. */
function cut(lines: readonly Line[], { after, maxTokens }: SnapshotRequest): Pick<PageSnapshot, 'tokens' | 'left'> & { lines: Line[] } {
  const from = after === undefined ? 0 : startOf(lines, after);
  const shown = ancestorsOf(lines, from);
  let tokens = frameTokens + shown.reduce((sum, line) => sum + line.tokens, 0);
  let at = from;
  for (; at < lines.length; at += 1) {
    const line = lines[at];
    if (!line || (at > from && tokens + line.tokens > maxTokens)) break;
    shown.push(line);
    tokens += line.tokens;
  }
  const rest = lines.slice(at);
  const last = lines[at - 1];
  if (rest.length === 0 || !last) return { lines: shown, tokens, left: null };
  const left = {
    nodes: rest.length,
    tokens: rest.reduce((sum, line) => sum + line.tokens, 0),
    after: `${at}.${hashOf(last.text).toString(36)}`,
  };
  return { lines: shown, tokens, left };
}

/** The page may have changed since: the line after the nearest one that is the last of the snapshot before, or the one at its position. */
function startOf(lines: readonly Line[], after: string): number {
  const [, digits = '0', hash = ''] = /^(\d{1,6})\.([0-9a-z]{1,12})$/.exec(after) ?? [];
  const position = Math.min(Number(digits), lines.length);
  for (let distance = 0; distance < lines.length; distance += 1)
    for (const at of [position - distance, position + distance]) {
      const line = lines[at - 1];
      if (line && hashOf(line.text).toString(36) === hash) return at;
    }
  return position;
}

function ancestorsOf(lines: readonly Line[], from: number): Line[] {
  const around: Line[] = [];
  let below = lines[from]?.node.depth ?? 0;
  for (let at = from - 1; at >= 0 && below > 0; at -= 1) {
    const line = lines[at];
    if (!line || line.node.depth >= below) continue;
    around.unshift(line);
    below = line.node.depth;
  }
  return around;
}

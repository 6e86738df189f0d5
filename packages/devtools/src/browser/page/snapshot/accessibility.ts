/** The page as an accessibility tree with references to its elements, with its frames in their place. */
import * as trees from '@berth/page-scripts/read/accessibility.ts';
import type { DocumentTree, RefSearch, TreeNode } from '@berth/page-scripts/read/accessibility.ts';
import * as cssPaths from '@berth/page-scripts/locate/css-paths.ts';
import * as names from '@berth/page-scripts/read/names.ts';
import * as natives from '@berth/page-scripts/locate/natives.ts';
import * as refs from '@berth/page-scripts/locate/refs.ts';
import type { RefIdentity } from '@berth/page-scripts/locate/refs.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import { cutText } from '@berth/lib/text/text.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { type Connection, ProtocolError } from '../../cdp/connection.ts';
import type { Elements } from '../elements.ts';
import type { ExecutionContexts } from '../execution-contexts.ts';
import type { Frames } from '../frames.ts';
import { toTreeNode } from './tree-node.ts';
import {
  PageError,
  RefError,
  type AccessibilityNode,
  type AccessibilityTree,
  type AccessibilityTreeOptions,
  type Box,
  type CallOptions,
  type ElementRef,
  type FrameRef,
} from '../page.ts';

const scripts = { ...scriptsOf(trees, names, refs, cssPaths, natives), ...scriptsOf(refs, names, natives) };

/** Pages with more frames are made of advertisements. */
const framesMax = 30;
/** Frames in frames in frames are loops. */
const frameDepthMax = 5;
/** Frames that are read at a time: each holds a browser process, and its answer is in memory. */
const groupSize = 6;
/** A page of 20,000 nodes is read as a whole; what is larger says that it was cut. */
const nodesMax = 25_000;
const charsMax = 1_500_000;
/** Characters take up to three bytes, and each node has names of fields around it. */
const answerBytesMax = 16 * 1024 * 1024;
/** What is read to look for one element. */
const searchedMax = { nodesMax: 5000, charsMax: 300_000 };
/** Closed shadow roots in closed shadow roots. */
const closedDepthMax = 3;
/** References whose roles and names are kept, to say what is like one whose document is gone. */
const rememberedMax = 2000;
/** Frames of a tab that are known by their numbers. */
const numberedFramesMax = 1000;

/**
 * The numbers of a browser's frames and snapshots. No tab has those of another
 * one, so a reference or snapshot of another tab is unknown, not mistaken.
 */
export class SnapshotNumbers {
  static readonly #of = new WeakMap<Connection, SnapshotNumbers>();
  #frames = 0;
  #snapshots = 0;

  static of(connection: Connection): SnapshotNumbers {
    const numbers = SnapshotNumbers.#of.get(connection) ?? new SnapshotNumbers();
    SnapshotNumbers.#of.set(connection, numbers);
    return numbers;
  }

  /** The first one is 0: its references have no prefix. */
  nextFrame(): number {
    this.#frames += 1;
    return this.#frames - 1;
  }

  nextSnapshot(): number {
    this.#snapshots += 1;
    return this.#snapshots;
  }
}

const identityOf = ({ role, name, place = '', isOwnRow = false, alike: [nth, of] = [1, 1] }: AccessibilityNode): RefIdentity => ({
  ...{ role, name, nth, of },
  place: isOwnRow ? name : place,
});

interface FrameNumber {
  frameId: string;
  number: number;
  /** The next reference of its documents. */
  nextRef: number;
}

interface Reading {
  options: Omit<AccessibilityTreeOptions, keyof CallOptions>;
  by: Deadline;
  framesLeft: number;
  framesLeftOut: number;
  isTruncated: boolean;
}

interface AccessibilityDeps {
  frames: Frames;
  contexts: ExecutionContexts;
  elements: Elements;
  numbers: SnapshotNumbers;
}

export class Accessibility {
  readonly #frames: Frames;
  readonly #contexts: ExecutionContexts;
  readonly #elements: Elements;
  readonly #numbers = new Map<string, FrameNumber>();
  readonly #remembered = new Map<string, RefIdentity>();
  readonly #given: SnapshotNumbers;

  constructor({ frames, contexts, elements, numbers }: AccessibilityDeps) {
    this.#frames = frames;
    this.#contexts = contexts;
    this.#elements = elements;
    this.#given = numbers;
  }

  /** @throws PageError */
  async tree(options: AccessibilityTreeOptions): Promise<AccessibilityTree> {
    const { signal, timeoutMs, ...rest } = options;
    const by = new Deadline({ signal, timeoutMs });
    const reading: Reading = { options: rest, by, framesLeft: framesMax, framesLeftOut: 0, isTruncated: false };
    const frameId = rest.root?.frameId ?? this.#frames.tab.id;
    const { title, nodes } = await this.#document(frameId, reading, { root: rest.root ?? null, frameDepth: 0 });
    return { title, nodes, isTruncated: reading.isTruncated, framesLeftOut: reading.framesLeftOut };
  }

  /** Keeps what is known of references that a caller has received. */
  remember(nodes: readonly AccessibilityNode[]): void {
    for (const node of nodes) {
      const { ref } = node;
      if (ref === null) continue;
      this.#remembered.delete(ref);
      this.#remembered.set(ref, identityOf(node));
    }
    for (const ref of this.#remembered.keys()) {
      if (this.#remembered.size <= rememberedMax) break;
      this.#remembered.delete(ref);
    }
  }

  /** The element of a reference. The caller releases it. @throws RefError, PageError */
  async resolve(ref: string, options: CallOptions): Promise<ElementRef> {
    const by = new Deadline(options);
    const [, frame = '0', digits = ''] = /^(?:f(\d{1,7}))?e(\d{1,9})$/.exec(ref) ?? [];
    const [frameNumber, number] = [Number(frame), Number(digits)];
    const owner = [...this.#numbers.values()].find((each) => each.number === frameNumber);
    if (!owner || digits === '' || number >= owner.nextRef) throw new RefError('unknown', ref, []);
    const search = await this.#search(owner, number, { before: this.#remembered.get(ref) ?? null, by });
    if (!search) throw new RefError('stale', ref, []);
    owner.nextRef = Math.max(owner.nextRef, search.nextRef);
    const [element] = search.isFound ? await this.#contexts.find(owner.frameId, scripts.elementOfRef, [number], by.rest()) : [];
    if (element) return element;
    throw new RefError('stale', ref, this.#candidates(owner, search.near));
  }

  /** null where the frame is gone. */
  async #search(
    { frameId, nextRef }: FrameNumber,
    number: number,
    { before, by }: { before: RefIdentity | null; by: Deadline },
  ): Promise<RefSearch | null> {
    const options = { mode: 'interactive', firstRef: nextRef, ...searchedMax };
    try {
      return await this.#contexts.call<RefSearch>(frameId, scripts.resolveRef, [number, before as never, options], by.rest());
    } catch (error) {
      if (error instanceof PageError && error.reason === 'frame_detached') return null;
      throw error;
    }
  }

  #candidates(owner: FrameNumber, near: unknown): { ref: string; role: string; name: string }[] {
    return (Array.isArray(near) ? (near as unknown[]) : []).slice(0, 5).flatMap((each) => {
      const node = toTreeNode(each);
      return node.ref === undefined ? [] : [{ ref: this.#refOf(owner, node.ref), role: node.role, name: node.name }];
    });
  }

  #numberOf(frameId: string): FrameNumber {
    const known = this.#numbers.get(frameId);
    if (known) return known;
    const created = { frameId, number: this.#given.nextFrame(), nextRef: 1 };
    this.#numbers.set(frameId, created);
    for (const id of this.#numbers.keys()) {
      if (this.#numbers.size <= numberedFramesMax) break;
      if (id !== this.#frames.tab.id) this.#numbers.delete(id);
    }
    return created;
  }

  #refOf({ number }: FrameNumber, ref: number): string {
    return number === 0 ? `e${ref}` : `f${number}e${ref}`;
  }

  async #document(
    frameId: string,
    reading: Reading,
    { root, frameDepth }: { root: ElementRef | null; frameDepth: number },
  ): Promise<{ title: string; nodes: AccessibilityNode[] }> {
    const tree = await this.#readDocument(frameId, root, reading);
    reading.isTruncated ||= tree.isTruncated;
    const frames = tree.frames > 0 ? await this.#framesIn(frameId, reading.by) : [];
    const owner = this.#numberOf(frameId);
    const given: unknown[] = Array.isArray(tree.nodes) ? tree.nodes.slice(0, nodesMax) : [];
    const own = given.map(toTreeNode);
    const inner = await this.#readFrames(own, frames, { reading, frameDepth });
    const boxes = reading.options.boxes === true ? await this.#boxesOf(frameId, own, reading.by) : null;
    const nodes: AccessibilityNode[] = [];
    for (const [index, node] of own.entries()) {
      const { ref } = node;
      // The node is this function's own: a copy of each would be half of the memory that a large page takes.
      const places = { frameId, ref: ref === undefined ? null : this.#refOf(owner, ref), box: boxes?.[index] ?? null };
      nodes.push(Object.assign(node as Omit<TreeNode, 'ref' | 'box'>, places));
      for (const each of inner.get(index) ?? []) nodes.push({ ...each, depth: each.depth + node.depth + 1 });
    }
    const { title } = tree as { title: unknown };
    return { title: typeof title === 'string' ? cutText(title, 500) : '', nodes };
  }

  async #readDocument(frameId: string, root: ElementRef | null, { options, by }: Reading): Promise<DocumentTree> {
    const owner = this.#numberOf(frameId);
    const { mode, find, boxes = false, urls = false, paths = false } = options;
    for (let round = 0; ; round += 1) {
      const request = { mode, firstRef: owner.nextRef, nodesMax, charsMax, boxes, urls, paths, ...(find === undefined ? {} : { find }) };
      const call = { ...by.rest(), maxBytes: answerBytesMax };
      const tree = await this.#contexts.call<DocumentTree>(frameId, scripts.readTree, [request, root], call);
      if (Number.isSafeInteger(tree.nextRef)) owner.nextRef = Math.max(owner.nextRef, tree.nextRef);
      if (!(tree.hosts > 0) || round >= closedDepthMax || !(await this.#enterClosedRoots(frameId, by))) return tree;
    }
  }

  /** Hands the closed shadow roots of the page, which only the browser knows, to its isolated context. False: there are none. */
  async #enterClosedRoots(frameId: string, by: Deadline): Promise<boolean> {
    const hosts = await this.#contexts.find(frameId, scripts.takeHosts, [], by.rest());
    const roots = await Promise.all(
      hosts.map((host) =>
        this.#elements.closedShadowRoot(host, by.rest()).catch((error: unknown) => {
          // Gone since.
          if (error instanceof PageError && error.reason === 'element_detached') return null;
          throw error;
        }),
      ),
    );
    const pairs = hosts.flatMap((host, index) => (roots[index] ? [host, roots[index]] : []));
    if (pairs.length > 0) await this.#contexts.call(frameId, scripts.rememberClosedRoots, pairs, by.rest());
    this.#elements.release([...hosts, ...pairs]);
    return pairs.length > 0;
  }

  async #framesIn(frameId: string, by: Deadline): Promise<(FrameRef | null)[]> {
    const elements = await this.#contexts.find(frameId, scripts.takeElements, [], by.rest());
    try {
      return await this.#elements.contentFrames(elements, by.rest());
    } finally {
      this.#elements.release(elements);
    }
  }

  /** The nodes of the frames, by the positions of the nodes that hold them. */
  async #readFrames(
    nodes: readonly TreeNode[],
    frames: readonly (FrameRef | null)[],
    { reading, frameDepth }: { reading: Reading; frameDepth: number },
  ): Promise<Map<number, AccessibilityNode[]>> {
    const inner = new Map<number, AccessibilityNode[]>();
    const holders = nodes.flatMap(({ frame }, index) => (frame === undefined ? [] : [{ index, frame: frames[frame] ?? null }]));
    const read = holders.slice(0, frameDepth < frameDepthMax ? reading.framesLeft : 0);
    reading.framesLeft -= read.length;
    reading.framesLeftOut += holders.length - read.length;
    for (let from = 0; from < read.length; from += groupSize)
      await Promise.all(
        read.slice(from, from + groupSize).map(async ({ index, frame }) => {
          const found = frame && (await this.#readFrame(frame, reading, frameDepth + 1));
          if (found) inner.set(index, found);
          else reading.framesLeftOut += 1;
        }),
      );
    return inner;
  }

  /** null for a frame that hangs, is gone or is too large: it must not hide the others. */
  async #readFrame({ id }: FrameRef, reading: Reading, frameDepth: number): Promise<AccessibilityNode[] | null> {
    const { by } = reading;
    // What it adds counts only if it answers.
    const own: Reading = { ...reading, by: by.within(by.leftMs / 2), framesLeftOut: 0, isTruncated: false };
    try {
      const { nodes } = await this.#document(id, own, { root: null, frameDepth });
      reading.framesLeft = Math.min(reading.framesLeft, own.framesLeft);
      reading.framesLeftOut += own.framesLeftOut;
      reading.isTruncated ||= own.isTruncated;
      return nodes;
    } catch (error) {
      by.signal.throwIfAborted();
      if (error instanceof PageError || error instanceof ProtocolError) return null;
      throw error;
    }
  }

  /** The boxes in the viewport of the main frame. */
  async #boxesOf(frameId: string, nodes: readonly TreeNode[], by: Deadline): Promise<(Box | null)[]> {
    const corners = nodes.flatMap(({ box: [x, y, width, height] = [0, 0, 0, 0] }) => [
      { x, y },
      { x: x + width, y: y + height },
    ]);
    const inMain = await this.#elements.toMain(frameId, corners, by.rest());
    return nodes.map(({ box }, index) => {
      const [start, end] = [inMain[2 * index], inMain[2 * index + 1]];
      if (!box || !start || !end) return null;
      const round = (value: number): number => Math.round(value);
      return { x: round(start.x), y: round(start.y), width: round(end.x - start.x), height: round(end.y - start.y) };
    });
  }
}

/** The browser's accessibility tree of the page, with its frames in their place: what assistive technology reads. */
import type { Protocol } from 'devtools-protocol';
import * as clickables from '@berth/page-scripts/locate/clickables.ts';
import * as shared from '@berth/page-scripts/locate/natives.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import { cutText } from '@berth/lib/text/text.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { ProtocolError } from '../cdp/connection.ts';
import { searchRoot } from './elements.ts';
import type { ExecutionContexts } from './execution-contexts.ts';
import type { Frames } from './frames.ts';
import { PageError, type AccessibilityNode, type AccessibilityTree, type CallOptions, type ElementRef, type FrameRef } from './page.ts';

type AxNode = Protocol.Accessibility.AXNode;

const textCharsMax = 500;
/** They say nothing beyond their content. */
const silentRoles = new Set(['none', 'generic', 'presentation', 'InlineTextBox', 'LineBreak', 'LayoutTable', 'RootWebArea', 'ListMarker']);
const stateNames: ReadonlySet<string> = new Set(['checked', 'disabled', 'expanded', 'level', 'pressed', 'required', 'selected', 'invalid']);

/** Each is a tree of its own, and more are pages made of advertisements. */
const framesMax = 30;

/** The most of one frame: a page where everything is to be clicked says it by its text. */
const clickablesMax = 300;
const { clickablesIn, clickableNames } = scriptsOf(clickables, shared);

/** An element that takes clicks but no focus. */
interface Clickable {
  element: ElementRef;
  name: string;
}

/** The tree of a frame's document, and the element that holds the frame. */
interface FrameTree {
  frame: FrameRef;
  ownerNodeId: number | null;
  nodes: readonly AxNode[];
  /** The elements that are clickable without focus, by the ids of their nodes. */
  clickables: ReadonlyMap<number, Clickable>;
}

/** @throws PageError */
export async function readAccessibilityTree(
  contexts: ExecutionContexts,
  frames: Frames,
  { nodesMax, ...options }: CallOptions & { nodesMax: number },
): Promise<AccessibilityTree> {
  const by = new Deadline(options);
  const [main, ...others] = await frames.list(by);
  if (!main) throw new PageError('frame_detached', 'The page has no frame.');
  const top: FrameTree = { frame: main, ownerNodeId: null, ...(await readTree(contexts, main.id, by)) };
  const inner = await Promise.all(others.slice(0, framesMax).map((frame) => readFrame(contexts, frame, by)));
  const read = inner.filter((tree) => tree !== null);
  const { shown, isTruncated } = flatten([top, ...read], nodesMax);
  const nodes = await Promise.all(
    shown.map(async ({ node, frameId, depth, clickable }): Promise<AccessibilityNode> => {
      const described = { value: textOf(node.value), states: statesOf(node), depth };
      if (clickable) {
        const role = silentRoles.has(textOf(node.role)) ? 'generic' : textOf(node.role);
        const states = { ...described.states, clickable: 'true' };
        return { ...described, role, name: nameOf(node, clickable), states, element: clickable.element };
      }
      const id = node.backendDOMNodeId;
      const element = isOperable(node) && id !== undefined ? await contexts.resolve(frameId, id, by) : null;
      return { ...described, role: textOf(node.role), name: textOf(node.name), element };
    }),
  );
  releaseUnused(frames, [top, ...read], shown);
  const used = new Set(nodes.flatMap(({ element }) => (element ? [element.frameId] : [])));
  return { nodes, isTruncated, framesLeftOut: others.length - read.length, frames: await ownersOf(contexts, read, { used, by }) };
}

async function readTree(contexts: ExecutionContexts, frameId: string, by: Deadline): Promise<Pick<FrameTree, 'nodes' | 'clickables'>> {
  const { session } = await contexts.context(frameId, by);
  const [top] = await contexts.find(frameId, searchRoot, [], by.rest());
  if (!top) throw new PageError('too_large', 'The page is too large for its accessibility tree.');
  session.sendNoReply('Runtime.releaseObject', { objectId: top.objectId });
  try {
    const { nodes } = await session.send('Accessibility.getFullAXTree', { frameId }, by);
    return { nodes, clickables: await readClickables(contexts, frameId, by) };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new PageError('context_lost', 'The page navigated during the call.', { cause: error });
  }
}

/** The clickable elements of a frame, by the ids of their nodes. @throws PageError, ProtocolError */
async function readClickables(contexts: ExecutionContexts, frameId: string, by: Deadline): Promise<ReadonlyMap<number, Clickable>> {
  const { session } = await contexts.context(frameId, by);
  const options = (): CallOptions => by.rest();
  const elements = await contexts.find(frameId, clickablesIn, [clickablesMax], options());
  if (elements.length === 0) return new Map();
  const names = await contexts.call<string[]>(frameId, clickableNames, elements, options());
  const ids = await Promise.all(elements.map(({ objectId }) => session.send('DOM.describeNode', { objectId, depth: 0 }, by)));
  return new Map(elements.map((element, index) => [ids[index]?.node.backendNodeId ?? 0, { element, name: names[index] ?? '' }]));
}

function releaseUnused(frames: Frames, trees: readonly FrameTree[], shown: readonly Shown[]): void {
  const used = new Set(shown.map(({ clickable }) => clickable));
  for (const { clickables: all } of trees)
    for (const each of all.values())
      if (!used.has(each))
        frames.cachedSession(each.element.frameId)?.sendNoReply('Runtime.releaseObject', { objectId: each.element.objectId });
}

/** The tree of a frame; null for one that hangs, is gone or is too large: it must not hide the others. */
async function readFrame(contexts: ExecutionContexts, frame: FrameRef, by: Deadline): Promise<FrameTree | null> {
  const within = by.within(by.leftMs / 2);
  try {
    const { session } = await contexts.context(frame.parentId ?? '', within);
    const { backendNodeId: ownerNodeId } = await session.send('DOM.getFrameOwner', { frameId: frame.id }, within);
    return { frame, ownerNodeId, ...(await readTree(contexts, frame.id, within)) };
  } catch (error) {
    by.signal.throwIfAborted();
    if (error instanceof PageError || error instanceof ProtocolError) return null;
    throw error;
  }
}

/** The elements that hold the frames with operable elements, and those around them. */
async function ownersOf(
  contexts: ExecutionContexts,
  trees: readonly FrameTree[],
  { used, by }: { used: ReadonlySet<string>; by: Deadline },
): Promise<ReadonlyMap<string, ElementRef>> {
  const owners = new Map<string, ElementRef>();
  const needed = new Set(used);
  // Parents come before their children.
  for (const { frame } of trees.toReversed()) if (needed.has(frame.id)) needed.add(frame.parentId ?? '');
  for (const { frame, ownerNodeId } of trees) {
    const owner = needed.has(frame.id) && ownerNodeId !== null ? await contexts.resolve(frame.parentId ?? '', ownerNodeId, by) : null;
    if (owner) owners.set(frame.id, owner);
  }
  return owners;
}

interface Shown {
  node: AxNode;
  frameId: string;
  depth: number;
  clickable: Clickable | undefined;
}

/** The nodes of all frames in document order, without recursion, which would overflow in a deep tree. */
function flatten(trees: readonly FrameTree[], nodesMax: number): { shown: Shown[]; isTruncated: boolean } {
  const keyOf = (frameId: string, id: number | string): string => `${frameId} ${id}`;
  const byId = new Map(trees.flatMap(({ frame, nodes }) => nodes.map((node) => [keyOf(frame.id, node.nodeId), node] as const)));
  const byOwner = new Map(trees.map((tree) => [keyOf(tree.frame.parentId ?? '', tree.ownerNodeId ?? ''), tree]));
  const rootOf = (tree: FrameTree | undefined): { node: AxNode; frameId: string }[] =>
    (tree?.nodes ?? [])
      .filter(({ parentId }) => parentId === undefined)
      .slice(0, 1)
      .map((node) => ({ node, frameId: tree?.frame.id ?? '' }));
  const clickableOf = new Map(trees.flatMap(({ frame, clickables: all }) => [...all].map(([id, each]) => [keyOf(frame.id, id), each])));
  const shown: Shown[] = [];
  const waiting = rootOf(trees[0]).map((root) => ({ ...root, depth: 0, said: '' }));
  // A tree that refers to itself ends, too.
  const seen = new Set<string>();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node, frameId, depth, said } = next;
    if (seen.has(keyOf(frameId, node.nodeId))) continue;
    seen.add(keyOf(frameId, node.nodeId));
    const clickable = isOperable(node) ? undefined : clickableOf.get(keyOf(frameId, node.backendDOMNodeId ?? '-'));
    const isShown = clickable !== undefined || saysSomething(node, said);
    if (isShown && shown.length >= nodesMax) return { shown, isTruncated: true };
    if (isShown) shown.push({ node, frameId, depth, clickable });
    const inner = { depth: depth + Number(isShown), said: isShown ? nameOf(node, clickable) : said };
    for (const root of rootOf(byOwner.get(keyOf(frameId, node.backendDOMNodeId ?? '-')))) waiting.push({ ...root, ...inner });
    for (const id of (node.childIds ?? []).toReversed()) {
      const child = byId.get(keyOf(frameId, id));
      if (child) waiting.push({ node: child, frameId, ...inner });
    }
  }
  return { shown, isTruncated: false };
}

/** `said`: the name of the element around it, which often is the same text. */
function saysSomething(node: AxNode, said: string): boolean {
  const role = textOf(node.role);
  if (node.ignored || silentRoles.has(role)) return false;
  const name = textOf(node.name).trim();
  return role !== 'StaticText' || (name !== '' && !said.includes(name));
}

const nameOf = (node: AxNode, clickable: Clickable | undefined): string => textOf(node.name) || (clickable?.name ?? '');

const isOperable = ({ properties = [] }: AxNode): boolean =>
  properties.some(({ name, value }) => name === 'focusable' && value.value === true);

const textOf = (value: Protocol.Accessibility.AXValue | undefined): string =>
  typeof value?.value === 'string' || typeof value?.value === 'number' ? cutText(String(value.value), textCharsMax) : '';

const statesOf = ({ properties = [] }: AxNode): Record<string, string> =>
  Object.fromEntries(
    properties
      .filter(({ name, value }) => stateNames.has(name) && value.value !== false && value.value !== 'false')
      .map(({ name, value }) => [name, String(value.value).slice(0, 50)]),
  );

/** The browser's accessibility tree of the main document: what assistive technology reads. */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '../../lib/text.ts';
import { Deadline } from '../../lib/deadline.ts';
import { ProtocolError } from '../cdp/connection.ts';
import { searchRoot } from './elements.ts';
import type { ExecutionContexts } from './execution-contexts.ts';
import { PageError, type AccessibilityNode, type AccessibilityTree, type CallOptions } from './model.ts';

type AxNode = Protocol.Accessibility.AXNode;

const textCharsMax = 500;
/** They say nothing beyond their content. */
const silentRoles = new Set(['none', 'generic', 'presentation', 'InlineTextBox', 'LineBreak', 'LayoutTable', 'RootWebArea', 'ListMarker']);
const stateNames: ReadonlySet<string> = new Set(['checked', 'disabled', 'expanded', 'level', 'pressed', 'required', 'selected', 'invalid']);

/** @throws PageError */
export async function readAccessibilityTree(
  contexts: ExecutionContexts,
  frameId: string,
  { nodesMax, ...options }: CallOptions & { nodesMax: number },
): Promise<AccessibilityTree> {
  const by = new Deadline(options);
  const { session } = await contexts.context(frameId, by);
  const [top] = await contexts.find(frameId, searchRoot, [], { signal: by.signal, timeoutMs: by.leftMs });
  if (!top) throw new PageError('too_large', 'The page is too large for its accessibility tree.');
  session.sendNoReply('Runtime.releaseObject', { objectId: top.objectId });
  let all: AxNode[];
  try {
    ({ nodes: all } = await session.send('Accessibility.getFullAXTree', { frameId }, by));
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new PageError('context_lost', 'The page navigated during the call.', { cause: error });
  }
  const { shown, isTruncated } = flatten(all, nodesMax);
  const nodes = await Promise.all(
    shown.map(async ({ node, depth }): Promise<AccessibilityNode> => {
      const id = node.backendDOMNodeId;
      const element = isOperable(node) && id !== undefined ? await contexts.resolve(frameId, id, by) : null;
      return { role: textOf(node.role), name: textOf(node.name), value: textOf(node.value), states: statesOf(node), depth, element };
    }),
  );
  return { nodes, isTruncated };
}

/** In document order. Recursion would overflow in a deep tree. */
function flatten(all: readonly AxNode[], nodesMax: number): { shown: { node: AxNode; depth: number }[]; isTruncated: boolean } {
  const byId = new Map(all.map((node) => [node.nodeId, node]));
  const root = all.find(({ parentId }) => parentId === undefined);
  const shown: { node: AxNode; depth: number }[] = [];
  const waiting = root ? [{ node: root, depth: 0, said: '' }] : [];
  // A tree that refers to itself ends, too.
  const seen = new Set<string>();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node, depth, said } = next;
    if (seen.has(node.nodeId)) continue;
    seen.add(node.nodeId);
    const isShown = saysSomething(node, said);
    if (isShown && shown.length >= nodesMax) return { shown, isTruncated: true };
    if (isShown) shown.push({ node, depth });
    const inner = { depth: depth + Number(isShown), said: isShown ? textOf(node.name) : said };
    for (const id of (node.childIds ?? []).toReversed()) {
      const child = byId.get(id);
      if (child) waiting.push({ node: child, ...inner });
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

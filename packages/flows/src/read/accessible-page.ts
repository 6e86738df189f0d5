/** The accessibility tree of the page as text, with references to the elements that can be used. */
import type { Selectors } from '@berth/contract';
import { toSnapshotLine, type AccessibilityNode } from '@berth/devtools';
import type { FlowRun } from '../flow-run.ts';

export interface AccessiblePage {
  /** A line for each node: `- button "Buy" [ref=e3]`, indented by two spaces for each level. */
  tree: string;
  /** The elements that take the focus or clicks, by their reference. */
  refs: Record<string, { role: string; name: string; selectors: Selectors }>;
  nodes: number;
  isTruncated: boolean;
  framesLeftOut: number;
}

export async function readAccessiblePage(run: FlowRun, nodesMax: number): Promise<AccessiblePage> {
  const tree = await run.page().accessibilityTree({ ...run.callOptions(), mode: 'full', paths: true });
  const nodes = tree.nodes.slice(0, nodesMax);
  const refs: AccessiblePage['refs'] = {};
  const lines: string[] = [];
  /** The paths of the frames around the current node, by the depths of their nodes. */
  const around: { depth: number; path: string | null }[] = [];
  for (const node of nodes) {
    while ((around.at(-1)?.depth ?? -1) >= node.depth) around.pop();
    const selectors = selectorsOf(
      node,
      around.map(({ path }) => path),
    );
    if (node.ref !== null && selectors.length > 0) refs[node.ref] = { role: node.role, name: node.name, selectors };
    const shown = selectors.length > 0 ? node : { ...node, ref: null };
    lines.push(`${'  '.repeat(node.depth)}- ${toSnapshotLine(shown, { withPlace: false })}`);
    if (node.role === 'iframe') around.push({ depth: node.depth, path: node.path ?? null });
  }
  const { isTruncated, framesLeftOut } = tree;
  return { tree: lines.join('\n'), refs, nodes: nodes.length, isTruncated: isTruncated || tree.nodes.length > nodesMax, framesLeftOut };
}

function selectorsOf({ ref, role, name, states = {}, path = null }: AccessibilityNode, frames: readonly (string | null)[]): Selectors {
  if (ref === null) return [];
  const around = frames.filter((frame) => frame !== null);
  if (around.length < frames.length) return [];
  // A name of ours is none to search for.
  const isOurs = states['clickable'] !== undefined || states['icon'] !== undefined || name.endsWith('…');
  const aria = name === '' || isOurs || /[[\]]/.test(name) ? [] : [`aria/${name}[role="${role}"]`];
  const own = path === null ? aria : [path, ...aria];
  return around.length === 0 ? own : own.map((selector) => [...around, selector]);
}

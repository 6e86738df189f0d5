/** The accessibility tree of the page as text, with references to the elements that can be used. */
import type { Selectors } from '@berth/contract';
import type { AccessibilityNode, ElementRef } from '../../browser/browser.ts';
import type { FlowRun } from '../flow-run.ts';
import { flowScripts } from '../page-scripts.ts';

export interface AccessiblePage {
  /** A line for each node: `- button "Buy" [ref=e3]`, indented by two spaces for each level. */
  tree: string;
  /** The elements that take the focus, by their reference. */
  refs: Record<string, { role: string; name: string; selectors: Selectors }>;
  nodes: number;
  isTruncated: boolean;
}

export async function readAccessiblePage(run: FlowRun, nodesMax: number): Promise<AccessiblePage> {
  const page = run.page();
  const { nodes, isTruncated } = await page.accessibilityTree({ ...run.callOptions(), nodesMax });
  const elements = nodes.flatMap(({ element }) => (element ? [element] : []));
  try {
    const paths = elements.length === 0 ? [] : await pathsOf(run, elements);
    const pathOf = new Map(elements.map((element, index) => [element, paths[index] ?? null]));
    const refs: AccessiblePage['refs'] = {};
    const lines = nodes.map((node) => {
      const selectors = selectorsOf(node, node.element ? (pathOf.get(node.element) ?? null) : null);
      if (selectors.length === 0) return toLine(node, null);
      const ref = `e${Object.keys(refs).length + 1}`;
      refs[ref] = { role: node.role, name: node.name, selectors };
      return toLine(node, ref);
    });
    return { tree: lines.join('\n'), refs, nodes: nodes.length, isTruncated };
  } finally {
    page.release(elements);
  }
}

const pathsOf = (run: FlowRun, elements: readonly ElementRef[]): Promise<(string | null)[]> =>
  run.page().call(run.page().mainFrame(), flowScripts.cssPathsOf, elements, run.callOptions());

function selectorsOf({ element, role, name }: AccessibilityNode, path: string | null): Selectors {
  if (!element) return [];
  const aria = name === '' || /[[\]]/.test(name) || !/^[a-z]+$/.test(role) ? [] : [`aria/${name}[role="${role}"]`];
  return path === null ? aria : [path, ...aria];
}

function toLine({ role, name, value, states, depth }: AccessibilityNode, ref: string | null): string {
  const marks = [
    ...Object.entries(states).map(([state, of]) => (of === 'true' ? `[${state}]` : `[${state}=${of}]`)),
    ...(ref === null ? [] : [`[ref=${ref}]`]),
  ];
  const text = role === 'StaticText' ? `text: ${oneLine(name)}` : [role, ...(name === '' ? [] : [quote(name)]), ...marks].join(' ');
  return `${'  '.repeat(depth)}- ${text}${value === '' ? '' : `: ${oneLine(value)}`}`;
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
const quote = (text: string): string => JSON.stringify(oneLine(text));

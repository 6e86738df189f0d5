/** The accessibility tree of the page as text, with references to the elements that can be used. */
import type { Selectors } from '@berth/contract';
import type { AccessibilityNode, ElementRef } from '@berth/devtools';
import type { FlowRun } from '../flow-run.ts';
import { flowScripts } from '../page-scripts.ts';

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
  const page = run.page();
  const { nodes, isTruncated, framesLeftOut, frames } = await page.accessibilityTree({ ...run.callOptions(), nodesMax });
  const elements = [...nodes.flatMap(({ element }) => (element ? [element] : [])), ...frames.values()];
  try {
    const paths = await pathsOf(run, elements);
    const refs: AccessiblePage['refs'] = {};
    const lines = nodes.map((node) => {
      const selectors = selectorsOf(node, { paths, frames, mainFrame: page.mainFrame() });
      if (selectors.length === 0) return toLine(node, null);
      const ref = `e${Object.keys(refs).length + 1}`;
      refs[ref] = { role: node.role, name: node.name, selectors };
      return toLine(node, ref);
    });
    return { tree: lines.join('\n'), refs, nodes: nodes.length, isTruncated, framesLeftOut };
  } finally {
    page.release(elements);
  }
}

type Paths = ReadonlyMap<ElementRef, string | null>;

/** Each in the document of its frame. */
async function pathsOf(run: FlowRun, elements: readonly ElementRef[]): Promise<Paths> {
  const paths = new Map<ElementRef, string | null>();
  for (const [frameId, own] of Map.groupBy(elements, (element) => element.frameId)) {
    const selectors = await run.page().call<(string | null)[]>(frameId, flowScripts.cssPathsOf, own, run.callOptions());
    for (const [index, element] of own.entries()) paths.set(element, selectors[index] ?? null);
  }
  return paths;
}

interface Places {
  paths: Paths;
  frames: ReadonlyMap<string, ElementRef>;
  mainFrame: string;
}

function selectorsOf({ element, role, name, states }: AccessibilityNode, { paths, frames, mainFrame }: Places): Selectors {
  if (!element) return [];
  const around: string[] = [];
  for (let frameId = element.frameId; frameId !== mainFrame;) {
    const owner = frames.get(frameId);
    const path = owner ? paths.get(owner) : null;
    if (!owner || typeof path !== 'string') return [];
    around.unshift(path);
    frameId = owner.frameId;
  }
  const path = paths.get(element) ?? null;
  // A name of ours is none to search for.
  const aria =
    name === '' || states['clickable'] !== undefined || /[[\]]/.test(name) || !/^[a-z]+$/.test(role)
      ? []
      : [`aria/${name}[role="${role}"]`];
  const own = path === null ? aria : [path, ...aria];
  return around.length === 0 ? own : own.map((selector) => [...around, selector]);
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

/** Nodes as a page returns them. Its process may be an attacker's by now, so each field has a form and a maximum. */
import type { TreeNode } from '@berth/page-scripts/read/accessibility.ts';
import { cutText } from '@berth/lib/text/text.ts';

const textCharsMax = 200;
const statesMax = 20;
const optionsMax = 12;

type Fields = Partial<Record<keyof TreeNode, unknown>>;

const textOf = (value: unknown, charsMax = textCharsMax): string => (typeof value === 'string' ? cutText(value, charsMax) : '');
const intOf = (value: unknown, max: number): number => (Number.isSafeInteger(value) ? Math.min(max, Math.max(0, value as number)) : 0);
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? value : {});
const roleOf = (value: unknown): string => (typeof value === 'string' && /^[a-z]{1,30}$/.test(value) ? value : 'generic');

/** Written field by field: a spread for each would be most of the work for a page of thousands. */
export function toTreeNode(given: unknown): TreeNode {
  const { depth, role, name, value, text, states, ref, place, isOwnRow, alike, options, box, url, path, frame, isMatch } = fieldsOf(given);
  const node: TreeNode = { depth: intOf(depth, 10_000), role: roleOf(role), name: textOf(name) };
  if (value !== undefined) node.value = textOf(value);
  if (text !== undefined) node.text = textOf(text);
  if (states !== undefined) node.states = statesOf(states);
  if (ref !== undefined) node.ref = intOf(ref, 999_999_999);
  if (place !== undefined) node.place = textOf(place);
  if (isOwnRow === true) node.isOwnRow = true;
  if (Array.isArray(alike)) node.alike = [intOf(alike[0], 1e6), intOf(alike[1], 1e6)];
  if (options !== undefined) node.options = optionsOf(options);
  if (box !== undefined) node.box = boxOf(box);
  if (url !== undefined) node.url = textOf(url, 1000);
  if (path !== undefined) node.path = typeof path === 'string' ? cutText(path, 4000) : null;
  if (frame !== undefined) node.frame = intOf(frame, 100_000);
  if (isMatch === true) node.isMatch = true;
  return node;
}

function statesOf(given: unknown): Record<string, string> {
  const states: Record<string, string> = {};
  for (const [name, value] of Object.entries(fieldsOf(given)).slice(0, statesMax))
    if (/^[a-z]{1,20}$/.test(name)) states[name] = textOf(value, 20).replace(/[^a-z0-9]/g, '');
  return states;
}

function optionsOf(given: unknown): NonNullable<TreeNode['options']> {
  const { shown, more } = fieldsOf(given) as { shown?: unknown; more?: unknown };
  const texts: unknown[] = Array.isArray(shown) ? shown.slice(0, optionsMax) : [];
  return { shown: texts.map((each) => textOf(each, 60)), more: intOf(more, 1e6) };
}

function boxOf(given: unknown): [number, number, number, number] {
  const sides: unknown[] = Array.isArray(given) ? given : [];
  const at = (index: number): number => (Number.isFinite(sides[index]) ? Math.max(-1e7, Math.min(1e7, sides[index] as number)) : 0);
  return [at(0), at(1), at(2), at(3)];
}

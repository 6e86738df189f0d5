/** Nodes as a page returns them. Its process may be an attacker's by now, so each field has a form and a maximum. */
import type { TreeNode } from '@berth/page-scripts/read/accessibility.ts';
import type { RefIdentity } from '@berth/page-scripts/locate/refs.ts';
import { cutText } from '@berth/lib/text/text.ts';

const textCharsMax = 200;
const statesMax = 20;
const optionsMax = 12;

type Fields = Partial<Record<keyof TreeNode | keyof RefIdentity, unknown>>;

const textOf = (value: unknown, charsMax = textCharsMax): string => (typeof value === 'string' ? cutText(value, charsMax) : '');
const intOf = (value: unknown, max: number): number => (Number.isSafeInteger(value) ? Math.min(max, Math.max(0, value as number)) : 0);
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? value : {});
const roleOf = (value: unknown): string => (typeof value === 'string' && /^[a-z]{1,30}$/.test(value) ? value : 'generic');

export function toTreeNode(given: unknown): TreeNode {
  const { depth, role, name, value, text, states, ref, place, identity, options, box, url, path, frame, isMatch } = fieldsOf(given);
  return {
    depth: intOf(depth, 10_000),
    role: roleOf(role),
    name: textOf(name),
    ...(value === undefined ? {} : { value: textOf(value) }),
    ...(text === undefined ? {} : { text: textOf(text) }),
    ...(states === undefined ? {} : { states: statesOf(states) }),
    ...(ref === undefined ? {} : { ref: intOf(ref, 999_999_999) }),
    ...(place === undefined ? {} : { place: textOf(place) }),
    ...(identity === undefined ? {} : { identity: identityOf(identity) }),
    ...(options === undefined ? {} : { options: optionsOf(options) }),
    ...(box === undefined ? {} : { box: boxOf(box) }),
    ...(url === undefined ? {} : { url: textOf(url, 1000) }),
    ...(path === undefined ? {} : { path: typeof path === 'string' ? cutText(path, 4000) : null }),
    ...(frame === undefined ? {} : { frame: intOf(frame, 100_000) }),
    ...(isMatch === true ? { isMatch } : {}),
  };
}

function statesOf(given: unknown): Record<string, string> {
  const states: Record<string, string> = {};
  for (const [name, value] of Object.entries(fieldsOf(given)).slice(0, statesMax))
    if (/^[a-z]{1,20}$/.test(name)) states[name] = textOf(value, 20).replace(/[^a-z0-9]/g, '');
  return states;
}

function identityOf(given: unknown): RefIdentity {
  const { role, name, place, nth, of } = fieldsOf(given);
  return { role: roleOf(role), name: textOf(name), place: textOf(place), nth: intOf(nth, 1e6), of: intOf(of, 1e6) };
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

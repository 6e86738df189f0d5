/** Path templates: which segments of paths are parameters. */
import { formatOf } from './schema.ts';

const numeric = /^-?\d+$/;
const version = /^v?\d+(?:[.]\d+)+$|^v\d+$/i;
const placeholder = /\{\{[a-z_]+_\d+\}\}/;
const hexId = /^(?=[a-f\d]*\d)(?:[a-f\d]{8}|[a-f\d]{12,128})$/i;
const ulid = /^[0-7][\dA-Z]{25}$/;
/** Letters and digits of a code such as `QS-0003`. */
const code = /^(?:[A-Z]{1,10}[-_][A-Z\d_-]{1,40}|[A-Z]{1,10}\d{2}[A-Z\d]{0,40}|[a-z]{1,10}[-_]\d{3,40}|[a-z]{1,3}\d{4,40})$/;
const prefixedId = /^[a-z]{2,8}_(?=[A-Za-z]*\d)[A-Za-z\d]{6,64}$/;
const ending = /^(.+)([.](?:json|xml|html?|pdf|csv|png|jpe?g|svg|webp))$/;

/** Whether a segment is a value by its form alone. */
export function isValue(segment: string, before: string): boolean {
  const bare = ending.exec(segment)?.[1] ?? segment;
  if (bare === '' || bare.length > 400) return bare !== '';
  if (placeholder.test(bare) || formatOf(bare) !== null) return true;
  if (version.test(bare)) return false;
  if (numeric.test(bare)) return !(bare.length === 1 && /^(?:api|rest|v|version)$/i.test(before));
  if (/%[\da-f]{2}/i.test(bare)) return true;
  return hexId.test(bare) || ulid.test(bare) || (code.test(bare) && /\d{2}/.test(bare)) || prefixedId.test(bare) || isMixed(bare);
}

/** Random text, as in ids of both cases with digits. */
const isMixed = (text: string): boolean =>
  text.length >= 12 && /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text) && !/[.]/.test(text);

export interface Sample {
  /** Segments of the path, not decoded, without the leading slash. */
  segments: string[];
  /** What calls with the same answer have in common, such as the keys of the reply. */
  signature: string;
}

const siblingsMin = 3;
const isAction =
  /^(?:me|self|current|new|search|list|all|count|stats|export|import|login|logout|refresh|status|health|latest|batch|bulk)$/i;

interface Branch {
  children: Map<string, Branch>;
  /** Signatures of calls that end here. */
  ends: Set<string>;
}

const createBranch = (): Branch => ({ children: new Map(), ends: new Set() });

/** Finds values among siblings that their form does not give away: three and more words at the same position with the same kind of reply. */
export class PathTree {
  readonly #root = createBranch();

  add({ segments, signature }: Sample): void {
    let branch = this.#root;
    segments.forEach((segment, i) => {
      const key = isValue(segment, segments[i - 1] ?? '') ? '*' : segment;
      let next = branch.children.get(key);
      if (!next) branch.children.set(key, (next = createBranch()));
      branch = next;
    });
    branch.ends.add(signature);
  }

  /** Returns for each segment whether it is a value. */
  classify(segments: readonly string[]): boolean[] {
    let branch: Branch | undefined = this.#root;
    return segments.map((segment, i) => {
      const byForm = isValue(segment, segments[i - 1] ?? '');
      const isSibling = !byForm && branch !== undefined && collection.test(segments[i - 1] ?? '') && areValues(branch, segment);
      branch = branch?.children.get(byForm ? '*' : segment);
      return byForm || isSibling;
    });
  }
}

const signatures = new WeakMap<Branch, string>();

/** Features common to the calls below this branch. The tree has to be complete. */
function signatureOf(branch: Branch): string {
  const cached = signatures.get(branch);
  if (cached !== undefined) return cached;
  const words = [...branch.children.keys()].filter((key) => key !== '*').toSorted();
  const signature = `${[...branch.ends].toSorted().join('|')} ${words.slice(0, 20).join('|')}`;
  signatures.set(branch, signature);
  return signature;
}

/** Names of collections, such as `products`. Words are taken for values only behind them. */
const collection = /^[a-z][a-z_-]{2,40}s$|^(?:category|tag|user|profile|product|by-[a-z]{1,20})$/i;

/** Counts of signatures below a parent, remembered so that branches are compared once each. */
const groups = new WeakMap<Branch, { size: number; counts: Map<string, number> }>();

function areValues(parent: Branch, segment: string): boolean {
  const branch = parent.children.get(segment);
  if (!branch || isAction.test(segment)) return false;
  const signature = signatureOf(branch);
  if (signature.trim() === '' || branch.ends.has('')) return false;
  let group = groups.get(parent);
  if (group?.size !== parent.children.size) {
    const counts = new Map<string, number>();
    for (const [key, child] of parent.children)
      if (key !== '*' && !isAction.test(key)) counts.set(signatureOf(child), (counts.get(signatureOf(child)) ?? 0) + 1);
    group = { size: parent.children.size, counts };
    groups.set(parent, group);
  }
  return (group.counts.get(signature) ?? 0) >= siblingsMin;
}

/** `/customers/{customer_id}/orders`, and the names of its parameters. */
export function toTemplate(segments: readonly string[], values: readonly boolean[]): { template: string; names: string[] } {
  const names: string[] = [];
  let literal = '';
  const parts = segments.map((segment, i) => {
    if (!values[i]) {
      literal = segment;
      return segment;
    }
    const base = nameOf(literal, segment);
    let name = base;
    for (let n = 2; names.includes(name); n++) name = `${base}_${n}`;
    names.push(name);
    return `{${name}}${ending.exec(segment)?.[2] ?? ''}`;
  });
  return { template: `/${parts.join('/')}`, names };
}

function nameOf(literal: string, value: string): string {
  const word = literal
    .replaceAll(/[^A-Za-z\d]+/g, '_')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/^_|_$/g, '');
  if (formatOf(value) === 'date') return 'date';
  if (word === '' || numeric.test(word) || version.test(word) || word === 'api') return 'id';
  return `${singular(word)}_id`;
}

function singular(word: string): string {
  if (/(?:ss|us|is|news|series)$/.test(word)) return word;
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (/(?:sses|xes|ches|shes)$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') && word.length > 2 ? word.slice(0, -1) : word;
}

/**
 * How the page's side of a call writes its answer, and how it is read here.
 *
 * An answer is a string whose first letter says what follows: `v` the value as
 * JSON, `e` the words of what was thrown, `l` that it is too large. It is made
 * in the page, so that what is too large never leaves it; nothing of a page is
 * believed, so the string is measured again.
 */
import type { Protocol } from 'devtools-protocol';
import { PageError } from './model.ts';

export interface ValueBounds {
  maxBytes: number;
}

/** Enough for any sentence that a person reads. */
const longestComplaint = 1000;
/** No work of ours needs more at once; a page may have millions. */
const mostElements = 10_000;
/** The browser describes each element by its id and classes, which a page may make as long as it likes. */
const longestDescriptions = 4 * 1024 * 1024;

const complain = `(error) => {
    let words = 'The script threw something that has no words.';
    try { words = '' + error; } catch {}
    return 'e' + (words.length > ${longestComplaint} ? 'An error with a very long text.' : words);
  }`;

/**
 * How scripts of ours read nodes. A form's fields are found under their names
 * before anything that the form has itself, also from an isolated world, so
 * what is read comes from the prototypes, which are the world's own.
 */
export const safeDom = `const reader = (of, name) => { const { get } = Object.getOwnPropertyDescriptor(of.prototype, name); return (node) => get.call(node); };
  const typeOf = reader(Node, 'nodeType'), parentNodeOf = reader(Node, 'parentNode'), isConnected = reader(Node, 'isConnected');
  const nameOf = reader(Element, 'localName'), slotOf = reader(Element, 'assignedSlot'), shadowOf = reader(Element, 'shadowRoot'), textOf = reader(Node, 'textContent');
  const attributeOf = (node, name) => Element.prototype.getAttribute.call(node, name);
  const rootOf = (node) => Node.prototype.getRootNode.call(node);
  const hostOf = (node) => (typeOf(node) === 11 ? (node.host ?? null) : null);`;

/** A function that answers with what `source` returns. Uses nothing that a page can replace but JSON, whose answer is measured. */
export function byValue(source: string, { maxBytes }: ValueBounds): string {
  return `async function (...args) {
  const complain = ${complain};
  try {
    const text = JSON.stringify(await (${source}
)(...args));
    if (typeof text !== 'string') return 'v';
    return text.length > ${maxBytes} ? 'l' : 'v' + text;
  } catch (error) { return complain(error); }
}`;
}

/** A function that answers with the elements that `source` returns: null, one, or a list. */
export function elementCounted(source: string): string {
  return `async function (...args) {
  const complain = ${complain};
  ${safeDom}
  try {
    const found = await (${source}
)(...args);
    const isNode = (value) => { try { return typeOf(value) > 0; } catch { return false; } };
    const list = found === null || found === undefined ? [] : isNode(found) ? [found] : [...found];
    if (list.length > ${mostElements}) return 'l';
    let size = 0;
    for (const each of list) {
      if (!isNode(each) || typeOf(each) !== 1) throw new TypeError('not an element');
      size += (attributeOf(each, 'id')?.length ?? 0) + (attributeOf(each, 'class')?.length ?? 0);
    }
    if (size > ${longestDescriptions}) return 'l';
    return list.length > 1 ? list : list[0] ?? null;
  } catch (error) { return complain(error); }
}`;
}

/** @throws PageError `script_failed` or `too_large` */
export function readValue({ type, value }: Protocol.Runtime.RemoteObject, { maxBytes }: ValueBounds): unknown {
  if (type !== 'string' || typeof value !== 'string' || !value.startsWith('v')) throw scriptError(value);
  if (Buffer.byteLength(value) > maxBytes + 1) throw tooLarge();
  if (value === 'v') return null;
  try {
    return JSON.parse(value.slice(1)) as unknown;
  } catch (error) {
    throw new PageError('script_failed', 'The page answered with something that is no JSON.', { cause: error });
  }
}

export function scriptError(answer: unknown): PageError {
  if (answer === 'l') return tooLarge();
  const words =
    typeof answer === 'string' && answer.startsWith('e') ? answer.slice(1, longestComplaint) : 'The page answered with something else.';
  return new PageError('script_failed', words);
}

const tooLarge = (): PageError => new PageError('too_large', 'The answer of the page is too large.');

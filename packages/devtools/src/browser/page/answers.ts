/**
 * Encodes the result of a call in the page, and decodes it here.
 *
 * The result is a string whose first letter is its kind: `v` a value as JSON, `e`
 * an error message, `l` a result that is too large. It is encoded in the page, so
 * that a large result never leaves it. Pages are not trusted, so its size is
 * checked again here.
 */
import type { Protocol } from 'devtools-protocol';
import { mayBeUnstorable, toStorableValue } from '@berth/lib/text/text.ts';
import { PageError } from './page.ts';

export interface ValueLimits {
  maxBytes: number;
  /** Leaves NUL and unpaired surrogates in strings, for values that go back to a page. Default: they become U+FFFD. */
  exactText?: boolean | undefined;
}

/** Enough for any error message. */
const errorCharsMax = 1000;
/** None of our features needs more; a page may have millions. */
const elementsMax = 10_000;
/** The browser describes each element by its id and classes, whose length a page controls. */
const descriptionCharsMax = 4 * 1024 * 1024;

const describeError = `(error) => {
    let words = 'The script threw a value that has no text.';
    try { words = '' + error; } catch {}
    return 'e' + (words.length > ${errorCharsMax} ? 'An error with a very long text.' : words);
  }`;

/**
 * Safe DOM readers for our scripts. Named form fields shadow the form's own
 * properties, also in an isolated context, so properties are read by the getters
 * of the prototypes, which a page cannot change there.
 */
export const safeDom = `const reader = (of, name) => {
    const { get } = Object.getOwnPropertyDescriptor(of.prototype, name);
    return (node) => get.call(node);
  };
  const typeOf = reader(Node, 'nodeType'), parentNodeOf = reader(Node, 'parentNode'), isConnected = reader(Node, 'isConnected');
  const nameOf = reader(Element, 'localName'), slotOf = reader(Element, 'assignedSlot');
  const shadowOf = reader(Element, 'shadowRoot'), textOf = reader(Node, 'textContent');
  const attributeOf = (node, name) => Element.prototype.getAttribute.call(node, name);
  const rootOf = (node) => Node.prototype.getRootNode.call(node);
  const hostOf = (node) => (typeOf(node) === 11 ? (node.host ?? null) : null);`;

/** Wraps `source` so that its result is encoded. JSON is all it uses that a page can replace, and its output is checked. */
export function wrapForValue(source: string, { maxBytes }: ValueLimits): string {
  return `async function (...args) {
  const complain = ${describeError};
  try {
    const text = JSON.stringify(await (${source}
)(...args));
    if (typeof text !== 'string') return 'v';
    return text.length > ${maxBytes} ? 'l' : 'v' + text;
  } catch (error) { return complain(error); }
}`;
}

/** Wraps `source` so that it returns elements: null, one, or a list. */
export function wrapForElements(source: string): string {
  return `async function (...args) {
  const complain = ${describeError};
  ${safeDom}
  try {
    const found = await (${source}
)(...args);
    const isNode = (value) => { try { return typeOf(value) > 0; } catch { return false; } };
    const list = found === null || found === undefined ? [] : isNode(found) ? [found] : [...found];
    if (list.length > ${elementsMax}) return 'l';
    let size = 0;
    for (const each of list) {
      if (!isNode(each) || typeOf(each) !== 1) throw new TypeError('not an element');
      size += (attributeOf(each, 'id')?.length ?? 0) + (attributeOf(each, 'class')?.length ?? 0);
    }
    if (size > ${descriptionCharsMax}) return 'l';
    return list.length > 1 ? list : list[0] ?? null;
  } catch (error) { return complain(error); }
}`;
}

/** @throws PageError `script_failed` or `too_large` */
export function parseValue({ type, value }: Protocol.Runtime.RemoteObject, { maxBytes, exactText }: ValueLimits): unknown {
  if (type !== 'string' || typeof value !== 'string' || !value.startsWith('v')) throw toScriptError(value);
  if (Buffer.byteLength(value) > maxBytes + 1) throw tooLargeError();
  if (value === 'v') return null;
  try {
    const json = value.slice(1);
    const parsed = JSON.parse(json) as unknown;
    return !exactText && mayBeUnstorable(json) ? toStorableValue(parsed) : parsed;
  } catch (error) {
    throw new PageError('script_failed', 'The page returned invalid JSON.', { cause: error });
  }
}

export function toScriptError(answer: unknown): PageError {
  if (answer === 'l') return tooLargeError();
  const message =
    typeof answer === 'string' && answer.startsWith('e') ? answer.slice(1, errorCharsMax) : 'The page returned an invalid result.';
  return new PageError('script_failed', message);
}

const tooLargeError = (): PageError => new PageError('too_large', 'The result of the page is too large.');

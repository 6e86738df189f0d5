/**
 * Formulas: each once, as TeX. Pages show a formula several times, drawn by spans,
 * as MathML for screen readers and as TeX in a script; one of them is read, and
 * marked on the element that holds them all.
 */
import { collapse, isElement, isText, markPrefix, setChildren, textIn, type Element, type Node, type Parent } from '../dom.ts';
import { isBlock } from '../main-content/layout.ts';

const texMark = `${markPrefix}tex`;
const displayMark = `${markPrefix}tex-block`;

/** The TeX of an element that is a formula. */
export const texOf = ({ attribs }: Element): string | null => attribs[texMark] ?? null;

/** Whether a formula stands in a line of its own. */
export const isDisplayed = ({ attribs }: Element): boolean => attribs[displayMark] !== undefined;

/** Marks the formulas below. What a page has of such marks itself is removed. */
export function markMath(parent: Parent): void {
  for (const [at, child] of parent.children.entries()) {
    if (!isElement(child)) continue;
    delete child.attribs[texMark];
    delete child.attribs[displayMark];
    const formula = formulaAt(child, parent.children[at + 1]);
    if (!formula) {
      markMath(child);
      continue;
    }
    child.attribs[texMark] = formula.tex;
    // Readers of main content leave out what screen readers do.
    delete child.attribs['aria-hidden'];
    if (formula.isBlock) child.attribs[displayMark] = '';
  }
  dropPreviews(parent);
}

interface Formula {
  tex: string;
  isBlock: boolean;
}

const classOf = ({ attribs }: Element): string => ` ${(attribs['class'] ?? '').slice(0, 500)} `;
const hasClass = (element: Element, name: string): boolean => classOf(element).includes(` ${name} `);

function formulaAt(element: Element, next: Node | undefined): Formula | null {
  const { name, attribs } = element;
  if (name === 'math') return formulaOf(texOfMath(element), attribs['display'] === 'block');
  if (hasClass(element, 'katex-display') || hasClass(element, 'katex'))
    return formulaOf(annotated(element), hasClass(element, 'katex-display'));
  if (name === 'mjx-container') return formulaOf(annotated(element), attribs['display'] === 'true');
  if (hasClass(element, 'mwe-math-element'))
    return formulaOf(annotated(element) || pictureOf(element), hasClass(element, 'mwe-math-element-block'));
  if (hasClass(element, 'MathJax_Display')) return formulaOf(annotated(element) || scriptAfter(next), true);
  if (hasClass(element, 'MathJax') || hasClass(element, 'MathJax_SVG') || hasClass(element, 'MathJax_CHTML'))
    return formulaOf(scriptAfter(next) || annotated(element), false);
  if (hasClass(element, 'ztext-math')) return formulaOf(attribs['data-tex'] ?? '', false);
  if (name !== 'script' || !isTexScript(element)) return null;
  // A page that no browser has rendered has the source alone; behind a drawn formula it is the same formula.
  const drawn = element.prev;
  const isDrawn =
    drawn !== null && isElement(drawn) && (texOf(drawn) !== null || /\bMathJax(?:_Display|_SVG|_CHTML)?\b/.test(classOf(drawn)));
  if (isDrawn) return null;
  element.name = 'span';
  return formulaOf(textIn(element), /mode\s*=\s*display/.test(attribs['type'] ?? ''));
}

const isTexScript = ({ attribs }: Element): boolean => (attribs['type'] ?? '').startsWith('math/tex');

const scriptAfter = (node: Node | undefined): string =>
  node && isElement(node) && node.name === 'script' && isTexScript(node) ? textIn(node) : '';

const formulaOf = (tex: string, isBlock: boolean): Formula | null => (tex.trim() === '' ? null : { tex: collapse(tex), isBlock });

/** The TeX that a drawn formula has with it, or that its MathML says. */
function annotated(element: Element): string {
  const math = firstNamed(element, 'math');
  if (math) return texOfMath(math);
  const latex = firstWith(element, 'data-latex');
  return latex?.attribs['data-latex'] ?? '';
}

const pictureOf = (element: Element): string => firstNamed(element, 'img')?.attribs['alt'] ?? '';

function first(parent: Parent, isMatch: (element: Element) => boolean): Element | undefined {
  for (const child of parent.children) {
    if (!isElement(child)) continue;
    const match = isMatch(child) ? child : first(child, isMatch);
    if (match) return match;
  }
  return undefined;
}

const firstNamed = (parent: Parent, name: string): Element | undefined => first(parent, (element) => element.name === name);
const firstWith = (parent: Parent, attribute: string): Element | undefined =>
  first(parent, ({ attribs }) => attribs[attribute] !== undefined);

/** What MathJax shows until a formula is drawn. */
function dropPreviews(parent: Parent): void {
  const isPreview = (node: Node): boolean => isElement(node) && hasClass(node, 'MathJax_Preview') && node.next !== null;
  if (parent.children.some(isPreview))
    setChildren(
      parent,
      parent.children.filter((node) => !isPreview(node)),
    );
}

function texOfMath(math: Element): string {
  const annotation = first(math, ({ name, attribs }) => name === 'annotation' && /tex/i.test(attribs['encoding'] ?? ''));
  const own = annotation ? textIn(annotation) : (math.attribs['data-latex'] ?? math.attribs['alttext'] ?? '');
  return own.trim() === '' ? childrenOf(math) : own;
}

function childrenOf({ children }: Element): string {
  const parts: string[] = [];
  for (const child of children) {
    const part = texOfNode(child);
    if (part === '') continue;
    // A command ends where letters end.
    if (/^[a-z]/i.test(part) && /\\[a-z]+$/i.test(parts.at(-1)?.slice(-20) ?? '')) parts.push(' ');
    parts.push(part);
  }
  return parts.join('');
}

/** One letter needs no braces. */
const group = (tex: string): string => (/^[\p{L}\p{N}]$/u.test(tex) ? tex : `{${tex}}`);

const invisible: ReadonlySet<string> = new Set(['\u2061', '\u2062', '\u2063', '\u2064']);

function texOfNode(node: Node): string {
  if (!isElement(node)) return isText(node) ? collapse(node.data) : '';
  const parts = node.children.filter(isElement);
  const part = (at: number): string => (parts[at] ? texOfNode(parts[at]) : '');
  switch (node.name) {
    case 'mi':
    case 'mn':
    case 'mo': {
      const text = collapse(textIn(node));
      return invisible.has(text) ? '' : text.replace(/[{}%#&$_]/g, String.raw`\$&`);
    }
    case 'mtext':
    case 'ms':
      return collapse(textIn(node)) === '' ? ' ' : String.raw`\text{${textIn(node).replace(/[\s\u00a0]+/g, ' ')}}`;
    case 'mspace':
      return ' ';
    case 'mfrac':
      return String.raw`\frac{${part(0)}}{${part(1)}}`;
    case 'msqrt':
      return String.raw`\sqrt{${childrenOf(node)}}`;
    case 'mroot':
      return String.raw`\sqrt[${part(1)}]{${part(0)}}`;
    case 'msup':
    case 'mover':
      return `${base(part(0))}^${group(part(1))}`;
    case 'msub':
    case 'munder':
      return `${base(part(0))}_${group(part(1))}`;
    case 'msubsup':
    case 'munderover':
      return `${base(part(0))}_${group(part(1))}^${group(part(2))}`;
    case 'mtable':
      return String.raw`\begin{matrix}${parts.map(texOfNode).join(String.raw` \\ `)}\end{matrix}`;
    case 'mtr':
    case 'mlabeledtr':
      return parts.map(texOfNode).join(' & ');
    case 'mfenced':
      return `${node.attribs['open'] ?? '('}${parts.map(texOfNode).join(', ')}${node.attribs['close'] ?? ')'}`;
    case 'semantics':
      return part(0);
    case 'annotation':
    case 'annotation-xml':
    case 'mphantom':
      return '';
    default:
      return childrenOf(node);
  }
}

const base = (tex: string): string => (/^(?:[\p{L}\p{N}\p{S}]*|\\[a-z]+)$/u.test(tex) && tex !== '' ? tex : `{${tex}}`);

/** Whether a formula ends the line before and after it. */
export const isFormulaBlock = (element: Element): boolean => texOf(element) !== null && (isDisplayed(element) || isBlock(element));

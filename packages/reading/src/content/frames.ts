/**
 * The documents of frames in the source of a page. A snapshot has them in
 * templates behind their frames; without a browser there are those that stand in
 * `srcdoc`. They become the content of their frames, where selectors find both.
 */
import {
  createElement,
  elementsNamed,
  isElement,
  isHidden,
  limitDepth,
  parse,
  setChildren,
  type CheerioAPI,
  type Element,
  type Node,
  type Parent,
} from './dom.ts';
import { addressOf, isHiddenInPlace } from './markdown/embeds.ts';
import { isPixel } from './markdown/pictures.ts';

/** Attribute that marks the template of a frame in a snapshot. */
const mark = 'data-berth-frame';
/** Maximum nesting of documents in attributes, each in the attribute of the one around it. */
const depthMax = 5;
const framesMax = 50;
/** A page with more of them is an attack, and their number says enough. */
const countMax = 1000;

export interface FilledFrames {
  filled: readonly Element[];
  /** Visible frames that stay empty although they have an address. */
  leftOut: number;
}

export function fillFrames($: CheerioAPI): FilledFrames {
  const frames = { filled: [] as Element[], leftOut: 0 };
  fill($, 1, frames);
  if (frames.filled.length > 0) limitDepth($);
  return frames;
}

type Frames = ReturnType<typeof fillFrames> & { filled: Element[] };

function fill($: CheerioAPI, depth: number, frames: Frames): void {
  for (const frame of elementsNamed($, 'iframe', 'frame', 'object')) {
    const template = templateOf(frame);
    if (template) {
      setChildren(frame, contentOf(template));
      $(template).remove();
      frames.filled.push(frame);
    } else if (frame.name !== 'object') fillFromSource(frame, depth, frames);
  }
}

function fillFromSource(frame: Element, depth: number, frames: Frames): void {
  const source = frame.name === 'iframe' ? frame.attribs['srcdoc'] : undefined;
  const isEmpty = source === undefined ? addressOf(frame) === null : source.trim() === '';
  if (isEmpty || frames.leftOut >= countMax || isPixel(frame) || isHiddenInPlace(frame) || isInHidden(frame)) return;
  if (source === undefined || depth > depthMax || frames.filled.length >= framesMax) {
    frames.leftOut += 1;
    return;
  }
  const inner = parse(source);
  frames.filled.push(frame);
  fill(inner, depth + 1, frames);
  const block = createElement('div', {}, '');
  setChildren(block, inner('body')[0]?.children ?? []);
  setChildren(frame, [block]);
}

function isInHidden({ parent }: Node): boolean {
  for (let above = parent; above; above = above.parent) if ('attribs' in above && isHidden(above)) return true;
  return false;
}

/** The template that the snapshot has put behind the frame. */
const templateOf = ({ next }: Element): Element | null =>
  next && isElement(next) && next.name === 'template' && next.attribs[mark] !== undefined ? next : null;

/** A template holds a document of its own. */
const contentOf = ({ children }: Element): Node[] =>
  children.flatMap((child) => ('children' in child && !isElement(child) ? child.children : [child]));

/** Puts what frames hold behind them, as a block like any other. */
export function unwrapFrames({ filled }: FilledFrames): void {
  for (const frame of filled) {
    const { parent } = frame;
    const block = createElement('div', {}, '');
    setChildren(block, frame.children);
    setChildren(frame, []);
    if (parent === null) continue;
    const siblings = parent.children.flatMap((child) => (child === frame ? [frame, block] : [child]));
    setChildren(parent as Parent, siblings);
  }
}

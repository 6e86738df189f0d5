/** Checks and observes which element receives the mouse. Sent as text, together with `natives.ts` and `leaving.ts`. */
import { watchLeaving } from './leaving.ts';
import { describe, natives, parentOf, type Natives } from '../locate/natives.ts';

export interface Hit {
  receives: boolean;
  /** The element in front of it, in words. */
  instead: string;
}

/** The result of the presses of one round in one document. */
export interface Presses {
  /** How many presses the target has received. */
  received: number;
  /** The element under the mouse instead of the target, which was kept from the event; null where no press has missed. */
  instead: string | null;
  /** Whether the page moved the element after a press, and so the click went to another one. */
  isClickElsewhere: boolean;
}

interface PressWatch {
  /** Null in documents that lead to the element's own: they must receive nothing. */
  target: Element | null;
  /** The hits, one for each press. */
  hits: Hit[];
  /** The hit of the last press. Events belong to it until the next one begins. */
  current: Hit | null;
  lastType: string;
  /** Position of the element at the last press. */
  place: string;
  /** Receiver of the click after the press. A page may cover an element that it has opened on the press. */
  click: 'none' | 'target' | 'elsewhere';
  isClickElsewhere: boolean;
  /** Its result has been read. What belongs to a press that has missed is still kept from the page. */
  isEnded: boolean;
  pressesBefore: number;
  onPress: (() => void)[];
}

/** The topmost element at the point must be the target, a descendant, or a label of it. Null where the target has left the page. */
export function hitTest(target: Element, x: number, y: number): Hit | null {
  const page = natives();
  if (!page.isConnected(target)) return null;
  // Closed shadow roots are reached from the target.
  const roots = [page.rootOf(target) as Document | ShadowRoot];
  for (let top = roots[0]; top && page.type(top) === 11; roots.unshift(top)) top = page.rootOf(page.host(top)) as Document | ShadowRoot;
  for (const [index, root] of roots.entries()) {
    const hit = elementAt(page, root, x, y);
    if (hit && leadsTo(page, hit, target)) return { receives: true, instead: '' };
    const inner = roots[index + 1];
    if (!hit || !inner || hit !== page.host(inner)) return { receives: false, instead: describeHit(page, hit, x, y) };
  }
  return { receives: false, instead: describeHit(page, null, x, y) };
}

export function elementAt(page: Natives, root: Document | ShadowRoot, x: number, y: number): Element | null {
  return page.type(root) === 9 ? Document.prototype.elementFromPoint.call(root, x, y) : root.elementFromPoint(x, y);
}

export function leadsTo(page: Natives, hit: Element, target: Element): boolean {
  for (let at: Element | null = hit; at; at = parentOf(page, at)) {
    if (at === target) return true;
    if (at instanceof HTMLLabelElement && page.control(at) === target) return true;
  }
  return false;
}

export function describeHit(page: Natives, hit: Element | null, x: number, y: number): string {
  if (!hit) return 'nothing: the point is outside the viewport';
  let innermost = hit;
  for (let inner: Element | null | undefined = hit; inner; inner = page.shadowRoot(inner)?.elementFromPoint(x, y)) {
    if (inner !== hit && page.rootOf(inner) === page.rootOf(innermost)) break;
    innermost = inner;
  }
  return describe(page, innermost);
}

/** Whether the browser has moved its mouse onto the element. A page can neither prevent nor pretend that. */
export function isHovered(element: Element): boolean {
  const page = natives();
  if (page.matches(element, ':hover')) return true;
  const labels = element instanceof HTMLInputElement ? [...(page.inputLabels(element) ?? [])] : [];
  return labels.some((label) => label instanceof Element && page.matches(label, ':hover'));
}

/** Events of one kind that the document's window has received, also where a listener of the page has stopped them. */
export function countEvents(type: string): number {
  return (performance as Performance & { eventCounts?: Map<string, number> }).eventCounts?.get(type) ?? 0;
}

/**
 * Observes the next presses of the mouse, and a navigation that they start. If
 * one would hit anything but the target, the page receives nothing of it, so
 * that it may be repeated.
 */
export function watchPress(target: Element | null): void {
  watchLeaving();
  const state = globalThis as { berthPress?: PressWatch; berthOnPress?: (event: Event) => void };
  // A round that did not come to its press: nobody waits for its receipt any more.
  if (state.berthPress) endWatch(state.berthPress);
  state.berthPress = {
    target,
    hits: [],
    current: null,
    lastType: '',
    place: '',
    click: 'none',
    isClickElsewhere: false,
    isEnded: false,
    pressesBefore: countEvents('pointerdown'),
    onPress: [],
  };
  state.berthOnPress ??= (event) => {
    if (state.berthPress && event.isTrusted) observePress(state.berthPress, event as MouseEvent);
  };
  // A listener that is there already is not added again, and `document.open` removes it.
  for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu'])
    addEventListener(type, state.berthOnPress, { capture: true, passive: false });
}

export function endWatch(watch: PressWatch): void {
  watch.isEnded = true;
  for (const each of watch.onPress.splice(0)) each();
}

export function observePress(watch: PressWatch, event: MouseEvent): void {
  const { type } = event;
  // A page may have stopped the first of the two at its window.
  if (type === 'pointerdown' || (type === 'mousedown' && watch.lastType !== 'pointerdown')) beginPress(watch, event);
  watch.lastType = type;
  if (watch.current?.receives === false) {
    event.preventDefault();
    event.stopImmediatePropagation();
  } else if (type === 'click' && watch.click !== 'target') {
    watch.click = findHit(watch.target, event).receives || placeOf(watch.target) === watch.place ? 'target' : 'elsewhere';
  }
}

export function beginPress(watch: PressWatch, event: MouseEvent): void {
  watch.isClickElsewhere ||= watch.click === 'elsewhere';
  watch.click = 'none';
  // The press after the last is somebody else's.
  watch.current = watch.isEnded ? { receives: true, instead: '' } : findHit(watch.target, event);
  if (watch.isEnded) return;
  watch.hits.push(watch.current);
  watch.place = placeOf(watch.target);
  for (const each of watch.onPress.splice(0)) each();
}

export function placeOf(element: Element | null): string {
  const { x = 0, y = 0 } = element ? natives().rect(element) : {};
  return `${x} ${y}`;
}

export function findHit(target: Element | null, event: MouseEvent): Hit {
  const page = natives();
  const path = event.composedPath();
  const first = path.find((each) => each instanceof Element);
  if (!target) return { receives: false, instead: first instanceof Element ? describe(page, first) : 'the document' };
  if (path.includes(target) || (first instanceof Element && leadsTo(page, first, target))) return { receives: true, instead: '' };
  // In a closed shadow root the path does not show it.
  return hitTest(target, event.clientX, event.clientY) ?? { receives: false, instead: 'what has replaced it' };
}

/** Presses that have come, also those that a listener of the page on its window has stopped before ours. */
export function countPresses(watch: PressWatch): number {
  return Math.max(watch.hits.length, countEvents('pointerdown') - watch.pressesBefore);
}

/** Resolves when the presses have come, or are no longer awaited. Its answer arrives even if the last one replaces the document. */
export async function pressReceipt(count: number): Promise<boolean> {
  const { berthPress: watch } = globalThis as { berthPress?: PressWatch };
  if (!watch) return false;
  while (watch.hits.length < count && !watch.isEnded) await new Promise<void>((resolve) => void watch.onPress.push(resolve));
  return watch.hits.length >= count && watch.hits.every(({ receives }) => receives);
}

/** Ends the observation. `graceMs`: how long presses may be late that were sent before. Null in a document that is not observed. */
export async function endPress(count: number, graceMs: number): Promise<Presses | null> {
  const { berthPress: watch } = globalThis as { berthPress?: PressWatch };
  if (!watch) return null;
  await new Promise<void>((resolve) => {
    const check = (): void => void (countPresses(watch) >= count || graceMs === 0 ? resolve() : watch.onPress.push(check));
    check();
    if (graceMs > 0) setTimeout(resolve, graceMs);
  });
  endWatch(watch);
  const { target, hits } = watch;
  const hasLeft = !target || !natives().isConnected(target);
  // What the page has stopped before our listener was received, and must not be repeated.
  const unseen = target ? countPresses(watch) - hits.length : 0;
  return {
    received: hits.filter(({ receives }) => receives).length + unseen,
    instead: hits.find(({ receives }) => !receives)?.instead ?? null,
    isClickElsewhere: !hasLeft && (watch.isClickElsewhere || (watch.current?.receives === true && watch.click === 'elsewhere')),
  };
}

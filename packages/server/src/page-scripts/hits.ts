/** Checks and observes which element receives the mouse. Sent as text, together with `natives.ts` and `leaving.ts`. */
import { watchLeaving } from './leaving.ts';
import { describe, natives, parentOf, type Natives } from './natives.ts';

export interface Hit {
  receives: boolean;
  /** What is in front of it. */
  instead: string;
}

/** What became of a press in one document. */
export interface Press {
  /** `missed`: another element was under the mouse, and the event was kept from it. */
  result: 'received' | 'missed' | 'none';
  instead: string;
  /** Whether the page moved the element after the press, and so the click went to another one. */
  isClickElsewhere: boolean;
}

interface PressWatch {
  /** Null in documents that lead to the element's own: they must receive nothing. */
  target: Element | null;
  hit: Hit | null;
  /** Where the element was. */
  place: string;
  /** Where the click went that followed. A page may cover an element that it has opened on the press. */
  click: 'none' | 'target' | 'elsewhere';
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
 * Observes the next press of the mouse, and a navigation that it starts. If it
 * would hit anything but the target, the page receives nothing of it, so that
 * it may be repeated.
 */
export function watchPress(target: Element | null): void {
  watchLeaving();
  const state = globalThis as { berthPress?: PressWatch; berthOnPress?: (event: Event) => void };
  // A round that did not come to its press: nobody waits for its receipt any more.
  for (const each of state.berthPress?.onPress ?? []) each();
  state.berthPress = {
    target,
    hit: null,
    place: '',
    click: 'none',
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

export function observePress(watch: PressWatch, event: MouseEvent): void {
  const isPress = event.type === 'pointerdown' || event.type === 'mousedown';
  // The next press is somebody else's.
  if (watch.isEnded && isPress) watch.hit = { receives: true, instead: '' };
  if (isPress && !watch.hit) {
    watch.hit = findHit(watch.target, event);
    watch.place = placeOf(watch.target);
    for (const each of watch.onPress) each();
  }
  if (watch.hit?.receives === false) {
    event.preventDefault();
    event.stopImmediatePropagation();
  } else if (event.type === 'click' && watch.click !== 'target')
    watch.click = findHit(watch.target, event).receives || placeOf(watch.target) === watch.place ? 'target' : 'elsewhere';
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

/** Resolves when the press has come, or is no longer awaited. Its answer arrives even if the press replaces the document. */
export async function pressReceipt(): Promise<boolean> {
  const { berthPress: watch } = globalThis as { berthPress?: PressWatch };
  if (watch && !watch.hit && !watch.isEnded) await new Promise<void>((resolve) => void watch.onPress.push(resolve));
  return watch?.hit?.receives === true;
}

/** Ends the observation. `graceMs`: how long a press may be late that was sent before. Null in a document that is not observed. */
export async function endPress(graceMs: number): Promise<Press | null> {
  const { berthPress: watch } = globalThis as { berthPress?: PressWatch };
  if (!watch) return null;
  const isUnseen = (): boolean => countEvents('pointerdown') > watch.pressesBefore;
  if (!watch.hit && !isUnseen() && graceMs > 0)
    await new Promise<void>((resolve) => {
      watch.onPress.push(resolve);
      setTimeout(resolve, graceMs);
    });
  watch.isEnded = true;
  for (const each of watch.onPress) each();
  const { target, hit } = watch;
  const hasLeft = !target || !natives().isConnected(target);
  // A listener of the page on its window may stop the event before ours: it was received, and must not be repeated.
  if (!hit) return { result: isUnseen() && target ? 'received' : 'none', instead: '', isClickElsewhere: false };
  const isClickElsewhere = hit.receives && watch.click === 'elsewhere' && !hasLeft;
  return { result: hit.receives ? 'received' : 'missed', instead: hit.instead, isClickElsewhere };
}

/** Observes whether an element receives keys and text. Sent as text, together with `natives.ts` and `hits.ts`. */
import { countEvents } from './hits.ts';
import { describe, natives, parentOf, type Natives } from '../locate/natives.ts';

export interface Typing {
  /** Events of the document since it was watched. */
  keydowns: number;
  insertions: number;
  /** Whether the element, or what is in it, has the focus of its document. */
  isFocused: boolean;
  /** What has the focus instead. */
  instead: string;
  /** Whether text was inserted into the element. */
  isReached: boolean;
}

interface TypingWatch {
  target: Element;
  keydownsBefore: number;
  insertionsBefore: number;
  valueBefore: string;
  isReached: boolean;
}

/** Begins to count what the document of the element receives. */
export function watchTyping(target: Element): void {
  const state = globalThis as { berthTyping?: TypingWatch; berthOnInsertion?: (event: Event) => void };
  const page = natives();
  state.berthTyping = {
    target,
    keydownsBefore: countEvents('keydown'),
    insertionsBefore: countEvents('beforeinput'),
    valueBefore: contentOf(page, target),
    isReached: false,
  };
  state.berthOnInsertion ??= (event) => {
    const watch = state.berthTyping;
    if (!watch || !event.isTrusted) return;
    const first = event.composedPath().find((each) => each instanceof Element);
    // What is in a closed shadow root is seen as its host.
    for (let at: Element | null = watch.target; at; at = hostOf(page, at))
      if (event.composedPath().includes(at) || at === first) watch.isReached = true;
  };
  // A listener that is there already is not added again.
  addEventListener('beforeinput', state.berthOnInsertion, { capture: true, passive: true });
}

export function hostOf(page: Natives, element: Element): Element | null {
  const root = page.rootOf(element);
  return root instanceof ShadowRoot ? page.host(root) : null;
}

export function contentOf(page: Natives, element: Element): string {
  if (element instanceof HTMLInputElement) return page.inputValue(element);
  if (element instanceof HTMLTextAreaElement) return page.areaValue(element);
  return page.textContent(element) ?? '';
}

/** What has come since. Null in a document that is not watched, as one that has replaced it. */
export function readTyping(): Typing | null {
  const { berthTyping: watch } = globalThis as { berthTyping?: TypingWatch };
  if (!watch) return null;
  const page = natives();
  const { target } = watch;
  const focused = focusedOf(page, target);
  return {
    keydowns: countEvents('keydown') - watch.keydownsBefore,
    insertions: countEvents('beforeinput') - watch.insertionsBefore,
    isFocused: isWithin(page, focused, target),
    instead: focused ? describe(page, focused) : 'nothing',
    isReached: watch.isReached || contentOf(page, target) !== watch.valueBefore,
  };
}

/** The focused element of the tree that the element is in. */
export function focusedOf(page: Natives, element: Element): Element | null {
  const root = page.rootOf(element);
  return root instanceof ShadowRoot ? root.activeElement : document.activeElement;
}

export function isWithin(page: Natives, inner: Element | null, outer: Element): boolean {
  for (let at = inner; at; at = parentOf(page, at)) if (at === outer) return true;
  return false;
}

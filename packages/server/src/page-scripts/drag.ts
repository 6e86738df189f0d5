/** Whether a drag has begun and where it has come to, in the page's isolated world. Sent as text, together with `page-natives.ts`. */
import { natives, parentOf } from './natives.ts';

export interface Place {
  x: number;
  y: number;
}
export interface DragState {
  started: boolean;
  /** Where the button went down, and where the page was last told of something being dragged over it. */
  down: Place | null;
  over: Place | null;
}

/** Listens for the next drag. Whether the element begins one is answered. */
export function watchDrag(element: Element): boolean {
  const page = natives();
  const seen = globalThis as { berthDrag?: DragState };
  const isWatched = seen.berthDrag !== undefined;
  seen.berthDrag = { started: false, down: null, over: null };
  const note = (name: string, what: (place: Place) => Partial<DragState>): void =>
    addEventListener(
      name,
      (event) => Object.assign(seen.berthDrag ?? {}, what({ x: (event as MouseEvent).clientX, y: (event as MouseEvent).clientY })),
      true,
    );
  if (!isWatched) {
    note('mousedown', (down) => ({ down }));
    note('dragstart', () => ({ started: true }));
    note('dragover', (over) => ({ over }));
  }
  for (let at: Element | null = element; at; at = parentOf(page, at)) if (at instanceof HTMLElement && page.isDraggable(at)) return true;
  return false;
}

export function dragState(): DragState {
  const { berthDrag = { started: false, down: null, over: null } } = globalThis as { berthDrag?: DragState };
  return berthDrag;
}

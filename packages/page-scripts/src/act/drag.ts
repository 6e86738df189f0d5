/** Observes a drag: whether it has started and its positions. Sent as text, together with `natives.ts`. */
import { natives, parentOf } from '../locate/natives.ts';

export interface Point {
  x: number;
  y: number;
}
export interface DragState {
  started: boolean;
  /** Position of the last `dragover` in this document. */
  over: Point | null;
}

/** Observes the next drag. Returns whether the element is draggable. */
export function watchDrag(element: Element): boolean {
  const page = natives();
  const state = globalThis as { berthDrag?: DragState };
  const isWatched = state.berthDrag !== undefined;
  state.berthDrag = { started: false, over: null };
  const listen = (name: string, what: (point: Point) => Partial<DragState>): void =>
    addEventListener(
      name,
      (event) => Object.assign(state.berthDrag ?? {}, what({ x: (event as MouseEvent).clientX, y: (event as MouseEvent).clientY })),
      true,
    );
  if (!isWatched) {
    listen('dragstart', () => ({ started: true }));
    listen('dragover', (over) => ({ over }));
  }
  for (let at: Element | null = element; at; at = parentOf(page, at)) if (at instanceof HTMLElement && page.isDraggable(at)) return true;
  return false;
}

export function dragState(): DragState {
  const { berthDrag = { started: false, over: null } } = globalThis as { berthDrag?: DragState };
  return berthDrag;
}

import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Row height, as in the style sheet. It is fixed, so only the visible rows are rendered. */
export const rowPx = 48;
const rowsAround = 8;
/** A scroll that ends this near to our own target was not made by the user. */
const ownScrollPx = 2;

export interface ListWindow {
  list: RefObject<HTMLDivElement | null>;
  /** Rendered rows: from `first` to before `last`. */
  first: number;
  last: number;
  rowsInView: number;
  /** Whether the list follows the video, until the user scrolls. */
  isFollowing: ReadonlySignal<boolean>;
  follow(on: boolean): void;
  /** Scrolls a row into view, if it is not visible. */
  reveal(index: number): void;
  scrolled(top: number): void;
}

export function useListWindow(count: number): ListWindow {
  const list = useRef<HTMLDivElement | null>(null);
  const top = useSignal(0);
  const height = useSignal(0);
  const isFollowing = useSignal(true);
  const ownTop = useRef(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => (height.value = entry?.contentRect.height ?? 0));
    if (list.current) observer.observe(list.current);
    return () => observer.disconnect();
  }, []);
  return {
    list,
    first: Math.max(0, Math.floor(top.value / rowPx) - rowsAround),
    last: Math.min(count, Math.ceil((top.value + height.value) / rowPx) + rowsAround),
    rowsInView: Math.max(1, Math.floor(height.value / rowPx)),
    isFollowing,
    follow: (on) => (isFollowing.value = on),
    reveal: (index) => {
      const element = list.current;
      if (!element) return;
      const rowTop = index * rowPx;
      const { scrollTop, clientHeight } = element;
      if (rowTop >= scrollTop + rowPx && rowTop <= scrollTop + clientHeight - 2 * rowPx) return;
      element.scrollTop = Math.max(0, rowTop - clientHeight / 3);
      ownTop.current = element.scrollTop;
    },
    scrolled: (to) => {
      top.value = to;
      if (Math.abs(to - ownTop.current) > ownScrollPx) isFollowing.value = false;
      ownTop.current = to;
    },
  };
}

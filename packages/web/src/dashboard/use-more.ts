import { useSignal } from '@preact/signals';
import type { Page } from './api.ts';
import { useLive, type Live } from './live.ts';
import { toastError } from './ui/toasts.ts';

interface More<T> {
  live: Live<Page<readonly T[]>>;
  rows: readonly T[];
  /** Reads the next page, for `Table`; null when there are no more. */
  onMore: (() => Promise<void>) | null;
}

/** A list of the API that is read once and grows by a page at a time. A reload begins anew. */
export function useMore<T>(read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<readonly T[]>>): More<T> {
  const added = useSignal<{ first: Page<readonly T[]>; page: Page<readonly T[]> } | null>(null);
  const live = useLive((signal) => read(undefined, signal));
  const first = live.data;
  // Pages that were added before the list was read again do not continue it.
  const more = added.value?.first === first ? added.value?.page : undefined;
  const cursor = (more ?? first)?.nextCursor ?? null;
  const readMore = async (after: string): Promise<void> => {
    // Nobody aborts it: a person has asked for it, and what comes too late is dropped.
    const next = await read(after, new AbortController().signal);
    if (first) added.value = { first, page: { items: [...(more?.items ?? []), ...next.items], nextCursor: next.nextCursor } };
  };
  return {
    live,
    rows: [...(first?.items ?? []), ...(more?.items ?? [])],
    onMore: cursor === null ? null : () => readMore(cursor).catch(toastError),
  };
}

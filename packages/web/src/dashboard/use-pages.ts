import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Page } from './api.ts';
import { useLive, type Live } from './live.ts';

interface PagesOptions {
  everyMs?: number;
  inputs?: readonly unknown[];
}

export interface Pages<T> {
  live: Live<readonly T[]>;
  /** Reads the next page, for `Table`; null when there are no more. */
  onMore: (() => Promise<void>) | null;
}

/** A list of the API page by page. All pages that are shown are read again together, so that no row is shown twice. */
export function usePages<T>(
  read: (page: { cursor: string | undefined; signal: AbortSignal }) => Promise<Page<readonly T[]>>,
  { inputs = [], ...options }: PagesOptions = {},
): Pages<T> {
  const wanted = useSignal(1);
  const hasMore = useSignal(false);
  useEffect(() => {
    wanted.value = 1;
  }, inputs);
  const live = useLive<readonly T[]>(
    async (signal) => {
      const rows: T[] = [];
      let cursor: string | null | undefined;
      for (let count = 0; count < wanted.peek() && cursor !== null; count += 1) {
        const page: Page<readonly T[]> = await read({ cursor, signal });
        rows.push(...page.items);
        cursor = page.nextCursor;
      }
      hasMore.value = typeof cursor === 'string';
      return rows;
    },
    { ...options, inputs },
  );
  const more = async (): Promise<void> => {
    wanted.value += 1;
    await live.reload();
  };
  return { live, onMore: hasMore.value ? more : null };
}

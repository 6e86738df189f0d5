/** What somebody chose to see of a list: the filter, the order and the page. */
import { useSignal } from '@preact/signals';
import { useQuery } from '../query.ts';

export interface ListState {
  filter: string;
  /** Title of the column that the list is sorted by; empty for the order of the service. */
  sort: string;
  isDescending: boolean;
  /** Counted from 0. */
  page: number;
}

interface ListControl extends ListState {
  set: (change: Partial<ListState>) => void;
}

const initial: ListState = { filter: '', sort: '', isDescending: false, page: 0 };

/** In the address, where the list has a name; else in the component. `main` is the list that a page is about. */
export function useListState(name: string | undefined): ListControl {
  const kept = useSignal(initial);
  const prefix = name === 'main' ? '' : `${name ?? ''}-`;
  const { values, set } = useQuery({ [`${prefix}q`]: 'text', [`${prefix}sort`]: 'text', [`${prefix}page`]: /^[1-9]\d{0,8}$/ });
  if (name === undefined) return { ...kept.value, set: (change) => (kept.value = { ...kept.value, ...change }) };
  const sort = values[`${prefix}sort`] ?? '';
  const state: ListState = {
    filter: values[`${prefix}q`] ?? '',
    sort: sort.replace(/^-/, ''),
    isDescending: sort.startsWith('-'),
    page: Number(values[`${prefix}page`] ?? 1) - 1,
  };
  const change = (part: Partial<ListState>): void => {
    const next = { ...state, ...part };
    set({
      [`${prefix}q`]: next.filter,
      [`${prefix}sort`]: next.sort && `${next.isDescending ? '-' : ''}${next.sort}`,
      [`${prefix}page`]: next.page > 0 ? String(next.page + 1) : '',
    });
  };
  return { ...state, set: change };
}

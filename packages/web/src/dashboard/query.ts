/** Filters in the address, so that a filtered list can be linked to. */
import { useLocation } from 'preact-iso';
import { readFilters, type Filters } from './filters.ts';

export interface QueryState<K extends string> {
  /** Only what fits: a value that a choice does not have is as if it were missing. */
  values: Partial<Record<K, string>>;
  /** Replaces these entries; an empty text removes one. */
  set: (change: Partial<Record<K, string>>) => void;
}

export function useQuery<K extends string>(filters: Filters<K>): QueryState<K> {
  const { path, query, route } = useLocation();
  const values = readFilters(query, filters);
  const set = (change: Partial<Record<K, string>>): void => {
    // Other parts of the page have entries there, too.
    const next = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries<string | undefined>(change))
      if (value) next.set(name, value);
      else next.delete(name);
    route(next.size > 0 ? `${path}?${next}` : path, true);
  };
  return { values, set };
}

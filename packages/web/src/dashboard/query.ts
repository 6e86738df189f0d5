/** Filters in the address, so that a filtered list can be linked to. */
import { useLocation } from 'preact-iso';

export interface QueryState<K extends string> {
  values: Partial<Record<K, string>>;
  /** Replaces these entries; an empty text removes one. */
  set: (change: Partial<Record<K, string>>) => void;
}

export function useQuery<K extends string>(...names: K[]): QueryState<K> {
  const { path, query, route } = useLocation();
  const values: Partial<Record<K, string>> = {};
  for (const name of names) if (query[name]) values[name] = query[name];
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

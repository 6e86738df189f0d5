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
    const next = new URLSearchParams();
    for (const [name, value] of Object.entries<string | undefined>({ ...values, ...change })) if (value) next.set(name, value);
    route(next.size > 0 ? `${path}?${next}` : path, true);
  };
  return { values, set };
}

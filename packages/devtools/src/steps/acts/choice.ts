import type { Choice } from '@berth/page-scripts/act/act.ts';

type Wanted<T> = T | readonly T[] | undefined;

/** What a step chooses of a list or group; null where it names nothing. */
export function choiceOf({
  value,
  label,
  index,
}: {
  value?: Wanted<string>;
  label?: Wanted<string>;
  index?: Wanted<number>;
}): Choice | null {
  if (value !== undefined) return { by: 'value', wanted: [value].flat() };
  if (label !== undefined) return { by: 'label', wanted: [label].flat() };
  return index === undefined ? null : { by: 'index', wanted: [index].flat() };
}

/** Values that a filter takes: those of a choice, those of a form, or any text. */
type Accepted = readonly { value: string }[] | RegExp | 'text';
export type Filters<K extends string> = Readonly<Record<K, Accepted>>;

/** The filters of an address that fit. People change addresses by hand and keep old ones: what does not fit is as if it were missing. */
export function readFilters<K extends string>(query: Readonly<Record<string, string>>, filters: Filters<K>): Partial<Record<K, string>> {
  const values: Partial<Record<K, string>> = {};
  for (const [name, accepted] of Object.entries<Accepted>(filters)) {
    // No list has control characters, and the service refuses some of them.
    const value = query[name]?.replaceAll(/\p{Cc}/gu, '');
    if (value && isAccepted(value, accepted)) values[name as K] = value;
  }
  return values;
}

function isAccepted(value: string, accepted: Accepted): boolean {
  if (accepted === 'text') return true;
  return accepted instanceof RegExp ? accepted.test(value) : accepted.some((choice) => choice.value === value);
}

/** Maximum nesting; what is nested deeper comes from nowhere, and is left out. */
const nestingMax = 100;

export interface MapTextsOptions {
  /** Leaves the values of `id` and of names that end in `_id` as they are. */
  keepsIds?: boolean;
  /** Maximum items of a list; the others are left out. */
  itemsMax?: number;
}

/**
 * A copy of a value of any shape with each of its texts mapped: names, which have no field, and values, with the name of
 * the field that they or their list stand in.
 */
export function mapTexts<T>(value: T, map: (text: string, field: string | null) => string, options: MapTextsOptions = {}): T {
  const { keepsIds = false, itemsMax = Infinity } = options;
  const walk = (of: unknown, field: string, nesting: number): unknown => {
    if (typeof of === 'string') return map(of, field);
    if (typeof of !== 'object' || of === null || of instanceof Date) return of;
    if (nesting >= nestingMax) return null;
    if (Array.isArray(of)) return of.slice(0, itemsMax).map((item) => walk(item, field, nesting + 1));
    const entries = Object.entries(of).filter(([name]) => name !== '__proto__');
    return Object.fromEntries(
      entries.map(([name, item]) => [map(name, null), keepsIds && /(?:^|_)id$/.test(name) ? item : walk(item, name, nesting + 1)]),
    );
  };
  return walk(value, '', 0) as T;
}

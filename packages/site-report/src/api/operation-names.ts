import type { ApiEndpoint } from '@berth/contract';

const nameCharsMax = 80;
const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'replace',
  PATCH: 'update',
  DELETE: 'delete',
  HEAD: 'head',
};

/** A name for each endpoint that is an identifier and its own, by id: `getCustomersOrders`, and `…ById` where the path ends with a parameter. */
export function operationNames(endpoints: readonly Pick<ApiEndpoint, 'id' | 'method' | 'path_template'>[]): Map<string, string> {
  const taken = new Set<string>();
  const names = new Map<string, string>();
  for (const { id, method, path_template: template } of endpoints) {
    const segments = template.split('/').filter((segment) => segment !== '');
    const words = segments
      .filter((segment) => !segment.startsWith('{') && !/^(?:api|v\d+)$/i.test(segment))
      .flatMap((segment) => segment.split(/[^A-Za-z\d]+/));
    const path = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
    const base = `${verbs[method] ?? 'call'}${path}${segments.at(-1)?.startsWith('{') ? 'ById' : ''}`.slice(0, nameCharsMax);
    let name = base;
    for (let n = 2; taken.has(name); n++) name = `${base}${n}`;
    taken.add(name);
    names.set(id, name);
  }
  return names;
}

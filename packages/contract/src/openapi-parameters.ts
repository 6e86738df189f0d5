type Json = Record<string, unknown>;

interface Operation {
  operationId: string;
  parameters?: Json[];
}

/**
 * Writes each parameter that several operations have once: replaces it by a
 * reference and returns the components. A name that means something else in a
 * few operations is preceded by the first of these.
 */
export function shareParameters(paths: Record<string, Json>): Record<string, Json> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[]);
  const uses = new Map<string, { parameter: Json; operationId: string; lists: Json[][] }>();
  for (const { operationId, parameters = [] } of operations)
    for (const parameter of parameters) {
      const key = JSON.stringify(parameter);
      const use = uses.get(key) ?? { parameter, operationId, lists: [] };
      use.lists.push(parameters);
      uses.set(key, use);
    }
  const shared: Record<string, Json> = {};
  const byFrequency = [...uses].toSorted(([, one], [, other]) => other.lists.length - one.lists.length);
  for (const [key, { parameter, operationId, lists }] of byFrequency) {
    if (lists.length === 1) continue;
    const name = String(parameter['name']);
    const id = name in shared ? `${operationId}.${name}` : name;
    shared[id] = parameter;
    const reference = { $ref: `#/components/parameters/${id}` };
    for (const list of lists) list[list.findIndex((each) => JSON.stringify(each) === key)] = reference;
  }
  return Object.fromEntries(Object.entries(shared).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

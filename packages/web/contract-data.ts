/**
 * What the dashboard needs of the contract at run time, computed when the pages are built: the schema library of the
 * contract would be larger than the dashboard itself.
 */
import { fileURLToPath } from 'node:url';
import * as contract from '@berth/contract';

type Json = Record<string, unknown>;

const operationsId = 'virtual:operations';
const schemaPrefix = 'virtual:request-schema/';

const isEndpoint = (value: unknown): value is contract.Endpoint =>
  typeof value === 'object' && value !== null && 'auth' in value && 'path' in value && 'id' in value;

/** Each operation by the name of its export: method, path, auth class and kind of reply. */
function operations(): Record<string, readonly string[]> {
  const entries = Object.entries<unknown>({ ...contract }).flatMap(([name, value]) => {
    if (!isEndpoint(value)) return [];
    const { method, path, auth, replyKind = 'json' } = value;
    return [[name, [method, path, auth, replyKind]] as const];
  });
  return Object.fromEntries(entries);
}

/** The JSON Schema of a request body, with all references inlined. */
function requestSchema(name: string): Json {
  const document = contract.createOpenApiDocument({ endpoints: contract.endpoints, version: contract.apiVersion }) as {
    components: { schemas: Record<string, Json> };
  };
  const { schemas } = document.components;
  const schema = schemas[name];
  if (!schema) throw new Error(`the contract has no request ${name}`);
  const inline = (value: unknown, within: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((item) => inline(item, within));
    if (typeof value !== 'object' || value === null) return value;
    const reference = (value as Json)['$ref'];
    if (typeof reference !== 'string') return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inline(item, within)]));
    const target = reference.replace('#/components/schemas/', '');
    // A schema that contains itself, such as a step with steps, is edited as text.
    if (within.includes(target)) return { type: 'object' };
    return inline({ ...schemas[target], ...Object.fromEntries(Object.entries(value).filter(([key]) => key !== '$ref')) }, [
      ...within,
      target,
    ]);
  };
  return inline(schema, [name]) as Json;
}

/** A Vite plugin. */
export const contractData = () => ({
  name: 'contract-data',
  resolveId: (id: string) => (id === operationsId || id.startsWith(schemaPrefix) ? `\0${id}` : undefined),
  load(id: string) {
    if (id === `\0${operationsId}`) return `export default ${JSON.stringify(operations())}`;
    if (id.startsWith(`\0${schemaPrefix}`)) return `export default ${JSON.stringify(requestSchema(id.slice(schemaPrefix.length + 1)))}`;
    return undefined;
  },
  buildStart(this: { addWatchFile(path: string): void }) {
    this.addWatchFile(fileURLToPath(new URL('../contract/src/contract.ts', import.meta.url)));
  },
});

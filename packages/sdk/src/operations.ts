/** Makes the methods of a client from the table of operations. */
import type { EventOptions } from './call.ts';
import { readEvents } from './events.ts';
import type { Calls, SessionCalls } from './generated/calls.ts';
import { operations } from './generated/operations.ts';
import { readPages } from './pages.ts';
import { isForm, type Request, type Transport } from './transport.ts';

interface Operation {
  /** Groups, and the name at the end. */
  place: readonly string[];
  method: string;
  path: string;
  flags: string;
  /** Time after which the service gives up; 0 where it has none of its own. */
  seconds: number;
  /** Parameters that are sent in the query, where there is a body for the others. */
  query: readonly string[];
}

/** The service is given this much longer to say itself that it was too slow. */
const marginMs = 10_000;

const table: readonly Operation[] = operations
  .trim()
  .split('\n')
  .map((line) => {
    const [place = '', method = '', path = '', flags = '', seconds = '', query = ''] = line.split(' ');
    return { place: place.split('.'), method, path, flags, seconds: Number(seconds), query: query.split(',') };
  });

type Tree = Record<string, unknown>;

/** Makes all methods of a client. */
export function createCalls(transport: Transport): Calls {
  const root: Tree = {};
  for (const operation of table) add(root, operation.place, (...args) => send(transport, operation, args));
  return root as unknown as Calls;
}

/** Makes the methods of one session, which have its id already. */
export function createSessionCalls(transport: Transport, id: string): SessionCalls {
  const root: Tree = {};
  for (const operation of table)
    if (operation.place[0] === 'sessions' && operation.path.includes('{session_id}'))
      add(root, operation.place.slice(1), (...args) => send(transport, operation, [id, ...args]));
  return root as unknown as SessionCalls;
}

function add(root: Tree, place: readonly string[], method: (...args: unknown[]) => unknown): void {
  let group = root;
  for (const part of place.slice(0, -1)) group = (group[part] ??= {}) as Tree;
  group[place.at(-1) ?? ''] = method;
}

function send(transport: Transport, operation: Operation, args: readonly unknown[]): unknown {
  const { path, flags } = operation;
  const idCount = path.split('{').length - 1;
  const takesParams = flags.includes('b') || flags.includes('q');
  const params = (takesParams ? args[idCount] : undefined) as Record<string, unknown> | undefined;
  const options = (args[takesParams ? idCount + 1 : idCount] ?? {}) as EventOptions;
  // A function: what is wrong with the arguments rejects the call, as all other errors do.
  const request = (more?: Record<string, unknown>): Request =>
    toRequest(operation, args.slice(0, idCount), more ? { ...params, ...more } : params);
  if (flags.includes('s')) return readEvents(transport, request, options);
  if (flags.includes('p')) return readPages(transport, request, options);
  return transport.send(request, options);
}

function toRequest(operation: Operation, ids: readonly unknown[], params: Record<string, unknown> = {}): Request {
  const { method, flags, seconds } = operation;
  const hasBody = flags.includes('b');
  const inQuery = Object.entries(params).filter(([name]) => !hasBody || operation.query.includes(name));
  const inBody = Object.entries(params).filter(([name]) => hasBody && !operation.query.includes(name));
  return {
    method,
    path: fill(operation, ids),
    query: Object.fromEntries(inQuery),
    body: isForm(params) ? params : hasBody ? Object.fromEntries(inBody) : undefined,
    reply: flags.includes('f') ? 'response' : flags.includes('t') ? 'text' : flags.includes('e') ? 'empty' : 'json',
    isAdmin: flags.includes('a'),
    takesIdempotencyKey: flags.includes('i'),
    timeoutMs: seconds === 0 ? undefined : seconds * 1000 + marginMs,
  };
}

function fill({ path, flags }: Operation, ids: readonly unknown[]): string {
  let index = 0;
  const last = ids.length - 1;
  return path.replace(/\{\w+\}/g, () => {
    const id = ids[index];
    const parts = flags.includes('o') && index === last ? String(id).split('/') : [id];
    index++;
    return parts.map(encode).join('/');
  });
}

/** Dots would lead to another path of the service. */
function encode(id: unknown): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is not an id.`);
  return encodeURIComponent(id);
}

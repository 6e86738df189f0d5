/** Calls of the API by `@berth/sdk`, typed by the contract. Only its types are imported: the schema library is not in the bundle. */
import type * as contract from '@berth/contract';
import { Berth, type WithResponse } from '@berth/sdk';
import type { z } from 'zod';
import operations from 'virtual:operations';
import { toShown, type ApiError } from './api-error.ts';
import { credential, refuse, type CredentialKind } from './sign-in/credentials.ts';

type Contract = typeof contract;
type AnyShape = z.ZodType | undefined;
type Input<S> = S extends z.ZodType ? z.input<S> : undefined;

/** Names of the contract's operations, such as `listSessions`. */
export type Operation = { [K in keyof Contract]: Contract[K] extends contract.Endpoint ? K : never }[keyof Contract];
export type Reply<N extends Operation> = contract.ReplyOf<Contract[N]>;

type Query = Record<string, string | number | boolean | undefined>;

export type Request<N extends Operation> =
  Contract[N] extends contract.Endpoint<infer P, AnyShape, infer B, AnyShape>
    ? {
        params?: Input<P>;
        /** Entries that are undefined are not sent. */
        query?: Query;
        body?: Input<B> | Record<string, unknown>;
        signal?: AbortSignal;
        headers?: Record<string, string>;
        /** Whether the request goes on when the page is left. Its body may then have 64 KiB. */
        keepalive?: boolean;
      }
    : never;

export interface Page<T> {
  items: T;
  /** The `query.cursor` of the next call; null on the last page. */
  nextCursor: string | null;
}

/** Calls an operation and returns its reply. @throws ApiError */
export async function call<N extends Operation>(name: N, request?: Request<N>): Promise<Reply<N>> {
  const { data } = await receive<Reply<N>>(name, request as AnyRequest);
  return data instanceof Response ? ((await data.blob()) as Reply<N>) : data;
}

/** Calls an operation that returns a page of a list. @throws ApiError */
export async function callPage<N extends Operation>(name: N, request?: Request<N>): Promise<Page<Reply<N>>> {
  const { data, response } = await receive<Reply<N>>(name, request as AnyRequest);
  return { items: data, nextCursor: response.headers.get('x-next-cursor') };
}

/** Calls an operation and returns its response with the body unread. @throws ApiError */
export async function send<N extends Operation>(name: N, request?: Request<N>): Promise<Response> {
  return (await receive(name, request as AnyRequest, 'response')).response;
}

/** The events of a session from its beginning until it ends, over reconnects. @throws ApiError */
export async function* eventsOf(sessionId: string, signal: AbortSignal): AsyncGenerator<contract.SessionEventResponse> {
  const { berth, refused } = signedIn('key');
  try {
    const events = berth.sessions.events(sessionId, { lastEventId: 0, maxRetries: Infinity, signal });
    yield* events as AsyncIterable<contract.SessionEventResponse>;
  } catch (error) {
    throw refused(toShown(error));
  }
}

/** Path and query of an operation, for links that a program opens. */
export function addressOf<N extends Operation>(name: N, request: Pick<Request<N>, 'params' | 'query'>): string {
  const { params, query = {} } = request as AnyRequest;
  const search = new URLSearchParams(Object.entries(valuesOf(query)).map(([key, value]) => [key, String(value)]));
  return search.size > 0 ? `${pathOf(name, params)}?${search}` : pathOf(name, params);
}

/** A request of any operation. */
interface AnyRequest {
  params?: object;
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  keepalive?: boolean;
}

async function receive<T>(name: Operation, request: AnyRequest = {}, as = replyForm(name)): Promise<WithResponse<T>> {
  const [method, , auth] = operation(name);
  const { params, query = {}, body, signal, headers, keepalive = false } = request;
  // A credential that is being tried out is not the one that is held.
  const isOther = headers !== undefined && ('authorization' in headers || 'x-admin-key' in headers);
  const { berth, refused } = signedIn(isOther ? null : kindOf(auth), { keepalive });
  try {
    return await berth.raw
      .request<T>(method, pathOf(name, params), {
        query: valuesOf(query),
        body,
        signal,
        headers: as === 'json' ? headers : { accept: '*/*', ...headers },
        as,
        asAdmin: kindOf(auth) === 'admin',
      })
      .withResponse();
  } catch (error) {
    throw signal?.aborted ? error : refused(toShown(error));
  }
}

/** How the client reads the reply of an operation. */
function replyForm(name: Operation): 'json' | 'text' | 'response' {
  const kind = operation(name)[3];
  if (kind === 'json' || kind === 'empty') return 'json';
  return kind === 'bytes' ? 'response' : 'text';
}

interface SignedIn {
  berth: Berth;
  /** Signs out with a credential that the service no longer accepts, and returns the error. */
  refused: (error: ApiError) => ApiError;
}

/** A client with a credential that is held, or with none. */
function signedIn(kind: CredentialKind | null, init: RequestInit = {}): SignedIn {
  const used = kind ? credential(kind) : undefined;
  const berth = new Berth({
    apiKey: kind === 'admin' ? null : (used ?? null),
    adminKey: kind === 'admin' ? (used ?? null) : null,
    // A person sees the refusal and decides, and what is shown is read again at intervals.
    maxRetries: 0,
    fetch: (input, own) => fetch(input, { ...own, ...init, cache: 'no-store' }),
  });
  const refused = (error: ApiError): ApiError => {
    if (kind && used !== undefined && refusedCodes.has(error.code))
      refuse(kind, { used, reason: `${error.message} It was accepted before: it has been revoked or has expired.` });
    return error;
  };
  return { berth, refused };
}

/** Codes that mean that the credential itself is no good. */
const refusedCodes: ReadonlySet<string> = new Set(['invalid_api_key', 'invalid_admin_key', 'invalid_login_token']);

/** Filters that a form left empty are not sent. */
const valuesOf = (query: Query): Record<string, string | number | boolean> =>
  Object.fromEntries(Object.entries(query).flatMap(([key, value]) => (value === undefined || value === '' ? [] : [[key, value]])));

function pathOf(name: Operation, params: object = {}): `/${string}` {
  const values = params as Record<string, string>;
  return operation(name)[1].replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(values[field] ?? '')) as `/${string}`;
}

function operation(name: string): readonly [method: string, path: string, auth: string, replyKind: string] {
  const entry = operations[name];
  if (!entry) throw new Error(`the contract has no operation ${name}`);
  return entry;
}

function kindOf(auth: string): CredentialKind | null {
  // Views have tokens and cookies of their own.
  if (auth === 'none' || auth === 'view' || auth === 'vnc') return null;
  if (auth === 'admin' || auth === 'metrics') return 'admin';
  return auth === 'login' ? 'login' : 'key';
}

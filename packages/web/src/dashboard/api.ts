/** Calls of the API, typed by the contract. Only its types are imported: the schema library is not in the bundle. */
import type * as contract from '@berth/contract';
import type { z } from 'zod';
import operations from 'virtual:operations';
import { toApiError, unreachable } from './api-error.ts';
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
      }
    : never;

export interface Page<T> {
  items: T;
  /** The `query.cursor` of the next call; null on the last page. */
  nextCursor: string | null;
}

/** Calls an operation and returns its reply. @throws ApiError */
export async function call<N extends Operation>(name: N, request?: Request<N>): Promise<Reply<N>> {
  const response = await send(name, request);
  return (await read(name, response)) as Reply<N>;
}

/** Calls an operation that returns a page of a list. @throws ApiError */
export async function callPage<N extends Operation>(name: N, request?: Request<N>): Promise<Page<Reply<N>>> {
  const response = await send(name, request);
  return { items: (await read(name, response)) as Reply<N>, nextCursor: response.headers.get('x-next-cursor') };
}

/** Sends a request with the credential that the operation needs, and returns a successful response. @throws ApiError */
export async function send<N extends Operation>(name: N, request: Request<N> = {} as Request<N>): Promise<Response> {
  const [method, , auth] = operation(name);
  const kind = kindOf(auth);
  const { body, signal, headers } = request;
  // A credential that is being tried out is not the one that is held.
  const isOther = headers !== undefined && ('authorization' in headers || 'x-admin-key' in headers);
  const used = kind && !isOther ? credential(kind) : undefined;
  const response = await fetch(addressOf(name, request), {
    method,
    headers: { ...authorization(kind, used), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
    cache: 'no-store',
    redirect: 'error',
  }).catch((error: unknown) => {
    throw signal?.aborted ? signal.reason : error instanceof TypeError ? unreachable() : error;
  });
  if (response.ok) return response;
  const error = toApiError(response.status, response.headers, await response.text());
  if (kind && used && refusedCodes.has(error.code))
    refuse(kind, { used, reason: `${error.message} It was accepted before: it has been revoked or has expired.` });
  throw error;
}

/** Path and query of an operation, for links that a program opens. */
export function addressOf<N extends Operation>(name: N, { params, query }: Pick<Request<N>, 'params' | 'query'>): string {
  const values = (params ?? {}) as Record<string, string>;
  const path = operation(name)[1].replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(values[field] ?? ''));
  const search = new URLSearchParams();
  const sent: Query = query ?? {};
  for (const [key, value] of Object.entries(sent)) if (value !== undefined && value !== '') search.set(key, String(value));
  return search.size > 0 ? `${path}?${search}` : path;
}

/** Codes that mean that the credential itself is no good. */
const refusedCodes: ReadonlySet<string> = new Set(['invalid_api_key', 'invalid_admin_key', 'invalid_login_token']);

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

function authorization(kind: CredentialKind | null, value: string | undefined): Record<string, string> {
  if (!kind || value === undefined) return {};
  return kind === 'admin' ? { 'x-admin-key': value } : { authorization: `Bearer ${value}` };
}

async function read(name: Operation, response: Response): Promise<unknown> {
  switch (operation(name)[3]) {
    case 'empty':
      return undefined;
    case 'json':
      return response.json();
    case 'bytes':
      return response.blob();
    default:
      return response.text();
  }
}

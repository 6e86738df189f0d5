/** Calls the service and checks that each reply is declared. Loads nothing of the service, which a test may run as a process. */
import assert from 'node:assert/strict';
import { ErrorBody, ValidationBody, errors, errorsOf, type BodyOf, type Endpoint, type ErrorCode, type ReplyOf } from '@berth/contract';
import { assertInDocument } from './contract/declared-replies.ts';
import { endAfterTests } from './end-of-file.ts';

// Of a test that runs alone; a batch has called it before. A bench, or the worker of a test, is none: the runner would
// follow each of its promises.
if (/\.(?:test|microvm|nightly)\.ts$/.test(process.argv[1] ?? '')) endAfterTests();

export const adminKey = 'test-admin-key-0123456789abcdef0123456789';

export interface Request<E extends Endpoint> {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: E extends Endpoint ? Partial<BodyOf<E>> | Record<string, unknown> : never;
  /** Sent unchanged instead of `body`. */
  rawBody?: string;
  headers?: Record<string, string>;
  /** An API key or a login token; null sends no credential. The default is the owner `local`'s, or the admin key. */
  key?: string | null;
  signal?: AbortSignal;
}

export interface Reply<T = unknown> {
  status: number;
  headers: Headers;
  body: T;
  text: string;
}

export class Client {
  readonly #url: string;
  readonly #key: string;
  readonly #adminKey: string;
  readonly #login: () => Promise<string>;

  /** `login` creates a token for each call that requires one. */
  constructor(url: string, key: string, operator = adminKey, login: () => Promise<string> = () => assert.fail('this client has no login')) {
    this.#url = url;
    this.#key = key;
    this.#adminKey = operator;
    this.#login = login;
  }

  async call<E extends Endpoint>(endpoint: E, request: Request<E> = {}): Promise<Reply<ReplyOf<E>>> {
    return (await this.send(endpoint, request)) as Reply<ReplyOf<E>>;
  }

  async refuse<E extends Endpoint>(
    endpoint: E,
    code: ErrorCode,
    request: Request<E> = {},
  ): Promise<{ reply: Reply; details: Record<string, unknown>; message: string }> {
    const reply = await this.call(endpoint, request);
    assert.equal(
      reply.status,
      errors[code].status,
      `${endpoint.method} ${endpoint.path} answered ${reply.status}: ${reply.text.slice(0, 2000)}`,
    );
    const { error } = ErrorBody.parse(reply.body);
    assert.equal(error.code, code);
    return { reply, details: error.details, message: error.message };
  }

  async issues<E extends Endpoint>(endpoint: E, request: Request<E> = {}): Promise<ValidationBody['detail']> {
    const reply = await this.call(endpoint, request);
    assert.equal(reply.status, 422, reply.text.slice(0, 2000));
    return ValidationBody.parse(reply.body).detail;
  }

  async send(endpoint: Endpoint, request: Request<Endpoint> = {}): Promise<Reply> {
    const { method } = endpoint;
    const sent = request.rawBody ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const headers = {
      ...(await this.#credential(endpoint, request.key)),
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    };
    const response = await fetch(this.#url + pathOf(endpoint, request), {
      method,
      headers,
      ...(sent === undefined ? {} : { body: sent }),
      ...(request.signal ? { signal: request.signal } : {}),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const body: unknown = type.startsWith('application/json') ? JSON.parse(text) : type.startsWith('text/plain') ? text : undefined;
    const reply = { status: response.status, headers: response.headers, text, body };
    assertDeclared(endpoint, reply);
    return reply;
  }

  async #credential({ auth }: Endpoint, key: string | null | undefined): Promise<Record<string, string>> {
    if (key === null || auth === 'none') return {};
    if (auth === 'admin' || auth === 'metrics') return { 'x-admin-key': this.#adminKey };
    return { authorization: `Bearer ${key ?? (auth === 'login' ? await this.#login() : this.#key)}` };
  }
}

export function pathOf(endpoint: Endpoint, { params = {}, query = {} }: Pick<Request<Endpoint>, 'params' | 'query'>): string {
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? `no-${name}`));
  const search = new URLSearchParams(query).toString();
  return search ? `${path}?${search}` : path;
}

/** Every reply must be declared by the contract and by the document that is made from it. */
export function assertDeclared(endpoint: Endpoint, reply: Reply): void {
  assertInDocument(endpoint, reply);
  const isJson = reply.headers.get('content-type')?.startsWith('application/json') === true;
  // Files are sent as they are.
  if (isJson && !(endpoint.replyKind === 'bytes' && reply.status < 300)) assert.match(reply.text, /\n$/);
  const where = `${endpoint.method} ${endpoint.path} answered ${reply.status}: ${reply.text.slice(0, 2000)}`;
  if (reply.status === endpoint.status || endpoint.alsoStatus?.includes(reply.status)) {
    // Parsing drops undeclared fields, so the result must equal the body.
    const body = endpoint.replyKind === 'html' ? reply.text : reply.body;
    if (endpoint.reply) assert.deepEqual(endpoint.reply.parse(body), body, where);
    else if (endpoint.replyKind === 'empty') assert.equal(reply.text, '', where);
    return;
  }
  // People who open links in a browser get a page.
  if (reply.headers.get('content-type')?.startsWith('text/html')) return;
  if (reply.status === 422) {
    ValidationBody.parse(reply.body);
    assert.deepEqual([reply.headers.get('x-should-retry'), reply.headers.get('retry-after')], ['false', null], where);
    return;
  }
  const { error } = ErrorBody.parse(reply.body, { error: () => where });
  assert.equal(reply.headers.get('x-should-retry'), String(error.retryable), where);
  assert.ok(error.retryable || reply.headers.get('retry-after') === null, where);
  assert.ok(errorsOf(endpoint).includes(error.code), `undeclared: ${where}`);
  assert.equal(errors[error.code].status, reply.status, where);
}

/** A reply as comparable bytes, without the parts that differ between requests. */
export const comparable = ({ status, headers, text }: Reply): string => {
  const compared = [...headers].filter(
    ([name]) => !['date', 'x-request-id', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].includes(name),
  );
  return JSON.stringify([status, compared, text.replace(/"request_id":"[^"]*"/, '')]);
};

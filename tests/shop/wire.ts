/** The shop's requests, replies and router. */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Visitor, ShopState } from './state.ts';

export interface Call {
  method: string;
  url: URL;
  /** Path parameters of the route: `/products/:slug`. */
  params: Record<string, string>;
  headers: IncomingHttpHeaders;
  cookies: Record<string, string>;
  body: Buffer;
  state: ShopState;
  /** The visitor of the session cookie, if any. */
  visitor: Visitor | undefined;
  /** Returns the visitor, or creates one and sets its cookie. */
  ensureVisitor(): Visitor;
  /** Sets a cookie with the response. */
  setCookie(cookie: string): void;
}

export interface Reply {
  status?: number;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
}

/** A reply, or a function that writes the response. */
export type Answer = Reply | ((response: ServerResponse) => void);
export type Route = (call: Call) => Answer | Promise<Answer>;
/** Routes by method and path: `GET /products/:slug`. */
export type Routes = Record<string, Route>;

interface Pattern {
  method: string;
  segments: string[];
  route: Route;
}

export interface RouteMatch {
  route: Route;
  params: Record<string, string>;
}

/** Finds the route of a request, or the methods that its path allows. */
export function finder(routes: Routes): (method: string, path: string) => RouteMatch | { allow: string[] } {
  const patterns: Pattern[] = Object.entries(routes).map(([key, route]) => {
    const [method = '', path = ''] = key.split(' ');
    return { method, segments: path.split('/'), route };
  });
  // Fixed paths come before paths with parameters.
  patterns.sort((a, b) => Number(a.segments.some(isName)) - Number(b.segments.some(isName)));
  return (method, path) => {
    const fitting = patterns.flatMap((pattern) => {
      const params = match(pattern.segments, path.split('/'));
      return params ? [{ ...pattern, params }] : [];
    });
    const wanted = method === 'HEAD' ? 'GET' : method;
    return fitting.find((pattern) => pattern.method === wanted) ?? { allow: fitting.map((pattern) => pattern.method) };
  };
}

const isName = (segment: string): boolean => segment.startsWith(':');

function match(pattern: string[], path: string[]): Record<string, string> | undefined {
  if (pattern.length !== path.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, segment] of pattern.entries()) {
    const given = path[i] ?? '';
    if (isName(segment) && given) params[segment.slice(1)] = given;
    else if (segment !== given) return undefined;
  }
  return params;
}

export const formOf = (call: Call): URLSearchParams => new URLSearchParams(call.body.toString('utf8'));

export const redirect = (location: string, status = 303): Reply => ({ status, headers: { location } });

export const text = (body: string | Buffer, type = 'text/plain; charset=utf-8', headers: OutgoingHttpHeaders = {}): Reply => ({
  headers: { 'content-type': type, ...headers },
  body,
});

export const json = (value: unknown, status = 200, headers: OutgoingHttpHeaders = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: JSON.stringify(value),
});

/** The reply with its ETag, or 304 when it is unchanged. */
export function withEtag(call: Call, reply: Reply): Reply {
  if ((reply.status ?? 200) !== 200 || reply.body === undefined) return reply;
  const etag = `"${createHash('sha256').update(reply.body).digest('base64url').slice(0, 16)}"`;
  const headers = { ...reply.headers, etag };
  return call.headers['if-none-match'] === etag ? { status: 304, headers } : { ...reply, headers };
}

export function cookiesOf(headers: IncomingHttpHeaders): Record<string, string> {
  const pairs = (headers.cookie ?? '').split('; ').filter((pair) => pair.includes('='));
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

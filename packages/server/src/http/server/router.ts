import { ServiceError } from '@berth/contract';
import FindMyWay from 'find-my-way';
import { parseQuery, type RawRequest } from '../body/validate.ts';
import type { Exchange } from './exchange.ts';

interface Path<Route> {
  /** As the routes were added: `/things/:id`, `/files/*`. */
  path: string;
  /** By their method. */
  routes: Map<string, Route>;
}

/** Longer ones are no typing errors. */
const similarSegmentsMax = 8;
/** The library knows one tree for each method; here all paths are in one, so that the most exact path decides, whatever it answers. */
const tree = 'GET';

/** The routes of requests and of upgrades. The most exact path that matches is the one that is meant, also with a method that it has not. */
export class Router<Route> {
  readonly #paths = new Map<string, Path<Route>>();
  readonly #tree: FindMyWay.Instance<FindMyWay.HTTPVersion.V1>;

  /** `targetMax`: characters of a target that may be a single parameter. */
  constructor(targetMax: number) {
    this.#tree = FindMyWay({
      ignoreTrailingSlash: true,
      maxParamLength: targetMax,
      querystringParser: parseQuery,
      // Without it, a malformed target would be an unknown one.
      onBadUrl: () => undefined,
    });
  }

  add(method: string, path: string, route: Route): void {
    const known = this.#paths.get(path) ?? this.#insert(path);
    if (known.routes.has(method)) throw new Error(`${method} ${path} is mounted already`);
    known.routes.set(method, route);
  }

  has(method: string, path: string): boolean {
    return this.#paths.get(path)?.routes.has(method) === true;
  }

  /** @throws ServiceError bad_request, route_not_found, method_not_allowed */
  find(exchange: Exchange): { route: Route; raw: RawRequest } {
    const { target } = exchange;
    const { method = '' } = exchange.request;
    const found = this.#tree.find(tree, target);
    const path = found?.store as Path<Route> | null | undefined;
    if (path === null) throw new ServiceError('bad_request', 'The URL of the request is malformed.');
    // TRACE would return the request's own headers: no path has it, and none says so.
    if (!found || !path || method === 'TRACE') throw routeNotFound(`endpoint matches ${method}`, exchange, this.#similarTo(target, method));
    const route = routeOf(path, method);
    if (route === undefined) throw methodNotAllowed(path);
    return { route, raw: { params: found.params as Record<string, string>, query: found.searchParams } };
  }

  #insert(path: string): Path<Route> {
    const inserted = { path, routes: new Map<string, Route>() };
    this.#tree.on(tree, path, () => undefined, inserted);
    this.#paths.set(path, inserted);
    return inserted;
  }

  /** A path with the method that `target` most likely means: with `/v1`, or with one segment in the other number. */
  #similarTo(target: string, method: string): string | undefined {
    const [address = ''] = target.replace(/^https?:\/\/[^/?]*/i, '').split(/[?#]/, 1);
    const segments = address.split('/').filter((segment) => segment !== '' && segment !== 'api');
    if (segments.length > similarSegmentsMax) return undefined;
    const versioned = segments[0] === 'v1' ? segments : ['v1', ...segments];
    const variants = [versioned, ...versioned.map((segment, at) => versioned.toSpliced(at, 1, otherNumber(segment)))];
    const known = variants.map((variant) => this.#tree.find(tree, `/${variant.join('/')}`)?.store as Path<Route> | null | undefined);
    return known.find((each) => each && !each.path.endsWith('*') && routeOf(each, method) !== undefined)?.path;
  }
}

const otherNumber = (word: string): string => (word.endsWith('s') ? word.slice(0, -1) : `${word}s`);

/** GET is answered without its body, too. */
const routeOf = <Route>({ routes }: Path<Route>, method: string): Route | undefined => routes.get(method === 'HEAD' ? 'GET' : method);

function methodNotAllowed({ routes }: Path<unknown>): ServiceError {
  const allow = [...routes.keys(), ...(routes.has('GET') ? ['HEAD'] : [])];
  return new ServiceError('method_not_allowed', `Method not allowed. Allowed: ${allow.join(', ')}.`, { details: { allow } });
}

/** Characters of a path in an error message. */
const shownPathMax = 200;

export function routeNotFound(what: string, { path, request: { method } }: Exchange, similar?: string): ServiceError {
  const meant = similar === undefined ? 'See /docs.' : `Did you mean ${method} ${similar.replace(/:(\w+)/g, '{$1}')}?`;
  return new ServiceError('route_not_found', `Not found: no ${what} ${path.slice(0, shownPathMax)}. ${meant}`);
}

/**
 * Which methods each path has, for requests with another one: the router finds a path only by a method that it has, and
 * a route for each other method of each path would make up a sixth of a start.
 */
interface Junction {
  readonly literals: Map<string, Junction>;
  parameter?: Junction;
  /** Whatever follows. */
  rest?: string;
  path?: string;
}

export interface KnownPath {
  path: string;
  methods: readonly string[];
}

/** Longer ones are no typing errors. */
const similarSegmentsMax = 8;
const otherNumber = (word: string): string => (word.endsWith('s') ? word.slice(0, -1) : `${word}s`);

function segmentsOfTarget(target: string): string[] {
  const [address = ''] = target.replace(/^https?:\/\/[^/?]*/i, '').split(/[?#]/, 1);
  const path = decodeURI(address);
  return segmentsOf(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
}

const newJunction = (): Junction => ({ literals: new Map() });
const segmentsOf = (path: string): string[] => path.slice(1).split('/');
const isOpen = (segment: string | undefined): boolean => segment?.startsWith(':') === true;

/** Paths as the router writes them: `/things/:id`, `/files/*`. */
export class KnownPaths {
  readonly #methods = new Map<string, string[]>();
  readonly #root = newJunction();

  add(path: string, method: string): void {
    const methods = this.#methods.get(path);
    if (methods) methods.push(method);
    else {
      this.#methods.set(path, [method]);
      this.#insert(path);
    }
  }

  get methods(): ReadonlySet<string> {
    return new Set(withHead([...this.#methods.values()].flat()));
  }

  has(path: string, method: string): boolean {
    return this.#methods.get(path)?.includes(method) === true;
  }

  /** Undefined where no path matches. Of several the one that the router prefers. `target`: of a request, which the router could read. */
  methodsAt(target: string): readonly string[] | undefined {
    return this.#methods.get(find(this.#root, segmentsOfTarget(target), 0) ?? '');
  }

  /** A path with the method that `target` most likely means: with `/v1`, or with one segment in the other number. */
  similarTo(target: string, method: string): string | undefined {
    const segments = segmentsOfTarget(target).filter((segment) => segment !== 'api');
    if (segments.length > similarSegmentsMax) return undefined;
    const versioned = segments[0] === 'v1' ? segments : ['v1', ...segments];
    const variants = [versioned, ...versioned.map((segment, at) => versioned.toSpliced(at, 1, otherNumber(segment)))];
    for (const variant of variants) {
      const path = find(this.#root, variant, 0);
      if (path !== undefined && !path.endsWith('*') && withHead(this.#methods.get(path) ?? []).includes(method)) return path;
    }
    return undefined;
  }

  /** Paths that also match a less exact one, with the methods that only that has: the router would take the request to it. */
  exceptions(): KnownPath[] {
    const all = [...this.#methods].map(([path, methods]) => ({ path, methods, segments: segmentsOf(path) }));
    const wide = all.filter(({ segments }) => segments.some((segment) => isOpen(segment) || segment === '*'));
    return all.flatMap(({ path, methods, segments }) => {
      const others = wide.filter((other) => other.path !== path && overlap(segments, other.segments));
      const more = new Set(others.flatMap((other) => withHead(other.methods)));
      const missing = [...more].filter((method) => !withHead(methods).includes(method));
      return missing.length > 0 ? [{ path, methods: missing }] : [];
    });
  }

  #insert(path: string): void {
    let junction = this.#root;
    for (const segment of segmentsOf(path)) {
      if (segment === '*') {
        junction.rest = path;
        return;
      }
      const next: Junction = (isOpen(segment) ? junction.parameter : junction.literals.get(segment)) ?? newJunction();
      if (isOpen(segment)) junction.parameter = next;
      else junction.literals.set(segment, next);
      junction = next;
    }
    junction.path = path;
  }
}

/** GET is answered without its body, too. */
export const withHead = (methods: readonly string[]): string[] => (methods.includes('GET') ? [...methods, 'HEAD'] : [...methods]);

function find({ literals, parameter, rest, path }: Junction, segments: readonly string[], at: number): string | undefined {
  const segment = segments[at];
  if (segment === undefined) return path;
  const literal = literals.get(segment);
  return (literal && find(literal, segments, at + 1)) ?? (parameter && find(parameter, segments, at + 1)) ?? rest;
}

/** Whether some address matches both. */
function overlap(one: readonly string[], other: readonly string[]): boolean {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const [left, right] = [one[at], other[at]];
    if (left === undefined || right === undefined) return false;
    if (left === '*' || right === '*') return true;
    if (left !== right && !isOpen(left) && !isOpen(right)) return false;
  }
  return true;
}

/** Matching of host names against `example.com` and `*.example.com`. */
import { parseHost } from './addresses.ts';

/** Whether a host is one of the names, or under one that begins with `*.`; the name itself is not under it. */
export function domainMatcher(patterns: readonly string[]): (host: string) => boolean {
  const exact = new Set<string>();
  const parents = new Set<string>();
  for (const pattern of patterns) {
    const wild = pattern.startsWith('*.');
    const name = wild ? pattern.slice(2) : pattern;
    (wild ? parents : exact).add(parseHost(name) ?? name.toLowerCase());
  }
  return (host) => exact.has(host) || (parents.size > 0 && isUnder(host, parents));
}

/** Whether a host is one of the names or a part of one's domain. */
export const inDomains = (host: string, names: ReadonlySet<string>): boolean => names.has(host) || isUnder(host, names);

function isUnder(host: string, names: ReadonlySet<string>): boolean {
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) if (names.has(host.slice(dot + 1))) return true;
  return false;
}

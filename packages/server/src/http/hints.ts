/** What to change in a request that was refused, where that can be guessed. Hints repeat no input, which may be secret. */
import { closestName } from '../lib/closest-name.ts';

/** For a field that is none of `names`. */
export function nameHint(name: string, names: readonly string[]): string | undefined {
  const closest = closestName(name, names);
  return closest === null ? undefined : `Did you mean \`${closest}\`?`;
}

/** A host, with or without a port and a path. */
const bareHost = /^[a-z0-9][a-z0-9.-]{0,252}(?::\d{1,5})?(?:[/?#]|$)/i;
const localHost = /^(?:localhost|[\d.]+)(?:[:/?#]|$)/i;

/** For a URL whose scheme is missing: `localhost:3000` parses as the scheme `localhost`. */
export function urlHint(type: string, input: unknown): string | undefined {
  if ((type !== 'url_parsing' && type !== 'url_scheme') || typeof input !== 'string' || !bareHost.test(input)) return undefined;
  return `Add \`${localHost.test(input) ? 'http' : 'https'}://\`.`;
}

/** For a request without its body. `required`: the fields that it needs. */
export const bodyHint = (required: readonly string[]): string =>
  required.length === 0
    ? 'Send `{}` for the defaults, as JSON.'
    : `Send a JSON object with ${required.map((name) => `\`${name}\``).join(' and ')}.`;

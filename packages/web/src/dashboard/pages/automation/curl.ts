/** Requests as commands that a shell runs. */

/** Quotes a text for a POSIX shell. Inside single quotes only the quote itself is special. */
const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * The command that repeats a POST. The key is read from the environment, so that a copied command has none in it.
 * The body is passed by `--data-raw`, as `--json` and `-d` read a file where it begins with `@`.
 */
export function toCurl(url: string, body: Readonly<Record<string, unknown>>): string {
  return [
    `curl -sS ${quote(url)}`,
    '-H "Authorization: Bearer $BERTH_API_KEY"',
    "-H 'Content-Type: application/json'",
    `--data-raw ${quote(JSON.stringify(body))}`,
  ].join(' \\\n  ');
}

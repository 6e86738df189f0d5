/** Writes openapi.json and the clients from the contract; with `--check` fails when the file says something else. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { apiVersion, endpoints, createOpenApiDocument } from '@berth/contract';

/** Depth of a path's operations and of components: each of these stands on a line of its own, so that changes of one can be read. */
const lineDepth = 3;

/** The value as JSON, in lines down to a depth. Indented throughout, the document is nearly twice as large. */
function toLines(value: unknown, depth = 0): string {
  if (depth === lineDepth || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}:${toLines(part, depth + 1)}`);
  return entries.length === 0 ? '{}' : `{\n${entries.join(',\n')}\n}`;
}

const file = fileURLToPath(new URL('../openapi.json', import.meta.url));
const text = `${toLines(createOpenApiDocument({ endpoints, version: apiVersion }))}\n`;

if (process.argv.includes('--check')) {
  const committed = await readFile(file, 'utf8').catch(() => '');
  if (committed !== text) {
    console.error('openapi.json does not say what the contract says. Run `npm run openapi` and commit the file.');
    process.exitCode = 1;
  }
} else {
  await writeFile(file, text);
  // The clients follow from the same contract: one command writes all of it.
  await import('./clients.ts');
}

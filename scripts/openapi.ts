/** Writes openapi.json from the contract; with `--check` fails when the file says something else. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { apiVersion, endpoints, createOpenApiDocument } from '../packages/contract/src/contract.ts';

const file = fileURLToPath(new URL('../openapi.json', import.meta.url));
const text = `${JSON.stringify(createOpenApiDocument({ endpoints, version: apiVersion }), null, 2)}\n`;

if (process.argv.includes('--check')) {
  const committed = await readFile(file, 'utf8').catch(() => '');
  if (committed !== text) {
    console.error('openapi.json does not say what the contract says. Run `npm run openapi` and commit the file.');
    process.exitCode = 1;
  }
} else await writeFile(file, text);

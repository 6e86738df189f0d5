/** Writes the configuration table of README.md from the schema; with `--check` fails when the file says something else. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { configTable } from '../packages/server/src/config.ts';

const file = fileURLToPath(new URL('../README.md', import.meta.url));
const marks = /(<!-- config: .*? -->\n)[^]*?(\n<!-- \/config -->)/;

const committed = await readFile(file, 'utf8');
if (!marks.test(committed)) throw new Error('README.md has lost the marks around its configuration table');
const text = committed.replace(marks, (_, before: string, after: string) => `${before}\n${configTable()}\n${after}`);

if (process.argv.includes('--check')) {
  if (committed !== text) {
    console.error('README.md does not tell the configuration as it is. Run `npm run readme` and commit the file.');
    process.exitCode = 1;
  }
} else await writeFile(file, text);

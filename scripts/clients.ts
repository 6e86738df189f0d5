/** Writes what the clients are made of from the contract; with `--check` fails when a file says something else. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readModel } from './clients/document.ts';
import { emitPython } from './clients/python.ts';
import { emitSamples } from './clients/samples.ts';
import { emitTypeScript } from './clients/typescript.ts';

const root = resolve(import.meta.dirname, '..');
const model = readModel();
/** Files by their path in the repository. */
const files: Record<string, string> = { ...emitTypeScript(model), ...emitPython(model), ...emitSamples(model) };

for (const [path, text] of Object.entries(files)) {
  const file = join(root, path);
  const committed = await readFile(file, 'utf8').catch(() => '');
  if (committed === text) continue;
  if (process.argv.includes('--check')) {
    console.error(`${path} does not say what the contract says. Run \`npm run clients\` and commit the file.`);
    process.exitCode = 1;
  } else {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

/** Files that the command line keeps. They may have secrets: nobody else reads them, and a reader sees the old or the new one. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { exitCodes, CommandError } from './failures.ts';

/** Writes JSON that only this user reads, as a whole. */
export function writePrivateJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(aside, path);
}

/** Reads a file of JSON; undefined where there is none. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(path, `cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would show a part of the file, which has keys.
    throw unusable(path, 'is not JSON');
  }
}

const unusable = (path: string, why: string): CommandError =>
  new CommandError(exitCodes.usage, 'file_unusable', `${path} ${why}.`, 'Mend or remove the file.');

export const removeFile = (path: string): void => rmSync(path, { force: true });

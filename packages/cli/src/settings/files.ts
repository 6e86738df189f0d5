/** Files that the command line keeps. They may have secrets: nobody else reads them, and a reader sees the old or the new one. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { exitCodes, CommandError } from '../failures.ts';

/** Writes JSON that only this user reads, as a whole. */
export function writePrivateJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceFile(path, `${JSON.stringify(value, null, 2)}\n`, 0o600);
}

function replaceFile(path: string, text: string, mode: number): void {
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, text, { mode });
  renameSync(aside, path);
}

/** Changes a file of another program, and keeps what it was beside it. Returns the path of that; undefined where there was no file. */
export function changeForeignFile(path: string, text: string): string | undefined {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) {
    writeFileSync(path, text, { flag: 'wx' });
    return undefined;
  }
  // Settings are often links into a folder that is under version control.
  const real = realpathSync(path);
  const backup = `${path}.before-berth`;
  copyFileSync(real, backup);
  replaceFile(real, text, statSync(real).mode & 0o777);
  return backup;
}

/** The text of a file; undefined where there is none. */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(path, `cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Reads a file of JSON; undefined where there is none. */
export function readJson(path: string): unknown {
  const text = readTextFile(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would show a part of the file, which has keys.
    throw unusable(path, 'is not JSON');
  }
}

export const unusable = (path: string, why: string): CommandError =>
  new CommandError(exitCodes.usage, 'file_unusable', `${path} ${why}.`, 'Mend or remove the file.');

export const removeFile = (path: string): void => rmSync(path, { force: true });

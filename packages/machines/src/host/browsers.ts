/** Which browser this host has: where distributions and installers put one, its version, and its age. */
import { closeSync, globSync, openSync, readSync, realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { canRun } from '@berth/lib/can-run.ts';
import { programVersion } from './program-version.ts';

export interface Browser {
  /** The version as the program prints it, such as `Chromium 156.0.8078.47`; of an image, that of its package. */
  version: string;
  /** The time at which its program file was written: built by the distribution, or installed. */
  builtAt: Date;
}

/** An older browser lacks fixes of several releases, of which Chromium has one at least every four weeks. */
export const browserAgeDaysMax = 90;

export const browserAgeDays = ({ builtAt }: Browser, nowMs: number): number =>
  Math.max(0, Math.floor((nowMs - builtAt.getTime()) / 86_400_000));

/** Reads the browser at a path; null where it does not run. @throws Error where there is no such file */
export async function readBrowser(path: string): Promise<Browser | null> {
  const [version, { mtime }] = await Promise.all([programVersion(path), stat(path)]);
  return version === null ? null : { version, builtAt: mtime };
}

export interface BrowserPrograms {
  /** null: there is none. */
  chromium: string | null;
  /** The headless shell, which takes a third of the work of a whole browser. */
  shell: string | null;
}

interface Places {
  /** A folder that `npx @puppeteer/browsers install NAME --path FOLDER` has filled. */
  installed: string;
  home: string;
  /** Root of the file system. */
  root?: string;
}

/**
 * Programs in the order in which they are chosen: of Debian, and Fedora's; Google Chrome; those that were installed for this
 * service; those that Playwright has installed. Of several versions the latest.
 */
export function findBrowserPrograms({ installed, home, root = '/' }: Places): BrowserPrograms {
  const playwright = join(home, '.cache/ms-playwright');
  return {
    chromium: firstOf(root, [
      'usr/lib/chromium/chromium',
      'usr/lib64/chromium-browser/chromium-browser',
      'opt/google/chrome/chrome',
      join(installed, 'chrome/*/*/chrome'),
      join(playwright, 'chromium-*/*/chrome'),
    ]),
    shell: firstOf(root, [
      'usr/lib/chromium/chromium-headless-shell',
      'usr/lib64/chromium-browser/headless_shell',
      join(installed, 'chrome-headless-shell/*/*/chrome-headless-shell'),
      join(playwright, 'chromium_headless_shell-*/*/{headless_shell,chrome-headless-shell}'),
    ]),
  };
}

const byVersion = new Intl.Collator('en', { numeric: true });

function firstOf(root: string, patterns: readonly string[]): string | null {
  for (const pattern of patterns) {
    const found = globSync(pattern.startsWith('/') ? pattern : join(root, pattern)).toSorted((one, other) => byVersion.compare(other, one));
    const program = found.find((path) => canRun(path));
    if (program !== undefined) return program;
  }
  return null;
}

/** A snap has its own root, which a jail does not have; Ubuntu's `chromium-browser` is a script that starts it. */
export function isSnap(path: string): boolean {
  try {
    return /\/snap(\/|$)/.test(realpathSync(path)) || (isScript(path) && readStart(path, 4096).includes('/snap/'));
  } catch {
    return false;
  }
}

/** Distributions put one with their own settings on the path. */
export const isScript = (path: string): boolean => readStart(path, 2) === '#!';

function readStart(path: string, bytes: number): string {
  const start = Buffer.alloc(bytes);
  const file = openSync(path, 'r');
  try {
    return start.toString('latin1', 0, readSync(file, start));
  } finally {
    closeSync(file);
  }
}

/** Writes what coding agents read about this program into the folders in which they look for it. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Action } from '../../context.ts';
import { usageError } from '../../failures.ts';
import { changeForeignFile, readTextFile } from '../../settings/files.ts';
import { report } from '../../output.ts';

const file = join('berth', 'SKILL.md');

/** Folders of skills by agent, below a project and below the home folder. `.agents` is what several agents share. */
export const skillFolders: Readonly<Record<string, { local: string; global: string }>> = {
  'claude-code': { local: '.claude/skills', global: '.claude/skills' },
  codex: { local: '.agents/skills', global: '.agents/skills' },
  cursor: { local: '.cursor/skills', global: '.cursor/skills' },
  copilot: { local: '.github/skills', global: '.copilot/skills' },
  gemini: { local: '.gemini/skills', global: '.gemini/skills' },
};

export const skills: Action = async (context) => {
  const what = context.arg(0);
  if (what === 'get') return report({ name: 'berth', content: readSkill() }, ({ content }) => content.trimEnd());
  if (what !== 'install') throw usageError(`skills knows get and install, not ${JSON.stringify(what)}.`);
  const target = context.options.text('target') ?? '';
  const folders = Object.hasOwn(skillFolders, target) ? skillFolders[target] : undefined;
  if (!folders)
    throw usageError(`--target is one of ${Object.keys(skillFolders).join(', ')}.`, 'berth skills install --target claude-code');
  const folder = context.options.flag('global') ? join(homedir(), folders.global) : resolve(folders.local);
  const path = join(folder, file);
  const content = readSkill();
  const isThere = readTextFile(path) === content;
  const backup = isThere ? undefined : changeForeignFile(path, content);
  const status = isThere ? 'unchanged' : 'installed';
  return report({ target, path, status, ...(backup === undefined ? {} : { backup }) }, (seen) => `${seen.status}: ${seen.path}`);
};

/** The file stands in the package, beside the folder of this one or of its build. */
export function readSkill(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const paths = ['..', '../../..'].map((up) => join(here, up, 'skills', file));
  return readFileSync(paths.find((each) => existsSync(each)) ?? paths[0] ?? '', 'utf8');
}

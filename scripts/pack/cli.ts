/**
 * Builds the command line: one file that every command starts, and one for each group of commands, which is read when it is needed.
 * Run: `node scripts/pack/cli.ts FOLDER`.
 */
import { join, resolve } from 'node:path';
import { buildProgram, root } from './program.ts';

export const buildCommandLine = (folder: string): Promise<void> => buildProgram('berth', 'packages/cli/src/main.ts', folder);

if (import.meta.main) await buildCommandLine(resolve(process.argv[2] ?? join(root, 'packages/cli/dist')));

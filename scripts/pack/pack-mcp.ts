/**
 * Builds what is published of the MCP server: a folder for `npm publish`, by default `packages/mcp/dist`.
 * Run: `node scripts/pack/pack-mcp.ts [FOLDER]`.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildProgram, root } from './program.ts';

const source = join(root, 'packages/mcp');

export async function packMcp(folder: string): Promise<void> {
  await buildProgram('berth-mcp', 'packages/mcp/src/main.ts', join(folder, 'dist'));
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Record<string, unknown>;
  // What it exports are sources, for the service. What people install is the program.
  for (const name of ['private', 'exports', 'devDependencies']) delete manifest[name];
  const published = { ...manifest, bin: { 'berth-mcp': 'dist/berth-mcp.js' }, files: ['dist'] };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  copyFileSync(join(source, 'README.md'), join(folder, 'README.md'));
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

if (import.meta.main) await packMcp(resolve(process.argv[2] ?? join(source, 'dist')));

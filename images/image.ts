/**
 * Builds the image that virtual machines start from, or what has changed of it.
 *
 *   npm run image                       Debian 12
 *   npm run image -- --suite trixie     another one of Debian's suites
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ConfigError, readConfig } from '../packages/server/src/config.ts';
import { buildImage } from './build.ts';
import type { Built } from './build.ts';
import { ImageFault } from './fault.ts';
import { ImageFolder } from './image-folder.ts';
import { holdLock } from './lock.ts';

function readSuite(): string {
  const { suite } = readArguments();
  if (!/^[a-z]{1,32}$/.test(suite)) throw new ImageFault(`--suite takes the name of a suite of Debian, such as bookworm, and not ${suite}`);
  return suite;
}

function readArguments(): { suite: string } {
  try {
    return parseArgs({ options: { suite: { type: 'string', default: 'bookworm' } } }).values;
  } catch (cause) {
    throw new ImageFault(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

const tell = (line: string): void => console.log(line);
const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

function report({ manifest, folder, isNew }: Built): void {
  const { id, packages, bytes, kernel_version, chromium_version, node_version } = manifest;
  tell(isNew ? `The image ${id} is built: ${folder}` : `Nothing has changed: the image ${id} stays (${folder})`);
  tell(`  Chromium ${chromium_version}, Linux ${kernel_version}, Node ${node_version}, ${packages} packages of Debian`);
  const files = Object.entries({ 'root.erofs': bytes.root, 'agent.erofs': bytes.agent, kernel: bytes.kernel, initramfs: bytes.initramfs });
  tell(`  ${megabytes(bytes.unpacked)} unpacked; ${files.map(([name, size]) => `${name} ${megabytes(size)}`).join(', ')}`);
}

async function main(signal: AbortSignal): Promise<void> {
  // Machines read it as users of their own.
  process.umask(0o022);
  const suite = readSuite();
  const config = readConfig();
  if (config.imagesDir === null) mkdirSync(config.dataDir, { recursive: true, mode: 0o711 });
  const folder = new ImageFolder(config.imagesDir ?? join(config.dataDir, 'images'));
  const lock = await holdLock(folder.lockPath, { signal, onWait: () => tell('Waiting for another build of images in this folder ...') });
  await folder.clearAside();
  try {
    report(await buildImage({ folder, suite, lock, signal, tell }));
    for (const id of folder.prune()) tell(`The image ${id} is removed: two newer ones are there.`);
  } finally {
    await folder.clearAside();
  }
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stop.abort(new ImageFault('The build was stopped.')));
try {
  await main(stop.signal);
} catch (error) {
  const told = stop.signal.aborted ? stop.signal.reason : error;
  const isOperators = told instanceof ImageFault || told instanceof ConfigError;
  console.error(isOperators ? told.message : told);
  process.exitCode = 1;
}

/**
 * Builds the image of virtual machines, or the layers that have changed.
 *
 *   npm run image                       Debian 12
 *   npm run image -- --suite trixie     another one of Debian's suites
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ConfigError, readConfig } from '../packages/server/src/config.ts';
import { buildImage } from './build.ts';
import type { BuildResult } from './build.ts';
import { ImageError } from './error.ts';
import { ImageFolder } from './image-folder.ts';
import { acquireLock } from './lock.ts';

function readSuite(): string {
  const { suite } = readArguments();
  if (!/^[a-z]{1,32}$/.test(suite)) throw new ImageError(`--suite must be a Debian suite such as bookworm, not ${suite}`);
  return suite;
}

function readArguments(): { suite: string } {
  try {
    return parseArgs({ options: { suite: { type: 'string', default: 'bookworm' } } }).values;
  } catch (cause) {
    throw new ImageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

const log = (line: string): void => console.log(line);
const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

function report({ manifest, folder, isNew }: BuildResult): void {
  const { id, packages, bytes, kernel_version, chromium_version, node_version } = manifest;
  log(isNew ? `The image ${id} is built: ${folder}` : `Nothing has changed: the image ${id} is up to date (${folder})`);
  log(`  Chromium ${chromium_version}, Linux ${kernel_version}, Node ${node_version}, ${packages} packages of Debian`);
  const files = Object.entries({ 'root.erofs': bytes.root, 'agent.erofs': bytes.agent, kernel: bytes.kernel, initramfs: bytes.initramfs });
  log(`  ${megabytes(bytes.unpacked)} unpacked; ${files.map(([name, size]) => `${name} ${megabytes(size)}`).join(', ')}`);
}

async function main(signal: AbortSignal): Promise<void> {
  // Machines read the image as other users.
  process.umask(0o022);
  const suite = readSuite();
  const config = readConfig();
  if (config.imagesDir === null) mkdirSync(config.dataDir, { recursive: true, mode: 0o711 });
  const folder = new ImageFolder(config.imagesDir ?? join(config.dataDir, 'images'));
  const lock = await acquireLock(folder.lockPath, { signal, onWait: () => log('Waiting for another build of images in this folder ...') });
  await folder.clearAside();
  try {
    report(await buildImage({ folder, suite, lock, signal, log }));
    for (const id of folder.prune()) log(`The image ${id} was removed: there are two newer ones.`);
  } finally {
    await folder.clearAside();
  }
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stop.abort(new ImageError('The build was stopped.')));
try {
  await main(stop.signal);
} catch (error) {
  const failure = stop.signal.aborted ? stop.signal.reason : error;
  const isOperators = failure instanceof ImageError || failure instanceof ConfigError;
  console.error(isOperators ? failure.message : failure);
  process.exitCode = 1;
}

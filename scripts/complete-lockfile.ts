/**
 * Adds to the lockfile the optional packages for other platforms that the registry did not offer
 * when it was written. npm leaves them out without a word, and `npm ci` then refuses the lockfile
 * wherever it looks for them again. Run it after each `npm install`; it changes nothing else.
 *
 *     node scripts/complete-lockfile.ts [packages/site/package-lock.json]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

interface LockedPackage {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

/** What the name of a platform package says: `@oxfmt/binding-linux-arm64-musl`. */
const platforms = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const processors = ['arm64', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'arm'];

const file = resolve(import.meta.dirname, '..', process.argv[2] ?? 'package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockedPackage> };

function toEntry(name: string, version: string, dev: boolean): LockedPackage {
  if (name.includes('wasm32')) return { version, cpu: ['wasm32'], ...(dev && { dev }), optional: true };
  const os = platforms.find((platform) => name.includes(platform));
  const cpu = processors.find((processor) => name.includes(processor));
  if (!os || !cpu || !/^\d+\.\d+\.\d+/.test(version))
    throw new Error(`${name}@${version} is not in the lockfile, and its name does not say for which platform it is`);
  return { version, cpu: [cpu], ...(dev && { dev }), ...(name.includes('musl') && { libc: ['musl'] }), optional: true, os: [os] };
}

for (const [path, { optionalDependencies = {}, dev = false }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const key = `node_modules/${name}`;
    if (lock.packages[key] || lock.packages[`${path}/${key}`]) continue;
    // A range names no version that could be written here: the package goes without it, as on a system that it is not for.
    if (/^[~^]/.test(version)) {
      delete optionalDependencies[name];
      console.log(`left out ${name}@${version}`);
      continue;
    }
    lock.packages[key] = toEntry(name, version, dev);
    console.log(`added ${name}@${version}`);
  }
}
const [root, ...others] = Object.entries(lock.packages);
if (!root) throw new Error('the lockfile is empty');
lock.packages = Object.fromEntries([root, ...others.sort(([one], [other]) => one.localeCompare(other, 'en'))]);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);

/** Which files of Debian packages are in an image, read from dpkg's lists. */
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseStanzas } from './apt-sources.ts';
import type { PackedPackage } from '../layers.ts';

/** A package that is installed. */
export interface InstalledPackage {
  name: string;
  stanza: Record<string, string>;
  /** Its files, without folders: those it shares with others. From the root, with a slash. */
  files: string[];
}

const dpkgFolder = 'var/lib/dpkg';

export function readInstalled(root: string): InstalledPackage[] {
  const stanzas = parseStanzas(readFileSync(join(root, dpkgFolder, 'status'), 'utf8'));
  return stanzas
    .filter((stanza) => stanza['Status'] === 'install ok installed')
    .map((stanza) => ({ name: stanza['Package'] ?? '', stanza, files: readFiles(root, stanza) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Where several architectures may have a package, its list bears that of this one. */
function readFiles(root: string, { Package: name = '', Architecture: architecture = '' }: Record<string, string>): string[] {
  const lists = [`${name}.list`, `${name}:${architecture}.list`].map((file) => join(root, dpkgFolder, 'info', file));
  const list = lists.find((path) => existsSync(path));
  return list === undefined
    ? []
    : withoutFolders(
        readFileSync(list, 'utf8')
          .split('\n')
          .filter((path) => path.startsWith('/')),
      );
}

/** dpkg lists include parent folders without marking them. */
export function withoutFolders(paths: string[]): string[] {
  const inUsr = paths.map(pathInUsr);
  const folders = new Set(inUsr.map((path) => dirname(path)));
  return inUsr.filter((path) => path !== '/.' && !folders.has(path));
}

/** Packages name /bin and /lib, which are links into /usr: one file, one path. */
export const pathInUsr = (path: string): string => path.replace(/^\/(bin|sbin|lib|lib32|lib64|libx32)(?=\/|$)/, '/usr/$1');

const licencePath = (name: string): string => `/usr/share/doc/${name}/copyright`;

/** Which part of a package is in a file system. Returns null if it is nothing but the licence. */
export function packedInto(root: string, { name, stanza, files }: InstalledPackage): PackedPackage | null {
  const isThere = (path: string): boolean => lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === false;
  const packed = files.filter(isThere).length;
  const licence = existsSync(join(root, licencePath(name))) ? licencePath(name) : null;
  if (packed - (licence === null ? 0 : 1) <= 0) return null;
  return packedPackage(stanza, { packed, leftOut: files.length - packed }, licence);
}

/** A source is named where it bears another name or version than what is built from it. */
export function packedPackage(stanza: Record<string, string>, files: PackedPackage['files'], licence: string | null = null): PackedPackage {
  const { Package: name = '', Version: version = '', Architecture: architecture = '', Homepage: homepage = null } = stanza;
  const [, source = name, sourceVersion = version] = /^(\S+)(?: \((\S+)\))?$/.exec(stanza['Source'] ?? '') ?? [];
  return { name, version, architecture, source, sourceVersion, homepage, licence, files };
}

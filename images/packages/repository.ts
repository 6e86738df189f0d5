/**
 * Debian's packages, by a separate apt configuration: lists and archives are stored
 * beside the images, and the host's packages are not touched. Archives are cached,
 * so that the next image downloads only new ones.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseStanzas, writeSources } from './apt-sources.ts';
import type { AptSource } from './apt-sources.ts';
import { run } from '../command.ts';
import { digestOf, hashOf } from '../files/digest.ts';
import { ImageError } from '../error.ts';

export interface DebianPackage {
  name: string;
  version: string;
  architecture: string;
  /** Of its archive, as the signed lists have it. */
  sha256: string;
  bytes: number;
  /** All that the lists say of it. */
  stanza: string;
}

/** The packages of an image. */
export interface PackagePlan {
  /** For the file system: everything that is wanted, and all that it depends on. */
  root: DebianPackage[];
  kernel: DebianPackage;
  busybox: DebianPackage;
}

export interface WantedPackages {
  root: string[];
  kernel: string;
  busybox: string;
}

/** Of the operator's sources only those that say they are Debian, whoever else has a suite of that name. */
const preferences = `Package: *
Pin: release o=Debian
Pin-Priority: 500

Package: *
Pin: release n=*
Pin-Priority: -1
`;

/** Short, as an earlier image may exist when no mirror answers. */
const connectSecondsMax = 15;

export class Repository {
  readonly #folder: string;
  readonly #archives: string;
  readonly #settings: string;
  readonly #signal: AbortSignal;

  /** `folder` keeps lists and archives from one image to the next. */
  constructor(folder: string, { sources, architecture, signal }: { sources: AptSource[]; architecture: string; signal: AbortSignal }) {
    this.#folder = folder;
    this.#archives = join(folder, 'archives');
    this.#signal = signal;
    for (const path of [folder, this.#archives, join(folder, 'lists/partial'), join(folder, 'cache/archives/partial')])
      mkdirSync(path, { recursive: true });
    // An address may have the operator's password in it.
    writeFileSync(join(folder, 'debian.sources'), writeSources(sources), { mode: 0o600 });
    writeFileSync(join(folder, 'preferences'), preferences);
    this.#settings = settings(folder, architecture);
  }

  /** Downloads the lists. Older ones stay if it fails. @throws CommandError when no mirror answers */
  async refresh(): Promise<void> {
    const host = await run('apt-config', ['dump', 'Acquire'], { signal: this.#signal });
    // Credentials of the operator may be among it.
    writeFileSync(
      join(this.#folder, 'apt.conf'),
      `${host.replaceAll(/^(?!Acquire::(?:https?|Check-Valid-Until|ForceIPv)).*\n/gm, '')}${this.#settings}`,
      {
        mode: 0o600,
      },
    );
    await this.#apt('apt-get', ['update', '--option', 'APT::Update::Error-Mode=any']);
  }

  /** Whether there are any lists, current or older. */
  get hasLists(): boolean {
    return this.#releases().length > 0;
  }

  /** A hash that changes with any change of the lists. */
  async listsKey(): Promise<string> {
    return hashOf(await Promise.all(this.#releases().map(async (path) => `${basename(path)} ${await digestOf(path)}`)));
  }

  /** Chooses versions as apt would on an empty system. */
  async plan(wanted: WantedPackages): Promise<PackagePlan> {
    const printed = await this.#apt('apt-get', ['install', '--simulate', '--yes', '?essential', ...wanted.root]);
    const chosen = [...printed.matchAll(/^Inst (\S+) \((\S+) /gm)].map(([, name = '', version = '']) => `${name}=${version}`);
    const [root, [busybox], [kernelOfTheDay]] = [
      await this.#show(chosen),
      await this.#show([wanted.busybox]),
      await this.#show([wanted.kernel]),
    ];
    const name = /linux-image-\d[^\s,(]*/.exec(kernelOfTheDay ? (fieldsOf(kernelOfTheDay)['Depends'] ?? '') : '')?.[0];
    const [kernel] = name === undefined ? [] : await this.#show([name]);
    if (!busybox || !kernel || root.length === 0)
      throw new ImageError(`the mirror's lists have no ${busybox ? wanted.kernel : wanted.busybox}`);
    return { root: root.toSorted((a, b) => (a.name < b.name ? -1 : 1)), kernel, busybox };
  }

  /** Fetches what is missing, checked against the signed lists, and forgets what is no longer planned. */
  async fetch(plan: PackagePlan): Promise<void> {
    const planned = packagesOf(plan);
    const missing = planned.filter((each) => !isWhole(this.archiveOf(each), each.bytes));
    if (missing.length > 0)
      await this.#apt('apt-get', ['download', ...missing.map(({ name, version }) => `${name}=${version}`)], this.#archives);
    for (const each of missing)
      if ((await digestOf(this.archiveOf(each))) !== each.sha256)
        throw new ImageError(`the archive of ${each.name} ${each.version} is not what the list says`);
    const plannedNames = new Set(planned.map((each) => basename(this.archiveOf(each))));
    for (const name of readdirSync(this.#archives)) if (!plannedNames.has(name)) rmSync(join(this.#archives, name), { recursive: true });
  }

  archiveOf({ name, version, architecture }: DebianPackage): string {
    return join(this.#archives, archiveName({ name, version, architecture }));
  }

  /** Makes the archives a repository that holds the planned versions alone. Returns its line for apt. */
  publish(packages: DebianPackage[], suite: string): string {
    const stanzas = packages.map((each) => each.stanza.replace(/^Filename: .*$/m, `Filename: ./${archiveName(each)}`));
    writeFileSync(join(this.#archives, 'Packages'), `${stanzas.join('\n\n')}\n`);
    writeFileSync(join(this.#archives, 'Release'), `Origin: Debian\nSuite: ${suite}\nCodename: ${suite}\n`);
    return `deb [trusted=yes] copy:${encodeURI(this.#archives)} ./`;
  }

  async #show(names: string[]): Promise<DebianPackage[]> {
    return readPackages(await this.#apt('apt-cache', ['show', '--no-all-versions', ...names]));
  }

  #apt(program: string, args: string[], folder = this.#folder): Promise<string> {
    return run(program, ['--quiet=2', ...args], {
      environment: { APT_CONFIG: join(this.#folder, 'apt.conf') },
      folder,
      signal: this.#signal,
    });
  }

  #releases(): string[] {
    const folder = join(this.#folder, 'lists');
    const names = readdirSync(folder).filter((name) => /(?:^|_)(?:In)?Release$/.test(name));
    return names.toSorted().map((name) => join(folder, name));
  }
}

/** Everything that is fetched for an image; a package may be needed twice. */
export const packagesOf = ({ root, kernel, busybox }: PackagePlan): DebianPackage[] => [
  ...new Map([...root, kernel, busybox].map((each) => [each.name, each])).values(),
];

/** What apt calls the file of a package. */
export const archiveName = ({ name, version, architecture }: Pick<DebianPackage, 'name' | 'version' | 'architecture'>): string =>
  `${name}_${version.replaceAll(':', '%3a')}_${architecture}.deb`;

/** What the lists say of it, by name. */
export const fieldsOf = ({ stanza }: DebianPackage): Record<string, string> => parseStanzas(stanza)[0] ?? {};

export function readPackages(text: string): DebianPackage[] {
  const texts = text.split(/\n\n+/).filter((stanza) => stanza.trim() !== '');
  return texts.map((stanza) => {
    const [fields = {}] = parseStanzas(stanza);
    const { Package: name, Version: version, Architecture: architecture, SHA256: sha256, Size: size } = fields;
    if (!name || !version || !architecture || !sha256 || !size)
      throw new ImageError(`a list has a package that is not whole: ${name ?? stanza.slice(0, 100)}`);
    return { name, version, architecture, sha256, bytes: Number(size), stanza: stanza.trim() };
  });
}

const isWhole = (path: string, bytes: number): boolean => existsSync(path) && statSync(path).size === bytes;

/** Read before the host's own configuration, and in its place: what that would run after each update is for the host. */
function settings(folder: string, architecture: string): string {
  const values: Record<string, string> = {
    'Dir::State': join(folder, 'state'),
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Etc::main': '/dev/null',
    'Dir::Etc::parts': '/dev/null',
    'Dir::Etc::sourcelist': join(folder, 'debian.sources'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': join(folder, 'preferences'),
    'Dir::Etc::preferencesparts': '/dev/null',
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Install-Recommends': 'false',
    // Its own user might not reach the folder.
    'APT::Sandbox::User': 'root',
    // apt itself would be essential by its own opinion.
    'pkgCacheGen::ForceEssential': ',',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': String(connectSecondsMax),
    'Acquire::https::Timeout': String(connectSecondsMax),
  };
  return Object.entries(values)
    .map(([name, value]) => `${name} "${value}";\n`)
    .join('');
}

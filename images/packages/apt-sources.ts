/**
 * Package sources: those of the host's apt where it has the wanted suite of Debian,
 * so that mirrors and proxies of the operator are used; else Debian's public mirror.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One package source, as a deb822 stanza. */
export interface AptSource {
  uris: string;
  suite: string;
  /** Unchanged fields about trust. */
  fields: Record<string, string>;
}

/** Fields that apt may need to verify a source of the host. */
const trustFields = ['Signed-By', 'Trusted', 'Check-Valid-Until'];
const optionFields: Record<string, string> = { 'signed-by': 'Signed-By', trusted: 'Trusted', 'check-valid-until': 'Check-Valid-Until' };
const component = 'main';
const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Security and point updates have suites of their own. */
export const suitesOf = (suite: string): string[] => [suite, `${suite}-updates`, `${suite}-security`];

/** Returns the host's sources for a suite, or Debian's. `root` contains the host's /etc. */
export function findSources(suite: string, root = '/'): AptSource[] {
  const own = readHostSources(root).filter((source) => suitesOf(suite).includes(source.suite));
  return own.some((source) => source.suite === suite) ? own : publicSources(suite);
}

const publicSources = (suite: string): AptSource[] =>
  suitesOf(suite).map((name) => ({
    uris: `http://deb.debian.org/${name.endsWith('-security') ? 'debian-security' : 'debian'}`,
    suite: name,
    fields: { 'Signed-By': debianKeyring },
  }));

export function readHostSources(root: string): AptSource[] {
  const folder = join(root, 'etc/apt/sources.list.d');
  const names = listIfThere(folder).toSorted();
  const lists = ['etc/apt/sources.list', ...names.filter((name) => name.endsWith('.list')).map((name) => `etc/apt/sources.list.d/${name}`)];
  const stanzas = names.filter((name) => name.endsWith('.sources')).map((name) => `etc/apt/sources.list.d/${name}`);
  return [
    ...lists.flatMap((path) => parseSourceLines(readIfThere(join(root, path)))),
    ...stanzas.flatMap((path) => parseSourceStanzas(readIfThere(join(root, path)))),
  ];
}

/** Parses sources.list: `deb [options] uri suite component…`. */
export function parseSourceLines(text: string): AptSource[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/.exec(line);
    const [, options = '', uris = '', suite = '', components = ''] = match ?? [];
    if (!match || !components.trim().split(/\s+/).includes(component)) return [];
    const fields = options
      .trim()
      .split(/\s+/)
      .flatMap((option): [string, string][] => {
        const [name = '', value = ''] = option.split('=');
        const field = optionFields[name.toLowerCase()];
        return field ? [[field, value]] : [];
      });
    return [{ uris, suite, fields: Object.fromEntries(fields) }];
  });
}

/** Parses deb822 sources, where a stanza may name several suites. */
export function parseSourceStanzas(text: string): AptSource[] {
  const words = (value = ''): string[] => value.trim().split(/\s+/);
  return parseStanzas(text.replaceAll(/^#.*\n?/gm, '')).flatMap((stanza) => {
    if (!words(stanza['Types']).includes('deb') || !words(stanza['Components']).includes(component) || stanza['Enabled']?.trim() === 'no')
      return [];
    const fields = Object.fromEntries(trustFields.flatMap((name) => (stanza[name] === undefined ? [] : [[name, stanza[name]]])));
    return words(stanza['Suites']).map((suite) => ({ uris: words(stanza['URIs']).join(' '), suite, fields }));
  });
}

/** Parses deb822 text: one object per stanza, with fields by name, including continuation lines. */
export function parseStanzas(text: string): Record<string, string>[] {
  return text
    .split(/\n(?:[ \t]*\n)+/)
    .filter((stanza) => stanza.trim() !== '')
    .map((stanza) => {
      const fields = [...stanza.matchAll(/^([!-9;-~]+):[ \t]*(.*(?:\n[ \t].*)*)/gm)];
      return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]));
    });
}

export const writeSources = (sources: AptSource[]): string =>
  sources
    .map(({ uris, suite, fields }) => {
      const all = { Types: 'deb', URIs: uris, Suites: suite, Components: component, ...fields };
      return Object.entries(all)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join('');
    })
    .join('\n');

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function listIfThere(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Where packages come from: what the host's own apt is told, so that mirrors
 * and proxies of the operator are used, where that is a Debian of the wanted
 * suite; else Debian's public mirror.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One place of packages, as a stanza of deb822. */
export interface AptSource {
  uris: string;
  suite: string;
  /** Other fields, that say whom to trust, as they were. */
  fields: Record<string, string>;
}

/** Fields without which a source of the host might not be believed. */
const keptFields = ['Signed-By', 'Trusted', 'Check-Valid-Until'];
const optionFields: Record<string, string> = { 'signed-by': 'Signed-By', trusted: 'Trusted', 'check-valid-until': 'Check-Valid-Until' };
const component = 'main';
const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Security and point updates have suites of their own. */
export const suitesOf = (suite: string): string[] => [suite, `${suite}-updates`, `${suite}-security`];

/** Sources of the host for a suite; Debian's own where it has none. `root` is where its /etc is. */
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

/** The form of sources.list: `deb [options] uri suite component…`. */
export function parseSourceLines(text: string): AptSource[] {
  return text.split('\n').flatMap((line) => {
    const found = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/.exec(line);
    const [, options = '', uris = '', suite = '', components = ''] = found ?? [];
    if (!found || !components.trim().split(/\s+/).includes(component)) return [];
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

/** The form of deb822, where a stanza may name several suites. */
export function parseSourceStanzas(text: string): AptSource[] {
  const words = (value = ''): string[] => value.trim().split(/\s+/);
  return parseStanzas(text.replaceAll(/^#.*\n?/gm, '')).flatMap((stanza) => {
    if (!words(stanza['Types']).includes('deb') || !words(stanza['Components']).includes(component) || stanza['Enabled']?.trim() === 'no')
      return [];
    const fields = Object.fromEntries(keptFields.flatMap((name) => (stanza[name] === undefined ? [] : [[name, stanza[name]]])));
    return words(stanza['Suites']).map((suite) => ({ uris: words(stanza['URIs']).join(' '), suite, fields }));
  });
}

/** What Debian writes its lists in: fields by name, their further lines with them, one object for each stanza. */
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

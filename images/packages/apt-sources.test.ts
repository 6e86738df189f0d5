import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { findSources, parseStanzas, writeSources } from './apt-sources.ts';

/** A host with these files in /etc/apt. */
function hostWith(t: TestContext, files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'host-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, 'etc/apt', path)), { recursive: true });
    writeFileSync(join(root, 'etc/apt', path), text);
  }
  return root;
}

test('image packages come from the host’s mirrors, with its trust settings', (t) => {
  const root = hostWith(t, {
    'sources.list':
      '# deb http://old.example bookworm main\n' +
      'deb [arch=amd64 signed-by=/etc/keys/own.gpg] http://mirror.example/debian bookworm contrib main # ours\n',
    'sources.list.d/security.sources':
      'Types: deb deb-src\n# of the operator\nURIs: http://mirror.example/security\n' +
      'Suites: bookworm-security\nComponents: main\nTrusted: yes\n',
  });
  assert.deepEqual(findSources('bookworm', root), [
    { uris: 'http://mirror.example/debian', suite: 'bookworm', fields: { 'Signed-By': '/etc/keys/own.gpg' } },
    { uris: 'http://mirror.example/security', suite: 'bookworm-security', fields: { Trusted: 'yes' } },
  ]);
});

test('an apt stanza with several suites is one source each, and an inline key is preserved', (t) => {
  const key = '\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc';
  const root = hostWith(t, {
    'sources.list.d/debian.sources':
      'Types: deb\nURIs: http://one.example\n http://two.example\n' +
      `Suites: bookworm bookworm-updates\nComponents: main\nSigned-By:${key}\n`,
  });
  const sources = findSources('bookworm', root);
  assert.deepEqual(
    sources.map(({ suite, uris }) => [suite, uris]),
    [
      ['bookworm', 'http://one.example http://two.example'],
      ['bookworm-updates', 'http://one.example http://two.example'],
    ],
  );
  const [first, second] = parseStanzas(writeSources(sources));
  assert.equal(first?.['Signed-By'], key);
  assert.equal(second?.['Suites'], 'bookworm-updates');
});

test('apt sources of another suite or component, disabled ones and deb-src are ignored', (t) => {
  const other = 'Types: deb\nURIs: http://other.example\nComponents: main\n';
  const root = hostWith(t, {
    'sources.list':
      'deb http://other.example trixie main\ndeb http://other.example bookworm contrib\ndeb-src http://other.example bookworm main\n',
    'sources.list.d/off.sources': `${other}Suites: bookworm\nEnabled: no\n`,
    'sources.list.d/backports.sources': `${other}Suites: bookworm-backports\n`,
    'sources.list.d/note.txt': 'deb http://other.example bookworm main\n',
  });
  assert.deepEqual(
    findSources('bookworm', root).map(({ uris, suite }) => `${uris} ${suite}`),
    [
      'http://deb.debian.org/debian bookworm',
      'http://deb.debian.org/debian bookworm-updates',
      'http://deb.debian.org/debian-security bookworm-security',
    ],
  );
});

test('a host that is no Debian takes packages from the public mirror', (t) => {
  const sources = findSources('bookworm', hostWith(t, {}));
  assert.equal(sources.length, 3);
  assert.ok(sources.every(({ fields }) => fields['Signed-By'] === '/usr/share/keyrings/debian-archive-keyring.gpg'));
});

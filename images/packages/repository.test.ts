import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ImageError } from '../error.ts';
import { archiveName, fieldsOf, packagesOf, readPackages } from './repository.ts';

const stanza = (name: string): string =>
  [
    `Package: ${name}`,
    'Version: 1:2.0+x~1',
    'Architecture: amd64',
    'Depends: a,',
    ' b (>= 1)',
    `SHA256: ${'0'.repeat(64)}`,
    'Size: 12',
    'Filename: pool/x.deb',
  ].join('\n');

test('packages are read out of an apt list, their further lines with them', () => {
  const [one, two, ...rest] = readPackages(`${stanza('one')}\n\n\n${stanza('two')}\n`);
  assert.ok(one && two && rest.length === 0);
  assert.deepEqual([one.name, one.version, one.bytes, two.name], ['one', '1:2.0+x~1', 12, 'two']);
  assert.equal(fieldsOf(one)['Depends'], 'a,\n b (>= 1)');
});

test('a package without a digest is not taken', () => {
  assert.throws(
    () => readPackages('Package: bare\nVersion: 1\nArchitecture: all\nSize: 1\n'),
    (error) => error instanceof ImageError && /bare/.test(error.message),
  );
});

test('archives are named as apt does', () => {
  assert.equal(archiveName({ name: 'tini', version: '1:0.19.0-1+b3', architecture: 'amd64' }), 'tini_1%3a0.19.0-1+b3_amd64.deb');
});

test('a package that is needed twice is fetched once', () => {
  const [one, two, kernel] = readPackages([stanza('one'), stanza('two'), stanza('kernel')].join('\n\n'));
  assert.ok(one && two && kernel);
  assert.deepEqual(
    packagesOf({ root: [one, two], kernel, busybox: two }).map(({ name }) => name),
    ['one', 'two', 'kernel'],
  );
});

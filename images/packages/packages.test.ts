import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leftOutPackages, matches, wanted } from './packages.ts';
import { packedPackage, pathInUsr, withoutFolders } from './packed-packages.ts';

const leftOut = leftOutPackages.flatMap(({ packages }) => packages);

test('a package pattern means its own package in every version, and no other', () => {
  for (const name of ['libllvm15', 'libllvm19', 'python3.11-minimal', 'libgs10', 'libdrm-amdgpu1', 'perl-modules-5.36'])
    assert.ok(matches(leftOut, name), name);
  for (const name of ['libgssapi-krb5-2', 'perl-base', 'libdrm2', 'libdrm-common', 'libdbus-1-3', 'libsystemd0', 'libc6'])
    assert.ok(!matches(leftOut, name), name);
});

test('no wanted package is left out', () => {
  assert.deepEqual(
    wanted.filter((name) => matches(leftOut, name) && name !== 'usr-is-merged'),
    [],
  );
});

test('folders are removed from file lists of packages, and paths are normalized to /usr', () => {
  const list = [
    '/.',
    '/bin',
    '/bin/ip',
    '/lib/x86_64-linux-gnu',
    '/lib/x86_64-linux-gnu/libc.so.6',
    '/usr',
    '/usr/share',
    '/usr/share/doc',
    '/usr/share/doc-base',
  ];
  assert.deepEqual(withoutFolders(list), ['/usr/bin/ip', '/usr/lib/x86_64-linux-gnu/libc.so.6', '/usr/share/doc', '/usr/share/doc-base']);
  assert.equal(pathInUsr('/libexec/x'), '/libexec/x');
});

test('a package names its source only if it has another name or version', () => {
  const files = { packed: 1, leftOut: 0 };
  const named = (source?: string) => {
    const { source: name, sourceVersion } = packedPackage({ Package: 'a', Version: '1', ...(source && { Source: source }) }, files);
    return [name, sourceVersion];
  };
  assert.deepEqual(
    [named(), named('b'), named('b (2)')],
    [
      ['a', '1'],
      ['b', '1'],
      ['b', '2'],
    ],
  );
});

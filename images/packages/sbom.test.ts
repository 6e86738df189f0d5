import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manifestOf } from '../layers.ts';
import type { Layers, PackedPackage } from '../layers.ts';
import { sbomOf } from './sbom.ts';

const file = (letter: string) => ({ bytes: 10, sha256: letter.repeat(64) });
const deb = (name: string, more: Partial<PackedPackage> = {}): PackedPackage => ({
  name,
  version: '1:2.0+b1',
  architecture: 'amd64',
  source: name,
  sourceVersion: '1:2.0',
  homepage: null,
  licence: `/usr/share/doc/${name}/copyright`,
  files: { packed: 3, leftOut: 0 },
  ...more,
});

const layers: Layers = {
  root: {
    key: 'r',
    files: { 'root.erofs': file('a') },
    unpackedBytes: 100,
    suite: 'bookworm',
    packages: [deb('chromium'), deb('libstdc++6', { source: 'gcc-12', files: { packed: 1, leftOut: 4 } })],
    leftOut: ['python3'],
    chromiumVersion: '1:2.0+b1',
  },
  boot: {
    key: 'b',
    files: { kernel: file('b'), initramfs: file('c') },
    unpackedBytes: 20,
    packages: [deb('linux-image', { licence: null })],
    kernelVersion: '6.1',
  },
  agent: {
    key: 'g',
    files: { 'agent.erofs': file('d') },
    unpackedBytes: 3,
    packages: [
      { name: '@berth/guest', version: '0.1.0', licence: 'Apache-2.0', isOurs: true },
      { name: 'zod', version: '4.0.0', licence: 'MIT', isOurs: false },
    ],
    nodeVersion: '24.0.0',
  },
};
const createdAt = new Date(0);
const manifest = manifestOf(layers, { architecture: 'amd64', createdAt });

test('an image is named by what is in it, and not by when or from what it was made', () => {
  const later = manifestOf({ ...layers, root: { ...layers.root, key: 'another' } }, { architecture: 'amd64', createdAt: new Date(1) });
  assert.equal(later.id, manifest.id);
  const other = manifestOf(
    { ...layers, agent: { ...layers.agent, files: { 'agent.erofs': file('e') } } },
    { architecture: 'amd64', createdAt },
  );
  assert.notEqual(other.id, manifest.id);
  assert.equal(manifest.bytes.unpacked, 123);
});

test('the SBOM names every package as scanners look for it', () => {
  const purls = sbomOf(manifest, layers).components.map(({ purl }) => purl);
  assert.deepEqual(purls, [
    'pkg:deb/debian/chromium@1%3A2.0%2Bb1?arch=amd64&distro=debian-bookworm',
    'pkg:deb/debian/libstdc%2B%2B6@1%3A2.0%2Bb1?arch=amd64&distro=debian-bookworm&upstream=gcc-12',
    'pkg:deb/debian/linux-image@1%3A2.0%2Bb1?arch=amd64&distro=debian-bookworm',
    'pkg:generic/node@24.0.0',
    undefined,
    'pkg:npm/zod@4.0.0',
  ]);
});

test('the SBOM has licences, and what was left out', () => {
  const { components, metadata } = sbomOf(manifest, layers);
  const properties = components.find(({ name }) => name === 'libstdc++6')?.properties ?? [];
  assert.ok(properties.some(({ name, value }) => name === 'berth:licence-file' && value === '/usr/share/doc/libstdc++6/copyright'));
  assert.ok(properties.some(({ name, value }) => name === 'berth:files-left-out' && value === '4'));
  assert.ok(metadata.properties.some(({ name, value }) => name === 'berth:left-out-package' && value === 'python3'));
  assert.deepEqual(components.find(({ name }) => name === 'zod')?.licenses, [{ expression: 'MIT' }]);
});

test('the same image has the same SBOM, and no two parts of it one reference', () => {
  assert.deepEqual(sbomOf({ ...manifest, created_at: 'later' }, layers), sbomOf(manifest, layers));
  const references = sbomOf(manifest, layers).components.map((component) => component['bom-ref']);
  assert.equal(new Set(references).size, references.length);
});

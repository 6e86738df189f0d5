import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentLayer } from './agent-layer.ts';
import { bootLayer } from './boot-layer.ts';
import type { DebianPackage, PackagePlan, Repository } from './packages/repository.ts';
import { rootLayer } from './root-layer.ts';

test('each layer of an image has a key of the files of its recipe, which are where it looks for them', async () => {
  const { signal } = new AbortController();
  const named = (name: string) => ({ name, version: '1', sha256: name }) as DebianPackage;
  const plan: PackagePlan = { root: [named('one')], kernel: named('linux'), busybox: named('busybox') };
  // A key is made without the packages themselves.
  const repository = {} as Repository;
  const keys = [
    rootLayer({ plan, repository, suite: 'bookworm', lock: 0, signal }).key,
    bootLayer(plan, repository, signal).key,
    (await agentLayer(signal)).key,
  ];
  assert.equal(new Set(keys).size, 3);
});

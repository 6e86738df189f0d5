import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closestName } from './closest-name.ts';

const names = ['kind', 'timeout_seconds', 'idle_timeout_seconds', 'keep_alive', 'start_url', 'extra_headers', 'proxy'];

test('the closest name is the one that a misspelt or shortened one means', () => {
  for (const [name, expected] of [
    ['timeout', 'timeout_seconds'],
    ['timeoutSeconds', 'timeout_seconds'],
    ['idle_timeout', 'idle_timeout_seconds'],
    ['timout_seconds', 'timeout_seconds'],
    ['keepAlive', 'keep_alive'],
    ['keep-alive', 'keep_alive'],
    ['headers', 'extra_headers'],
    ['proxi', 'proxy'],
  ] as const)
    assert.equal(closestName(name, names), expected, name);
});

test('there is no closest name where none is near, or the name is very long', () => {
  for (const name of ['ttl', 'no_such_field', '', 'x'.repeat(100_000), '💥'])
    assert.equal(closestName(name, names), null, name.slice(0, 20));
  assert.equal(closestName('kind', []), null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextOf } from './doctor.ts';

test('the doctor ends with one thing to do: what failed before what is doubtful, and a first command where all is well', () => {
  const node = { check: 'node', status: 'ok', message: '24' } as const;
  const file = { check: 'configuration', status: 'warning', message: 'readable', hint: 'chmod 600 it' } as const;
  const key = { check: 'key', status: 'failed', message: 'there is none', hint: 'Run berth login' } as const;
  assert.equal(nextOf([node]), 'Open a page: berth open https://example.com/');
  assert.equal(nextOf([node, file]), 'chmod 600 it');
  assert.equal(nextOf([node, file, key]), 'Run berth login');
});

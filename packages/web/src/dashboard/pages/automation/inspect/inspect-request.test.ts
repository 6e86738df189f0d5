import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InspectRequest } from '@berth/contract';
import { harOptions, ownFields } from './inspect-request.ts';

const har = '{"log":{"entries":[]}}';
const values: Record<string, unknown> = {
  session_id: 'ses_1',
  region: 'local',
  proxy: { type: 'none' },
  kind: 'full_browser',
  profile: { name: 'shop' },
  storage_state: {},
  actions: [{ type: 'wait', ms: 1 }],
  wait_until: 'load',
  settle_ms: 0,
  timeout_ms: 9000,
  depth: 1,
  max_pages: 1,
  include: ['site'],
  capture_bodies: 'none',
  max_body_bytes: 4096,
  probe: true,
  scroll: true,
  block_detection: 'off',
};

test('the form of an inspection offers beside a HAR exactly the options that the contract accepts there', () => {
  const options = Object.keys(InspectRequest.shape).filter((name) => !ownFields.has(name));
  assert.deepEqual(options.toSorted(), Object.keys(values).toSorted());
  const accepted = options.filter((name) => InspectRequest.safeParse({ har, [name]: values[name] }).success);
  assert.deepEqual(accepted.toSorted(), harOptions.toSorted());
});

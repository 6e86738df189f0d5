import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadTiers } from './owners.ts';

describe('the plan table', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tiers-'));
  after(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it('has self_hosted without limits by default', () => {
    const tiers = loadTiers(null);
    assert.equal(tiers.default, 'self_hosted');
    assert.deepEqual(tiers.get('self_hosted'), {
      name: 'self_hosted',
      concurrency_limit: null,
      creates_per_minute: null,
      requests_per_minute: null,
      max_session_seconds: 86_400,
      tab_limit: null,
      premium_egress: true,
      recording_retention_days: 30,
    });
  });

  it('keeps recordings for longer on larger plans', () => {
    const tiers = loadTiers(null);
    assert.deepEqual(
      ['free', 'developer', 'startup', 'scale', 'self_hosted'].map((name) => tiers.get(name)?.recording_retention_days),
      [1, 7, 30, 90, 30],
    );
  });

  it('takes a file that says nothing of recordings, and keeps them for 30 days', () => {
    const limits = { concurrency_limit: null, creates_per_minute: null, requests_per_minute: null, max_session_seconds: 900, tab_limit: null };
    const before = { default_tier: 'a', tiers: { a: { ...limits, premium_egress: false } } };
    assert.equal(loadTiers(file('before.json', JSON.stringify(before))).get('a')?.recording_retention_days, 30);
  });

  it('is refused with the file and the field that is wrong', () => {
    const tier = {
      concurrency_limit: 'many',
      creates_per_minute: null,
      requests_per_minute: null,
      max_session_seconds: 900,
      tab_limit: null,
      premium_egress: false,
    };
    assert.throws(() => loadTiers(file('wrong.json', JSON.stringify({ default_tier: 'a', tiers: { a: tier } }))), /wrong\.json[^]*concurrency_limit/);
    assert.throws(() => loadTiers(file('broken.json', '{')), /broken\.json/);
    assert.throws(() => loadTiers(file('default.json', JSON.stringify({ default_tier: 'b', tiers: {} }))), /default_tier "b"/);
  });
});

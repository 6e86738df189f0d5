import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Finding } from '@berth/devtools';
import { applyFinding, newSkill, stateOf, type Skill } from './skill.ts';

const fingerprint = {
  tag: 'button',
  kind: 'button',
  role: 'button',
  name: 'Go',
  attributes: {},
  classes: [],
  context: '',
  path: ['main'],
  x: 0.5,
  y: 0.5,
  alike: 0,
} as const satisfies Skill['fingerprint'];
const at = new Date('2026-02-03T10:00:00Z');
const listed: Finding = { result: 'listed', selectors: ['aria/Go[role="button"]'], fingerprint };
const healed: Finding = {
  result: 'healed',
  level: 7,
  score: 0.8,
  from: '#go',
  selectors: ['testid/go'],
  fingerprint: { ...fingerprint, name: 'Start' },
};
const notFound: Finding = { result: 'failed', reason: 'not_found' };

const learn = (...findings: { finding: Finding; isVerified?: boolean }[]): Skill => {
  const key = { skillId: 'skl_1', owner: 'own', domain: 'shop.example', task: 'login', step: 'go' };
  let skill = newSkill(key, { finding: listed, at });
  assert.ok(skill);
  for (const { finding, isVerified = true } of findings) skill = applyFinding(skill, { finding, isVerified, at });
  return skill;
};

it('a skill keeps the selectors in use until two runs have verified others', () => {
  const once = learn({ finding: listed }, { finding: healed });
  assert.deepEqual([once.version, once.selectors, once.candidate?.verified], [1, ['aria/Go[role="button"]'], 1]);
  const unverified = learn({ finding: healed }, { finding: healed, isVerified: false });
  assert.deepEqual([unverified.version, unverified.candidate?.verified], [1, 1]);
  const twice = learn({ finding: healed }, { finding: healed });
  assert.deepEqual([twice.version, twice.selectors, twice.candidate], [2, ['testid/go', 'aria/Go[role="button"]'], null]);
  assert.equal(twice.fingerprint.name, 'Start');
  assert.equal(twice.lastHealedAt, at);
});

it('a skill begins anew when healing finds something else', () => {
  const other: Finding = { ...healed, selectors: ['#other'] };
  assert.deepEqual(learn({ finding: healed }, { finding: other }).candidate, { selectors: ['#other'], verified: 1 });
});

it('a skill is quarantined after three failures in a row, until the step’s own selectors match again', () => {
  const [failure] = [{ finding: notFound }];
  assert.equal(learn(failure, failure).isQuarantined, false);
  assert.equal(learn(failure, failure, { finding: healed }, failure).isQuarantined, false);
  const quarantined = learn(failure, failure, failure);
  assert.equal(stateOf(quarantined, at), 'quarantined');
  assert.equal(applyFinding(quarantined, { finding: listed, isVerified: true, at }).isQuarantined, false);
});

it('a skill does not count what must not be healed as a failure', () => {
  const skill = learn({ finding: { result: 'failed', reason: 'not_allowed' } });
  assert.deepEqual([skill.failureCount, skill.consecutiveFailures], [0, 0]);
});

it('a skill is stale after thirty days without a run', () => {
  assert.equal(stateOf(learn(), new Date(at.getTime() + 31 * 86_400_000)), 'stale');
  assert.equal(stateOf(learn(), at), 'active');
});

it('a skill is not made of an element that was not found', () => {
  const key = { skillId: 'skl_1', owner: 'own', domain: 'shop.example', task: 'login', step: 'go' };
  assert.equal(newSkill(key, { finding: notFound, at }), null);
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { deleteSkill, listSkills } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { learnSkill } from '../../prepare/skills.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('204', () => {
  it('DELETE /v1/skills/{skill_id} deletes the skill', async () => {
    const key = await served.ownerKey('deleter');
    await learnSkill(served, { owner: 'deleter', task: 'login', step: 'mail' });
    const [skill] = (await served.call(listSkills, { key })).body;
    await served.call(deleteSkill, { key, params: { skill_id: skill?.skill_id ?? '' } });
    assert.deepEqual((await served.call(listSkills, { key })).body, []);
  });
});

describe('404 skill_not_found', () => {
  it('DELETE /v1/skills/{skill_id} answers 404 skill_not_found alike for unknown ids and those of others', async () => {
    const [key, other] = [await served.ownerKey('holder'), await served.ownerKey('stranger')];
    await learnSkill(served, { owner: 'holder', task: 'login', step: 'mail' });
    const [skill] = (await served.call(listSkills, { key })).body;
    for (const skillId of [skill?.skill_id ?? '', 'skl_000000000000000000000000', 'x'])
      await served.refuse(deleteSkill, 'skill_not_found', { key: other, params: { skill_id: skillId } });
    assert.equal((await served.call(listSkills, { key })).body.length, 1);
  });
});

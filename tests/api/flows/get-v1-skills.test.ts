import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listSkills, selfHealOverview } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { learnSkill } from '../../prepare/skills.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/skills lists the caller’s skills, newest first, with the share of runs that found the element', async () => {
    const key = await served.ownerKey('lister');
    await learnSkill(served, { owner: 'lister', task: 'login', step: 'mail' });
    clock.advance(1000);
    await learnSkill(served, { owner: 'lister', task: 'search', step: 'query', site: 'www.other.example' });
    await learnSkill(served, { owner: 'somebody-else', task: 'login', step: 'mail' });
    const { body } = await served.call(listSkills, { key });
    assert.deepEqual(
      body.map(({ name, task, domain, state, version, success_rate }) => [name, task, domain, state, version, success_rate]),
      [
        ['query', 'search', 'other.example', 'active', 1, 1],
        ['mail', 'login', 'shop.example', 'active', 1, 1],
      ],
    );
    const only = await served.call(listSkills, { key, query: { task: 'login', domain: 'shop.example' } });
    assert.deepEqual(
      only.body.map(({ name }) => name),
      ['mail'],
    );
    const page = await served.call(listSkills, { key, query: { limit: '1' } });
    assert.equal(page.headers.get('x-has-more'), 'true');
    const next = await served.call(listSkills, { key, query: { limit: '1', cursor: page.headers.get('x-next-cursor') ?? '' } });
    assert.deepEqual(
      next.body.map(({ name }) => name),
      ['mail'],
    );
  });

  it('GET /v1/skills counts failed runs, and quarantines after three in a row', async () => {
    const key = await served.ownerKey('failing');
    await learnSkill(served, { owner: 'failing', task: 'login', step: 'mail' });
    for (let run = 0; run < 3; run += 1)
      await learnSkill(served, { owner: 'failing', task: 'login', step: 'mail', finding: { result: 'failed', reason: 'not_found' } });
    const [skill] = (await served.call(listSkills, { key })).body;
    assert.deepEqual([skill?.state, skill?.failure_count, skill?.success_rate], ['quarantined', 3, 0.25]);
    const overview = (await served.call(selfHealOverview)).body;
    assert.equal(overview.skills.quarantined, 1);
    assert.equal(overview.selector_heals.failed, 3);
  });
});

describe('422', () => {
  it('GET /v1/skills refuses a limit out of bounds and a cursor of another list with 422', async () => {
    const position = Buffer.from('[1,"ses_000000000000000000000000"]').toString('base64url');
    for (const query of [{ limit: '0' }, { limit: '501' }, { cursor: 'nonsense' }, { cursor: position }])
      assert.deepEqual(
        (await served.issues(listSkills, { query })).map(({ loc }) => loc[1]),
        Object.keys(query),
      );
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, listRegions } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

const file = {
  version: '2026-11',
  regions: [
    { code: 'local', name: 'Here' },
    {
      code: 'eu-north',
      name: 'Stockholm',
      country: 'SE',
      proxies: {
        managed: [{ server: 'http://proxy.example:3128', username: 'user', password: 'hunter2', country: 'SE' }],
        rotating: [
          { server: 'http://a.example:3128', country: 'NO' },
          { server: 'http://b.example:3128', country: 'SE' },
        ],
      },
    },
  ],
};

let served: TestApp;
const folder = mkdtempSync(join(tmpdir(), 'berth-regions-'));
before(async () => {
  writeFileSync(join(folder, 'regions.json'), JSON.stringify(file));
  served = await startApp({ environment: { BERTH_REGIONS_FILE: join(folder, 'regions.json') } });
});
after(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

describe('200', () => {
  it('GET /v1/regions lists the configured regions and their options', async () => {
    const { body } = await served.call(listRegions);
    assert.deepEqual(body.regions, [
      {
        code: 'local',
        name: 'Here',
        country: null,
        default: true,
        egress: { direct: true, managed: false, rotating: false, countries: [] },
      },
      {
        code: 'eu-north',
        name: 'Stockholm',
        country: 'SE',
        default: false,
        egress: { direct: false, managed: true, rotating: true, countries: ['NO', 'SE'] },
      },
    ]);
  });

  it('GET /v1/regions returns the registry version in the body and in a header', async () => {
    const { body, headers } = await served.call(listRegions);
    assert.deepEqual([body.version, headers.get('x-service-region-registry-version')], ['2026-11', '2026-11']);
  });

  it('GET /v1/regions reveals no proxy details', async () => {
    const { text } = await served.call(listRegions);
    for (const secret of ['hunter2', 'proxy.example', 'a.example', 'user']) assert.ok(!text.includes(secret), secret);
  });

  it('GET /v1/regions lists exactly the codes that a session accepts', async () => {
    for (const { code } of (await served.call(listRegions)).body.regions) {
      const { body } = await served.call(createSession, { body: { region: code } });
      assert.equal(body.region, code);
    }
    const [issue] = await served.issues(createSession, { body: { region: 'eu-south' } });
    assert.equal(issue?.type, 'literal_error');
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadRegions, RegionsFileError } from './regions.ts';

function written(t: TestContext, content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'regions-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'regions.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const regions = [
  {
    code: 'eu-1',
    name: 'Frankfurt',
    country: 'DE',
    proxies: {
      managed: [{ server: 'http://10.0.0.1:3128', username: 'u', password: 'hush', ip: '198.51.100.7', country: 'DE' }],
      rotating: [{ server: 'socks5://10.0.0.2:1080', country: 'AT' }],
    },
  },
  { code: 'us-1', name: 'Virginia' },
];

test('regions are one region named by the default without a file', () => {
  const registry = loadRegions({ file: null, defaultCode: 'local' });
  assert.equal(registry.version, 'builtin');
  assert.deepEqual(registry.list(), [
    {
      code: 'local',
      name: 'local',
      country: null,
      default: true,
      egress: { direct: true, managed: false, rotating: false, countries: [] },
    },
  ]);
  assert.equal(registry.resolve(undefined)?.code, 'local');
  assert.equal(registry.resolve('other'), null);
});

test('regions are listed with their capabilities, without addresses and passwords', (t) => {
  const registry = loadRegions({ file: written(t, { version: '2026-11-21', regions }), defaultCode: 'us-1' });
  assert.equal(registry.version, '2026-11-21');
  assert.deepEqual(
    registry.list().map(({ code, default: isDefault, egress }) => [code, isDefault, egress]),
    [
      ['eu-1', false, { direct: false, managed: true, rotating: true, countries: ['AT', 'DE'] }],
      ['us-1', true, { direct: true, managed: false, rotating: false, countries: [] }],
    ],
  );
  assert.doesNotMatch(JSON.stringify(registry.list()), /hush|10\.0\.0|198\.51/);
  assert.equal(registry.resolve('eu-1')?.proxies.managed[0]?.password, 'hush');
});

test('a file of regions without a version has its digest as version', (t) => {
  const version = (content: unknown): string => loadRegions({ file: written(t, content), defaultCode: 'us-1' }).version;
  assert.match(version({ regions }), /^[0-9a-f]{16}$/);
  assert.notEqual(version({ regions }), version({ regions: regions.toReversed() }));
});

test('an invalid file of regions is refused with its path and what is wrong, and no secret', (t) => {
  const cases: [unknown, RegExp][] = [
    ['{"regions": [{"password": "hush"', /is not valid JSON/],
    [{ regions: [] }, /regions: /],
    [{ regions: [{ ...regions[0], code: 'EU 1' }] }, /regions\.0\.code: Expected lower-case/],
    [{ regions: [{ ...regions[1], proxies: { managed: [{ server: 'ftp://u:hush@x' }] } }] }, /regions\.0\.proxies\.managed\.0\.server/],
    [{ regions: [regions[1], regions[1]] }, /us-1 is used twice/],
    [{ regions: [regions[0]] }, /no region us-1.*it has eu-1/],
    [{ regions, typo: 1 }, /typo/],
  ];
  for (const [content, wrong] of cases) {
    const file = written(t, content);
    assert.throws(
      () => loadRegions({ file, defaultCode: 'us-1' }),
      (error) =>
        error instanceof RegionsFileError && error.message.includes(file) && wrong.test(error.message) && !error.message.includes('hush'),
      String(wrong),
    );
  }
  assert.throws(() => loadRegions({ file: '/nowhere/regions.json', defaultCode: 'x' }), /\/nowhere\/regions\.json cannot be read/);
});

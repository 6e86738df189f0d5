import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findTrespasses, type Trespass } from '../scripts/boundaries.ts';
import { architecture, boundaryRules, keeperRule } from '../scripts/boundary-rules.ts';

interface Seed {
  file: string;
  text: string;
  /** Exactly the rules that must refuse this file. */
  rules: string[];
}

const { ladder } = architecture;
const src = 'packages/server/src';
const bottom = ladder.at(-1) ?? '';
const thing = 'export const thing = 1;\n';
const typeOf = (path: string): string => `import type * as found from '${path}';\nexport type Found = typeof found;\n`;
const valueOf = (path: string): string => `import * as found from '${path}';\nexport const kept = found;\n`;

/** The other half of the seeded circular import, which is reported once. */
const circleB = { [`${src}/drive/circle-b.ts`]: typeOf('./circle-a.ts') };

/** A small source tree in which every import is allowed. */
function rightfulTree(): Record<string, string> {
  const doors = ladder.map((folder, i): [string, string] => {
    const above = ladder
      .slice(0, i)
      .map((name, n) => `import * as door${n} from '../${name}/${name}.ts';\nexport const kept${n} = door${n};`);
    return [`${src}/${folder}/${folder}.ts`, `${above.join('\n')}\n${thing}`];
  });
  const appImports = ladder.map((name, n) => `import * as door${n} from './${name}/${name}.ts';\nexport const kept${n} = door${n};`);
  return {
    'packages/contract/package.json': '{ "name": "@berth/contract", "type": "module", "exports": { ".": "./src/contract.ts" } }',
    'packages/contract/src/contract.ts': `import * as shape from './shape.ts';\nimport { z } from 'zod';\nexport const kept = [shape, z];\n`,
    'packages/contract/src/shape.ts': thing,
    'packages/server/package.json': '{ "name": "@berth/server", "type": "module" }',
    ...Object.fromEntries(doors),
    [`${src}/lib/clock.ts`]: thing,
    [`${src}/http/call.ts`]: valueOf('fastify'),
    [`${src}/config.ts`]: `import { env } from 'node:process';\nexport const config = [env, process.env.HOME];\n`,
    [`${src}/app.ts`]: `${appImports.join('\n')}\nimport './mount.ts';\nimport './config.ts';\n`,
    [`${src}/mount.ts`]: `import './sessions/routes.ts';\n`,
    [`${src}/main.ts`]: `import './app.ts';\n`,
    [`${src}/testing.ts`]: valueOf('./app.ts'),
    [`${src}/sessions/routes.ts`]: `import './sessions.ts';\nimport '../http/call.ts';\nimport * as contract from '@berth/contract';\nexport const kept = contract;\n`,
    [`${src}/sessions/store.ts`]: `import * as kysely from 'kysely';\nimport '../store/store.ts';\nexport const rows = [kysely, 'SELECT id FROM sessions'];\n`,
    [`${src}/sessions/testing.ts`]: 'export const seeded = 1;\n',
    [`${src}/sessions/session.ts`]: `// A comment may say process.env and SELECT id FROM sessions.\nimport type * as clock from '../lib/clock.ts';\nexport type Kept = typeof clock;\n`,
    [`${src}/sessions/sessions.test.ts`]: `import '../app.ts';\nimport './routes.ts';\nimport '../egress/gate.ts';\nimport 'node:child_process';\nimport 'fastify';\n`,
    [`${src}/store/launch.ts`]: `import 'node:child_process';\nimport * as pg from 'pg';\nexport const kept = pg;\n`,
    [`${src}/store/test-store.ts`]: `import './store.ts';\nexport const url = process.env.BERTH_TEST_DATABASE_URL;\n`,
    [`${src}/runtime/process/jail.ts`]: `import 'node:child_process';\nimport 'node:net';\nimport '../../lib/lib.ts';\n`,
    [`${src}/egress/gate.ts`]: valueOf('node:net'),
    'packages/sdk/src/sdk.ts': valueOf('@berth/contract'),
    'packages/guest/src/guest.ts': `import 'node:child_process';\nimport 'node:net';\nimport * as contract from '@berth/contract';\nexport const kept = contract;\n`,
    [`${src}/browser/cdp/pipe.ts`]: valueOf('ws'),
    'tests/rightful.test.ts': `import '../packages/server/src/testing.ts';\nimport '../packages/server/src/lib/clock.ts';\nimport '../packages/server/src/store/test-store.ts';\nimport '@berth/contract';\nimport 'node:child_process';\n`,
    'bench/rightful.ts': `import '../packages/server/src/config.ts';\nimport 'ws';\n`,
    'scripts/rightful.ts': `import '../packages/server/src/http/call.ts';\nexport const home = process.env.HOME;\n`,
  };
}

const climbs: Seed[] = ladder.slice(0, -1).flatMap((folder, i) => {
  const lower = ladder[i + 1] ?? '';
  return [
    { file: `${src}/${folder}/climbs-by-type.ts`, text: typeOf(`../${lower}/${lower}.ts`), rules: [`ladder-${folder}`] },
    { file: `${src}/${folder}/climbs-to-the-bottom.ts`, text: valueOf(`../${bottom}/${bottom}.ts`), rules: [`ladder-${folder}`] },
  ];
});

const seeds: Seed[] = [
  ...climbs,
  { file: `${src}/${bottom}/climbs-to-app.ts`, text: typeOf('../app.ts'), rules: [`ladder-${bottom}`] },
  {
    file: `${src}/page-scripts/imports-a-module.ts`,
    text: valueOf('node:fs'),
    rules: ['page-scripts-stand-alone'],
  },
  { file: `${src}/lib/reads-config.ts`, text: typeOf('../config.ts'), rules: ['ladder-lib'] },
  { file: `${src}/drive/through-a-window.ts`, text: typeOf('../sessions/session.ts'), rules: ['one-door'] },
  { file: `${src}/drive/through-a-window.fixture.ts`, text: typeOf('../sessions/session.ts'), rules: ['one-door'] },
  { file: `${src}/drive/of-tests.fixture.ts`, text: typeOf('../sessions/testing.ts'), rules: [] },
  { file: `${src}/drive/into-a-foreign-store.ts`, text: valueOf('../sessions/store.ts'), rules: ['one-door'] },
  {
    file: `${src}/ops/by-dynamic-import.ts`,
    text: `export const session = await import('../sessions/session.ts');\n`,
    rules: ['one-door'],
  },
  { file: `${src}/ops/by-re-export.ts`, text: `export * from '../sessions/session.ts';\n`, rules: ['one-door'] },
  { file: `${src}/sessions/uses-routes.ts`, text: valueOf('./routes.ts'), rules: ['routes-are-mounted-once'] },
  {
    file: 'tests/uses-routes.ts',
    text: typeOf('../packages/server/src/sessions/routes.ts'),
    rules: ['routes-are-mounted-once', 'server-stands-alone'],
  },
  { file: `${src}/keys/routes.ts`, text: typeOf('../store/store.ts'), rules: ['routes-never-reach-the-store'] },
  { file: `${src}/sessions/admin-routes.ts`, text: valueOf('./store.ts'), rules: ['routes-never-reach-the-store'] },
  { file: `${src}/sessions/takes-fastify.ts`, text: typeOf('fastify'), rules: [keeperRule('the HTTP framework')] },
  { file: `${src}/sessions/takes-pg.ts`, text: valueOf('pg'), rules: [keeperRule('the database driver')] },
  { file: `${src}/drive/takes-kysely.ts`, text: typeOf('kysely'), rules: [keeperRule('the database driver')] },
  { file: `${src}/browser/takes-children.ts`, text: valueOf('node:child_process'), rules: [keeperRule('child processes')] },
  { file: `${src}/browser/takes-bare-children.ts`, text: valueOf('child_process'), rules: [keeperRule('child processes')] },
  { file: `${src}/sessions/takes-ws.ts`, text: typeOf('ws'), rules: [keeperRule('raw sockets')] },
  { file: `${src}/fleet/takes-net.ts`, text: valueOf('node:net'), rules: [keeperRule('raw sockets')] },
  { file: `${src}/recordings/takes-s3.ts`, text: typeOf('@aws-sdk/client-s3'), rules: [keeperRule('the client of object storage')] },
  { file: `${src}/fleet/takes-process.ts`, text: valueOf('node:process'), rules: [keeperRule('the environment')] },
  { file: 'packages/contract/src/takes-children.ts', text: valueOf('node:child_process'), rules: [keeperRule('child processes')] },
  {
    file: `${src}/fleet/reads-the-environment.ts`,
    text: `import './fleet.ts';\nexport const home = process.env['HOME'];\n`,
    rules: [keeperRule('process.env')],
  },
  {
    file: `${src}/fleet/says-sql.ts`,
    text: `import './fleet.ts';\nexport const text = \`select id,\n  name from machines\`;\n`,
    rules: [keeperRule('SQL text')],
  },
  {
    file: 'packages/contract/src/uses-the-server.ts',
    text: typeOf('../../server/src/sessions/sessions.ts'),
    rules: ['contract-imports-nothing', 'packages-never-import-the-server', 'server-stands-alone'],
  },
  {
    file: 'packages/contract/src/uses-an-entry.ts',
    text: valueOf('../../server/src/app.ts'),
    rules: ['contract-imports-nothing', 'packages-never-import-the-server'],
  },
  {
    file: 'packages/contract/src/uses-a-script.ts',
    text: valueOf('../../../scripts/rightful.ts'),
    rules: ['contract-imports-nothing', 'packages-stand-on-packages'],
  },
  { file: 'packages/sdk/src/uses-an-entry.ts', text: valueOf('../../server/src/app.ts'), rules: ['packages-never-import-the-server'] },
  { file: 'packages/guest/src/uses-a-package.ts', text: valueOf('../../sdk/src/sdk.ts'), rules: ['guest-imports-the-contract-alone'] },
  { file: 'tests/uses-an-inner-file.test.ts', text: valueOf('../packages/server/src/sessions/session.ts'), rules: ['server-stands-alone'] },
  { file: 'bench/uses-an-inner-file.ts', text: typeOf('../packages/server/src/fleet/fleet.ts'), rules: ['server-stands-alone'] },
  { file: `${src}/lib/uses-bench.ts`, text: valueOf('../../../../bench/rightful.ts'), rules: ['packages-stand-on-packages'] },
  { file: `${src}/drive/circle-a.ts`, text: typeOf('./circle-b.ts'), rules: ['no-circular'] },
  { file: `${src}/drive/alone.ts`, text: thing, rules: ['no-orphans'] },
  { file: `${src}/drive/lost.ts`, text: valueOf('./nowhere.ts'), rules: ['not-to-unresolvable'] },
  { file: `${src}/drive/lost-package.ts`, text: typeOf('@berth/nowhere'), rules: ['not-to-unresolvable'] },
  { file: `${src}/sessions/uses-a-test.ts`, text: typeOf('./sessions.test.ts'), rules: ['not-to-test'] },
];

function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

function linkPackages(root: string): void {
  mkdirSync(join(root, 'node_modules/@berth'), { recursive: true });
  symlinkSync(join(root, 'packages/contract'), join(root, 'node_modules/@berth/contract'));
  for (const name of ['@aws-sdk', 'fastify', 'kysely', 'pg', 'ws', 'zod']) {
    symlinkSync(join(import.meta.dirname, '../node_modules', name), join(root, 'node_modules', name));
  }
}

describe('the import boundaries', () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-boundaries-'));
  const rightful = rightfulTree();
  let trespasses: Trespass[];

  before(async () => {
    write(root, { ...rightful, ...circleB });
    write(root, Object.fromEntries(seeds.map(({ file, text }) => [file, text])));
    linkPackages(root);
    trespasses = await findTrespasses(root);
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  for (const { file, rules } of seeds) {
    it(`the import boundaries refuse ${file} by ${rules.join(' and ')}`, () => {
      const refusedBy = new Set(trespasses.filter(({ from }) => from === file).map(({ rule }) => rule));
      assert.deepEqual([...refusedBy].toSorted(), rules.toSorted());
    });
  }

  it('the import boundaries accept every allowed import', () => {
    assert.deepEqual(
      trespasses.filter(({ from }) => from in rightful),
      [],
    );
  });

  it('the fixture of the import boundaries has a violation for every rule', () => {
    const seeded = new Set(seeds.flatMap(({ rules }) => rules));
    const rules = [
      ...boundaryRules(architecture).map(({ name }) => name ?? ''),
      ...architecture.wordKeepers.map(({ what }) => keeperRule(what)),
    ];
    assert.deepEqual(
      rules.filter((rule) => !seeded.has(rule)),
      [],
    );
  });
});

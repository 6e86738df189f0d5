import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findTrespasses, type Trespass } from '../../scripts/boundaries.ts';
import { architecture, boundaryRules, keeperRule } from '../../scripts/boundary-rules.ts';

interface Seed {
  file: string;
  text: string;
  /** Exactly the rules that must refuse this file. */
  rules: string[];
}

const { ladder, packages } = architecture;
const src = 'packages/server/src';
const bottom = ladder.at(-1) ?? '';
const thing = 'export const thing = 1;\n';
const typeOf = (path: string): string => `import type * as found from '${path}';\nexport type Found = typeof found;\n`;
const valueOf = (path: string): string => `import * as found from '${path}';\nexport const kept = found;\n`;
const all = (paths: readonly string[]): string =>
  `${paths.map((path, n) => `import * as door${n} from '${path}';\nexport const kept${n} = door${n};`).join('\n')}\n${thing}`;
/** The door of a folder of the ladder, from `src`. */
const door = (folder: string): string => `${folder}/${folder.split('/').at(-1)}.ts`;
/** The same, from a file of another folder of the ladder. */
const doorFrom = (folder: string, other: string): string => `${folder.includes('/') ? '../..' : '..'}/${door(other)}`;

/** The other half of the seeded circular import, which is reported once. */
const circleB = { [`${src}/sessions/drive/circle-b.ts`]: typeOf('./circle-a.ts') };

/** Packages with a door each, which imports those above it. The server has no door. */
function rightfulPackages(): Record<string, string> {
  const shipped = packages.filter((name) => name !== 'server');
  // Code of pages may use nothing else, and the guest only the contract.
  const mayUse = (name: string): string[] => {
    if (name === 'page-scripts' || name === 'guest') return ['contract'];
    return shipped.slice(0, shipped.indexOf(name));
  };
  const files = shipped.map((name): [string, string] => [
    `packages/${name}/src/${name}.ts`,
    all(mayUse(name).map((above) => `@berth/${above}`)),
  ]);
  const manifests = packages.map((name): [string, string] => {
    const exports = name === 'server' ? {} : { exports: { '.': `./src/${name}.ts`, './testing/*': './testing/*' } };
    return [`packages/${name}/package.json`, JSON.stringify({ name: `@berth/${name}`, type: 'module', ...exports })];
  });
  return Object.fromEntries([...files, ...manifests]);
}

/** A small source tree in which every import is allowed. */
function rightfulTree(): Record<string, string> {
  const doors = ladder.map((folder, i): [string, string] => [
    `${src}/${door(folder)}`,
    all(ladder.slice(0, i).map((above) => doorFrom(folder, above))),
  ]);
  return {
    ...rightfulPackages(),
    'packages/contract/src/shape.ts': thing,
    'packages/contract/src/contract.ts': `import * as shape from './shape.ts';\nimport { z } from 'zod';\nexport const kept = [shape, z];\n`,
    'packages/machines/src/jail.ts': `import 'node:child_process';\nimport 'node:net';\nimport './machines.ts';\n`,
    'packages/machines/testing/fake.ts': `import 'node:child_process';\nimport '../src/jail.ts';\nimport '../../egress/src/gate.ts';\nexport const home = 1;\n`,
    'packages/egress/src/gate.ts': valueOf('node:net'),
    'packages/devtools/src/browser/pipe.ts': valueOf('ws'),
    ...Object.fromEntries(doors),
    [`${src}/http/server/call.ts`]: valueOf('find-my-way'),
    [`${src}/config.ts`]: `import { env } from 'node:process';\nexport const config = [env, process.env.HOME];\n`,
    [`${src}/boot/app.ts`]: `${all(ladder.map((folder) => `../${door(folder)}`))}import './mount.ts';\nimport '../config.ts';\nimport '../sessions/sessions/session.ts';\n`,
    [`${src}/boot/mount.ts`]: `import '../sessions/sessions/routes.ts';\n`,
    [`${src}/doctor/doctor.ts`]: `import '../boot/app.ts';\n`,
    [`${src}/main.ts`]: `import './boot/app.ts';\nimport './doctor/doctor.ts';\n`,
    [`${src}/sessions/sessions/routes.ts`]: `import './sessions.ts';\nimport '../../http/server/call.ts';\nimport * as contract from '@berth/contract';\nexport const kept = contract;\n`,
    [`${src}/sessions/sessions/store.ts`]: `import * as kysely from 'kysely';\nimport '../../store/store.ts';\nexport const rows = [kysely, 'SELECT id FROM sessions'];\n`,
    [`${src}/sessions/sessions/session.ts`]: `// A comment may say process.env and SELECT id FROM sessions.\nimport type * as lib from '@berth/lib';\nexport type Kept = typeof lib;\n`,
    [`${src}/sessions/sessions/sessions.test.ts`]: `import '../../boot/app.ts';\nimport './routes.ts';\nimport '../../../../egress/src/gate.ts';\nimport 'node:child_process';\nimport 'find-my-way';\nimport '../../../testing/sessions.ts';\n`,
    [`${src}/store/launch.ts`]: `import 'node:child_process';\nimport * as pg from 'pg';\nexport const kept = pg;\n`,
    'packages/server/testing/sessions.ts': `import '../src/sessions/sessions/session.ts';\nimport '@berth/machines/testing/fake.ts';\nexport const url = process.env.BERTH_TEST_DATABASE_URL;\n`,
    'packages/guest/src/agent.ts': `import 'node:child_process';\nimport 'node:net';\nimport * as contract from '@berth/contract';\nexport const kept = contract;\n`,
    'tests/rightful.test.ts': `import '../packages/server/testing/sessions.ts';\nimport '@berth/lib';\nimport '../packages/server/src/store/store.ts';\nimport '@berth/contract';\nimport 'node:child_process';\n`,
    'bench/rightful.ts': `import '../packages/server/src/config.ts';\nimport 'ws';\n`,
    'scripts/rightful.ts': `import '../packages/server/src/http/server/call.ts';\nexport const home = process.env.HOME;\n`,
  };
}

const climbs: Seed[] = ladder.slice(0, -1).flatMap((folder, i) => {
  const lower = ladder[i + 1] ?? '';
  return [
    { file: `${src}/${folder}/climbs-by-type.ts`, text: typeOf(doorFrom(folder, lower)), rules: [`ladder-${folder}`] },
    { file: `${src}/${folder}/climbs-to-the-bottom.ts`, text: valueOf(doorFrom(folder, bottom)), rules: [`ladder-${folder}`] },
  ];
});

const packageClimbs: Seed[] = packages.slice(0, -2).map((name, i) => {
  const guestToo = name === 'guest' ? ['guest-imports-the-contract-alone'] : [];
  const pagesToo = name === 'page-scripts' ? ['page-scripts-stand-alone'] : [];
  return {
    file: `packages/${name}/src/climbs.ts`,
    text: valueOf(`@berth/${packages[i + 1] ?? ''}`),
    rules: [`package-${name}`, ...guestToo, ...pagesToo],
  };
});

const sessions = `${src}/sessions/sessions`;
const drive = `${src}/sessions/drive`;
const seeds: Seed[] = [
  ...climbs,
  ...packageClimbs,
  { file: `${src}/${bottom}/climbs-to-app.ts`, text: typeOf('../boot/app.ts'), rules: [`ladder-${bottom}`, 'one-door'] },
  { file: `${src}/boot/asks-the-doctor.ts`, text: typeOf('../doctor/doctor.ts'), rules: ['boot-knows-no-doctor'] },
  { file: 'packages/page-scripts/src/imports-a-module.ts', text: valueOf('node:fs'), rules: ['page-scripts-stand-alone'] },
  { file: `${src}/store/reads-config.ts`, text: typeOf('../config.ts'), rules: ['ladder-store'] },
  { file: `${drive}/through-a-window.ts`, text: typeOf('../sessions/session.ts'), rules: ['one-door'] },
  { file: `${drive}/into-a-foreign-store.ts`, text: valueOf('../sessions/store.ts'), rules: ['one-door'] },
  {
    file: `${src}/ops/by-dynamic-import.ts`,
    text: `export const session = await import('../sessions/sessions/session.ts');\n`,
    rules: ['one-door'],
  },
  { file: `${src}/ops/by-re-export.ts`, text: `export * from '../sessions/sessions/session.ts';\n`, rules: ['one-door'] },
  { file: `${sessions}/uses-routes.ts`, text: valueOf('./routes.ts'), rules: ['routes-are-mounted-once'] },
  {
    file: 'tests/uses-routes.ts',
    text: typeOf('../packages/server/src/sessions/sessions/routes.ts'),
    rules: ['routes-are-mounted-once', 'outsiders-use-doors'],
  },
  { file: `${src}/accounts/keys/routes.ts`, text: typeOf('../../store/store.ts'), rules: ['routes-never-reach-the-store'] },
  { file: `${sessions}/admin-routes.ts`, text: valueOf('./store.ts'), rules: ['routes-never-reach-the-store'] },
  { file: `${sessions}/takes-router.ts`, text: typeOf('find-my-way'), rules: [keeperRule('the router')] },
  { file: `${sessions}/takes-pg.ts`, text: valueOf('pg'), rules: [keeperRule('the database driver')] },
  { file: `${drive}/takes-kysely.ts`, text: typeOf('kysely'), rules: [keeperRule('the database driver')] },
  { file: 'packages/devtools/src/browser/takes-children.ts', text: valueOf('node:child_process'), rules: [keeperRule('child processes')] },
  { file: 'packages/egress/src/takes-bare-children.ts', text: valueOf('child_process'), rules: [keeperRule('child processes')] },
  { file: `${sessions}/takes-ws.ts`, text: typeOf('ws'), rules: [keeperRule('raw sockets')] },
  { file: 'packages/reading/src/takes-net.ts', text: valueOf('node:net'), rules: [keeperRule('raw sockets')] },
  { file: 'packages/site-report/src/takes-tokenizer.ts', text: typeOf('htmlparser2'), rules: [keeperRule('the tokenizer of HTML')] },
  { file: 'packages/reading/src/takes-cheerio.ts', text: typeOf('cheerio/slim'), rules: [keeperRule('trees of HTML')] },
  { file: 'packages/reading/src/takes-parse5.ts', text: typeOf('parse5'), rules: [keeperRule('trees of HTML')] },
  { file: `${src}/watch/recordings/takes-s3.ts`, text: typeOf('@aws-sdk/client-s3'), rules: [keeperRule('the client of object storage')] },
  { file: `${src}/fleet/pool/takes-process.ts`, text: valueOf('node:process'), rules: [keeperRule('the environment')] },
  {
    file: `${src}/fleet/pool/reads-the-environment.ts`,
    text: `import './pool.ts';\nexport const home = process.env['HOME'];\n`,
    rules: [keeperRule('process.env')],
  },
  {
    file: `${src}/fleet/pool/says-sql.ts`,
    text: `import './pool.ts';\nexport const text = \`select id,\n  name from machines\`;\n`,
    rules: [keeperRule('SQL text')],
  },
  {
    file: 'packages/contract/src/uses-the-server.ts',
    text: typeOf('../../server/src/sessions/sessions/sessions.ts'),
    rules: ['package-contract', 'packages-have-doors'],
  },
  {
    file: 'packages/sdk/src/uses-an-entry.ts',
    text: valueOf('../../server/src/boot/app.ts'),
    rules: ['packages-have-doors', 'the-client-imports-nothing'],
  },
  {
    file: 'packages/site-report/src/climbs.ts',
    text: typeOf('../../server/src/boot/app.ts'),
    rules: ['package-site-report', 'packages-have-doors'],
  },
  { file: `${sessions}/behind-a-door.ts`, text: valueOf('../../../../egress/src/gate.ts'), rules: ['packages-have-doors'] },
  {
    file: 'packages/contract/src/uses-a-script.ts',
    text: valueOf('../../../scripts/rightful.ts'),
    rules: ['packages-stand-on-packages'],
  },
  {
    file: `${sessions}/uses-what-tests-have.ts`,
    text: valueOf('../../../testing/sessions.ts'),
    rules: ['packages-stand-on-packages'],
  },
  { file: 'packages/guest/src/uses-a-package.ts', text: valueOf('@berth/lib'), rules: ['guest-imports-the-contract-alone'] },
  { file: 'packages/cli/src/uses-a-package.ts', text: valueOf('@berth/lib'), rules: ['the-command-line-is-a-client'] },
  { file: 'packages/mcp/src/uses-a-package.ts', text: valueOf('@berth/contract'), rules: ['the-mcp-server-is-a-client'] },
  {
    file: 'tests/uses-an-inner-file.test.ts',
    text: valueOf('../packages/server/src/sessions/sessions/session.ts'),
    rules: ['outsiders-use-doors'],
  },
  { file: 'bench/uses-an-inner-file.ts', text: typeOf('../packages/egress/src/gate.ts'), rules: ['outsiders-use-doors'] },
  { file: 'packages/lib/src/uses-bench.ts', text: valueOf('../../../bench/rightful.ts'), rules: ['packages-stand-on-packages'] },
  { file: `${drive}/circle-a.ts`, text: typeOf('./circle-b.ts'), rules: ['no-circular'] },
  { file: `${drive}/alone.ts`, text: thing, rules: ['no-orphans'] },
  { file: `${drive}/lost.ts`, text: valueOf('./nowhere.ts'), rules: ['not-to-unresolvable'] },
  { file: `${drive}/lost-package.ts`, text: typeOf('@berth/nowhere'), rules: ['not-to-unresolvable'] },
  { file: `${sessions}/uses-a-test.ts`, text: typeOf('./sessions.test.ts'), rules: ['not-to-test'] },
];

function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

function linkPackages(root: string): void {
  mkdirSync(join(root, 'node_modules/@berth'), { recursive: true });
  for (const name of packages) symlinkSync(join(root, 'packages', name), join(root, 'node_modules/@berth', name));
  for (const name of ['@aws-sdk', 'cheerio', 'find-my-way', 'htmlparser2', 'kysely', 'parse5', 'pg', 'ws', 'zod']) {
    symlinkSync(join(import.meta.dirname, '../../node_modules', name), join(root, 'node_modules', name));
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
      ...boundaryRules(architecture, root).map(({ name }) => name ?? ''),
      ...architecture.wordKeepers.map(({ what }) => keeperRule(what)),
    ];
    assert.deepEqual(
      rules.filter((rule) => !seeded.has(rule)),
      [],
    );
  });
});

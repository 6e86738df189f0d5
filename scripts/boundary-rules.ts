import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { IRegularForbiddenRuleType } from 'dependency-cruiser';

interface Keeper {
  what: string;
  modules: string[];
  only: string;
}

export interface WordKeeper {
  what: string;
  words: RegExp;
  only: RegExp;
}

export interface Architecture {
  /** Packages, each of which may import only those before it. */
  packages: string[];
  /** Folders of the server that hold several folders of the ladder. */
  groups: string[];
  /** Folders of the server, each of which may import only those before it. */
  ladder: string[];
  /** Folders whose every file may be imported. */
  toolboxes: string[];
  keepers: Keeper[];
  wordKeepers: WordKeeper[];
  /** Patterns of the server's files, without their ending, that tests, benchmarks and scripts may import. */
  serverEntries: string[];
}

export const architecture = createRequire(import.meta.url)('../architecture.cjs') as Architecture;

const src = 'packages/server/src';
/** Tests, and what packages have for them. */
const tests = '[.](test|microvm)[.]ts$';
const testing = '^packages/[^/]+/testing/';
const anyOf = (names: readonly string[]): string => `(${names.join('|')})`;

/** The name of the rule that guards what one keeper keeps. */
export const keeperRule = (what: string): string => `keeper-of-${what.replaceAll(' ', '-')}`;

const error = (name: string, comment: string, rule: Pick<IRegularForbiddenRuleType, 'from' | 'to'>): IRegularForbiddenRuleType => ({
  name,
  comment,
  severity: 'error',
  ...rule,
});

/** Files of a folder of the ladder, or of the folders below it. */
const within = (folder: string): string => `^${src}/${folder}/`;
const doorOf = (folder: string): string => `^${src}/${folder}/${folder.split('/').at(-1)}[.]ts$`;

function ladderRules({ ladder }: Architecture): IRegularForbiddenRuleType[] {
  return ladder.map((folder, i) =>
    error(`ladder-${folder}`, `${folder}/ may import only folders above it in architecture.cjs. Let boot/ hand it a function instead.`, {
      from: { path: within(folder), pathNot: tests },
      to: { path: [`^${src}/[^/]+[.]ts$`, `^${src}/(boot|doctor)/`, ...ladder.slice(i + 1).map(within)] },
    }),
  );
}

function doorRules({ groups, ladder, toolboxes }: Architecture): IRegularForbiddenRuleType[] {
  // The folder of the ladder in which a file lies: of a group it is one folder deeper.
  const folder = `(${anyOf(groups)}/[^/]+|(?!${anyOf(groups)}/)[^/]+)`;
  return [
    error('one-door', 'Another folder is entered through the file that bears its name, such as work/jobs/jobs.ts.', {
      // What puts the service together, or examines it, looks behind the doors.
      from: { path: `^${src}/(?!boot/|doctor/)${folder}/`, pathNot: tests },
      to: { path: `^${src}/${folder}/.+`, pathNot: [`^${src}/$1/`, ...toolboxes.map(within), ...ladder.map(doorOf)] },
    }),
    error('routes-are-mounted-once', 'Routes are leaves: only boot/mount.ts imports them.', {
      from: { pathNot: [`^${src}/boot/mount[.]ts$`, tests, testing] },
      to: { path: `^${src}/.+/(admin-)?routes[.]ts$` },
    }),
    error('routes-never-reach-the-store', 'A route calls its door; the door calls the store.', {
      from: { path: `^${src}/.+/(admin-)?routes[.]ts$` },
      to: { path: `^${src}/(store/|.+/store[.]ts$)` },
    }),
    error('boot-knows-no-doctor', 'The doctor examines what boot/ puts together.', {
      from: { path: within('boot'), pathNot: tests },
      to: { path: within('doctor') },
    }),
  ];
}

/** Patterns of the files that a package of the tree at `root` exports. */
function exportedFiles(root: string): string[] {
  return globSync('packages/*/package.json', { cwd: root }).flatMap((file) => {
    const { exports = {} } = JSON.parse(readFileSync(join(root, file), 'utf8')) as { exports?: Record<string, string> };
    return Object.values(exports).map((path) => `^${join(dirname(file), path).replaceAll('.', '[.]').replaceAll('*', '.+')}$`);
  });
}

function packageRules({ packages, toolboxes, serverEntries }: Architecture, root: string): IRegularForbiddenRuleType[] {
  const outside = '^(tests|bench|scripts|images)/';
  const serverDoors = [`^${src}/${anyOf(serverEntries)}[.]ts$`, ...toolboxes.map(within), '^packages/server/testing/'];
  return [
    ...packages.slice(0, -1).map((name, i) =>
      error(`package-${name}`, `packages/${name} may import only packages above it in architecture.cjs.`, {
        from: { path: `^packages/${name}/`, pathNot: [tests, testing] },
        to: { path: packages.slice(i + 1).map((lower) => `^packages/${lower}/`) },
      }),
    ),
    error('packages-have-doors', 'Of another package only what its `exports` name may be imported.', {
      from: { path: '^packages/([^/]+)/', pathNot: [tests, testing] },
      to: { path: '^packages/[^/]+/', pathNot: ['^packages/$1/', ...exportedFiles(root)] },
    }),
    error(
      'outsiders-use-doors',
      'Tests, benchmarks and scripts enter a package by what its `exports` name, and the server by its entries.',
      {
        from: { path: outside },
        to: { path: '^packages/(?!web/)', pathNot: [...exportedFiles(root), ...serverDoors] },
      },
    ),
    error('guest-imports-the-contract-alone', 'The guest ships in an image of its own: of ours it has the contract and nothing else.', {
      from: { path: '^packages/guest/', pathNot: [tests, testing] },
      to: { path: '^packages/(?!guest/|contract/)' },
    }),
    error('the-client-imports-nothing', 'The client is published on its own, without dependencies.', {
      from: { path: '^packages/sdk/', pathNot: [tests, testing] },
      to: { path: '^packages/(?!sdk/)' },
    }),
    error(
      'the-command-line-is-a-client',
      'The command line reaches the service through the client, as any program does; the MCP server is one of its commands.',
      {
        from: { path: '^packages/cli/', pathNot: [tests, testing] },
        to: { path: '^packages/(?!cli/|sdk/|mcp/src/stdio[.]ts$|lib/src/socket-pair[.]ts$)' },
      },
    ),
    error('the-mcp-server-is-a-client', 'The MCP server reaches the service through the client, as any program does.', {
      from: { path: '^packages/mcp/', pathNot: [tests, testing] },
      to: { path: '^packages/(?!mcp/|sdk/|lib/)' },
    }),
    error(
      'packages-stand-on-packages',
      'What ships never imports tests, benchmarks, scripts, what builds images, or what packages have for tests.',
      {
        from: { path: '^packages/', pathNot: [tests, testing] },
        to: { path: [outside, testing] },
      },
    ),
  ];
}

/** Code that runs inside a page is sent as text, so nothing that it imports would be there. */
function pageScriptRules(): IRegularForbiddenRuleType[] {
  return [
    error('page-scripts-stand-alone', 'Code that runs inside a page may import only its own package, and types of the contract.', {
      from: { path: '^packages/page-scripts/src/', pathNot: tests },
      to: { pathNot: ['^packages/page-scripts/', '^packages/contract/'] },
    }),
  ];
}

function hygieneRules(): IRegularForbiddenRuleType[] {
  return [
    error('no-circular', 'A cycle of types is a cycle of ideas.', { from: {}, to: { circular: true } }),
    error('no-orphans', 'A file that nothing imports and that imports nothing is dead.', {
      // The last is the script of the documentation's pages, which the server sends as it is.
      from: { orphan: true, path: '^packages/', pathNot: [tests, '[.]d[.]ts$', '/main[.]ts$', '/docs/docs[.]js$'] },
      to: {},
    }),
    error('not-to-unresolvable', 'An import that this check cannot follow is an import that it cannot check.', {
      from: {},
      // Vite makes these when it builds the pages.
      to: { couldNotResolve: true, pathNot: '^virtual:' },
    }),
    error('not-to-test', 'A test is a leaf.', { from: { pathNot: tests }, to: { path: tests } }),
  ];
}

/** The boundary rules of the tree at `root`, made from the architecture. */
export const boundaryRules = (of: Architecture, root: string): IRegularForbiddenRuleType[] => [
  ...ladderRules(of),
  ...doorRules(of),
  ...of.keepers.map(({ what, modules, only }) =>
    error(keeperRule(what), `Only ${only} touches ${what}.`, {
      from: { path: '^packages/', pathNot: [only, tests, testing] },
      to: { path: modules },
    }),
  ),
  ...packageRules(of, root),
  ...pageScriptRules(),
  ...hygieneRules(),
];

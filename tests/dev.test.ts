/** `npm run dev`: the runner, with a small service of its own in place of this one. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const runner = fileURLToPath(new URL('../scripts/dev-runner.ts', import.meta.url));

const driver = `
import { runDev } from ${JSON.stringify(runner)};
const stop = new AbortController();
process.on('SIGINT', () => stop.abort());
await runDev(
  {
    root: import.meta.dirname,
    serve: [process.execPath, 'service/main.mjs'],
    build: [process.execPath, 'build.mjs'],
    serviceDirs: ['service'],
    pageDirs: ['pages'],
    print: (line) => console.log(line),
  },
  stop.signal,
);
console.log('runner ended');
`;

const service = `
import { readFileSync } from 'node:fs';
import { value } from './value.mjs';
console.log('serving', process.pid, value, readFileSync('built.txt', 'utf8'));
process.on('SIGTERM', () => { console.log('stopping', process.pid); process.exit(); });
setInterval(() => {}, 1000);
`;

interface Running {
  dir: string;
  child: ChildProcess;
  /** Waits for the count-th line that matches, and returns its match. */
  line: (pattern: RegExp, count?: number) => Promise<RegExpExecArray>;
  /** The lines so far that match. */
  lines: (pattern: RegExp) => RegExpExecArray[];
}

async function start(t: TestContext): Promise<Running> {
  const dir = await mkdtemp(join(tmpdir(), 'berth-dev-'));
  await mkdir(join(dir, 'service'));
  await mkdir(join(dir, 'pages'));
  await writeFile(join(dir, 'driver.ts'), driver);
  await writeFile(join(dir, 'build.mjs'), `import { cpSync } from 'node:fs'; cpSync('pages/page.txt', 'built.txt');`);
  await writeFile(join(dir, 'service/main.mjs'), service);
  await writeFile(join(dir, 'service/value.mjs'), 'export const value = 1;');
  await writeFile(join(dir, 'pages/page.txt'), 'old');
  await writeFile(join(dir, 'built.txt'), 'old');
  const child = spawn(process.execPath, ['driver.ts'], { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  t.after(async () => {
    child.kill('SIGKILL');
    await rm(dir, { recursive: true, force: true });
  });
  const lines = (pattern: RegExp): RegExpExecArray[] =>
    output
      .split('\n')
      .map((each) => pattern.exec(each))
      .filter((match) => match !== null);
  const line = async (pattern: RegExp, count = 1): Promise<RegExpExecArray> => {
    for (;;) {
      const match = lines(pattern)[count - 1];
      if (match) return match;
      assert.equal(child.exitCode, null, output);
      await sleep(20);
    }
  };
  return { dir, child, line, lines };
}

/** Whether the process runs. One that has ended and was not waited for does not. */
const isRunning = async (pid: string): Promise<boolean> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State:\tZ');
  return !/^State:\s*Z/m.test(status);
};

test('the development runner starts the service again with what has changed, and ends the one before first', async (t) => {
  const { dir, line, lines } = await start(t);
  const [, pid = ''] = await line(/^serving (\d+) 1 old$/);
  // Neither is a source of the service.
  await writeFile(join(dir, 'service/value.test.ts'), '');
  await writeFile(join(dir, 'service/.value.mjs.swp'), '');
  await writeFile(join(dir, 'service/value.mjs'), 'export const value = 2;');
  await line(/^serving \d+ 2 old$/);
  assert.equal(lines(/^stopping (\d+)$/)[0]?.[1], pid);
  assert.equal(await isRunning(pid), false);
  assert.deepEqual(
    lines(/^Changed: (.*)$/).map(([, files]) => files),
    ['service/value.mjs'],
  );
});

test('the development runner builds changed pages before it starts the service again', async (t) => {
  const { dir, line, lines } = await start(t);
  await line(/^serving \d+ 1 old$/);
  await writeFile(join(dir, 'pages/page.txt'), 'new');
  await line(/^serving \d+ 1 new$/);
  assert.equal(lines(/^serving/).length, 2);
});

test('the development runner waits for a repair of pages that cannot be built, and of a service that does not start', async (t) => {
  const { dir, line, lines } = await start(t);
  const [, pid = ''] = await line(/^serving (\d+) 1 old$/);
  const builder = await readFile(join(dir, 'build.mjs'), 'utf8');
  await writeFile(join(dir, 'build.mjs'), 'process.exit(1);');
  await writeFile(join(dir, 'pages/page.txt'), 'broken');
  await line(/^The pages could not be built/);
  assert.equal(await isRunning(pid), true);
  await writeFile(join(dir, 'build.mjs'), builder);
  await writeFile(join(dir, 'service/value.mjs'), 'export const = ;');
  await line(/^The service has ended \(1\)/);
  await writeFile(join(dir, 'service/value.mjs'), 'export const value = 3;');
  await line(/^serving \d+ 3 broken$/);
  assert.equal(lines(/^serving/).length, 2);
});

test('the development runner ends with its service at Ctrl+C', async (t) => {
  const { child, line } = await start(t);
  const [, pid = ''] = await line(/^serving (\d+)/);
  const exited = once(child, 'exit');
  child.kill('SIGINT');
  await line(/^runner ended$/);
  assert.deepEqual(await exited, [0, null]);
  assert.equal(await isRunning(pid), false);
});

test('the development runner ends at Ctrl+C with the processes that a build has started', async (t) => {
  const { dir, child, line } = await start(t);
  const [, pid = ''] = await line(/^serving (\d+)/);
  // Its own process ends at a signal and leaves another one.
  await writeFile(
    join(dir, 'build.mjs'),
    `import { spawn } from 'node:child_process';
const inner = spawn('sleep', ['1000'], { stdio: 'ignore' });
console.log('building', process.pid, inner.pid);
setInterval(() => {}, 1000);`,
  );
  await writeFile(join(dir, 'pages/page.txt'), 'new');
  const [, outer = '', inner = ''] = await line(/^building (\d+) (\d+)$/);
  child.kill('SIGINT');
  await line(/^runner ended$/);
  for (const each of [pid, outer]) assert.equal(await isRunning(each), false);
  // It got its signal together with the build.
  while (await isRunning(inner)) await sleep(20);
});

test('the service of a development runner that is killed ends, too', async (t) => {
  const { child, line } = await start(t);
  const [, pid = ''] = await line(/^serving (\d+)/);
  child.kill('SIGKILL');
  while (await isRunning(pid)) await sleep(20);
});

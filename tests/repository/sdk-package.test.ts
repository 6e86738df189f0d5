/** The TypeScript client as it is published: packed, and used from an empty folder. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Bytes, compressed, of what a first program imports. */
const firstProgramBytesMax = 12 * 1024;
const firstProgram = `import { Berth } from '@berth/sdk';\nexport const berth = new Berth();\n`;

let dir: string;
/** An empty project with the package. */
let project: string;
let tarball: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-sdk-'));
  project = join(dir, 'project');
  await run(root, process.execPath, join(root, 'scripts/pack/pack-sdk.ts'), join(dir, 'package'));
  const { stdout } = await run(dir, 'npm', 'pack', '--silent', join(dir, 'package'));
  tarball = join(dir, stdout.trim());
  const installed = join(project, 'node_modules/@berth/sdk');
  await mkdir(installed, { recursive: true });
  await run(dir, 'tar', '-xzf', tarball, '-C', installed, '--strip-components=1');
  await writeFile(join(project, 'package.json'), '{"type":"module","private":true}');
  await writeFile(join(project, 'first.ts'), firstProgram);
});
after(() => rm(dir, { recursive: true, force: true }));

const run = (cwd: string, command: string, ...args: string[]): Promise<{ stdout: string }> =>
  promisify(execFile)(command, args, { cwd }).catch((error: Error & { stdout?: string; stderr?: string }) => {
    throw new Error(`${error.message}\n${error.stdout}${error.stderr}`.slice(0, 4000), { cause: error });
  });

test('the package has no dependency', async () => {
  const manifest = JSON.parse(await readFile(join(project, 'node_modules/@berth/sdk/package.json'), 'utf8')) as Record<string, unknown>;
  assert.equal(manifest['dependencies'], undefined);
  assert.equal(manifest['private'], undefined);
});

test('publint finds nothing in the package', async () => {
  const { messages } = await publint({ pkgDir: join(project, 'node_modules/@berth/sdk'), pack: false });
  assert.deepEqual(messages, []);
});

test('the types of the package resolve where its code does', async () => {
  const result = await checkPackage(createPackageFromTarballData(await readFile(tarball)));
  assert.ok(result.types, 'the package has types');
  // The package is made of modules alone: CommonJS of old runtimes and resolution without `exports` are not promised.
  const promised = result.problems.filter((problem) => !('resolutionKind' in problem) || !/^node(10|16-cjs)$/.test(problem.resolutionKind));
  assert.deepEqual(promised, []);
});

test('what a first program imports has at most 12 KB, and nothing of Node', async () => {
  const bundle = await rolldown({ input: join(project, 'first.ts'), platform: 'browser', logLevel: 'silent' });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  assert.deepEqual(
    output.map((chunk) => (chunk.type === 'chunk' ? chunk.imports : [])),
    [[]],
  );
  const bytes = gzipSync(output[0].code, { level: 9 }).length;
  assert.ok(bytes <= firstProgramBytesMax, `${bytes} bytes`);
});

const program = `import { Berth, BerthError } from '@berth/sdk';
const berth = new Berth({ apiKey: 'key', baseUrl: 'http://127.0.0.1:1' });
export async function main(): Promise<string> {
  await using session = await berth.sessions.create({ kind: 'headless', wait: true });
  await session.act([{ type: 'click', selectors: ['#a'] }, { type: 'fill', selectors: [['#frame', '#b']], value: 'c' }]);
  for await (const { session_id } of berth.sessions.list({ status: 'ready', metadata: { team: 'a' } })) console.log(session_id.length);
  for await (const event of session.events({ lastEventId: 0 })) console.log(event.type === 'navigation', event.data);
  const { data, requestId } = await berth.fetch('https://example.com/', { formats: ['markdown'] }).withResponse();
  try {
    await session.navigate('https://example.com/');
  } catch (error) {
    if (BerthError.is(error, 'navigation_failed')) console.log(error.details.reason === 'dns_failed');
  }
  // @ts-expect-error No session has this kind.
  await berth.sessions.create({ kind: 'toaster' });
  // @ts-expect-error A fill needs a value.
  await session.act([{ type: 'fill', selectors: ['#a'] }]);
  return \`\${data.markdown} \${requestId}\`;
}
`;
const compilers = { 5: 'scripts/node_modules/typescript/bin/tsc', 7: 'node_modules/typescript/bin/tsc' };
for (const [version, path] of Object.entries(compilers))
  test(`a program compiles with TypeScript ${version}, and one that is wrong does not`, async () => {
    await writeFile(join(project, 'program.ts'), program);
    const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'esnext', '--ignoreConfig'];
    const own = version === '5' ? options.slice(0, -1) : options;
    const bin = join(root, path);
    const { stdout } = await run(root, process.execPath, bin, '--version');
    assert.ok(stdout.startsWith(`Version ${version}.`), stdout);
    await run(project, process.execPath, bin, ...own, '--module', 'nodenext', 'program.ts');
    await run(project, process.execPath, bin, ...own, '--module', 'esnext', '--moduleResolution', 'bundler', 'program.ts');
  });

test('a program without Playwright is told what to install', async () => {
  const source = `import { Berth } from '@berth/sdk';
    const fetch = async () => Response.json({ cdp_url: 'ws://127.0.0.1:1/' });
    const session = new Berth({ apiKey: 'key', fetch }).session('ses_1');
    await session.playwright().catch((error) => console.log(error.message));
    await session.puppeteer().catch((error) => console.log(error.message));`;
  await writeFile(join(project, 'missing.js'), source);
  const { stdout } = await run(project, process.execPath, 'missing.js');
  assert.equal(
    stdout,
    'Install playwright-core first: npm install playwright-core\nInstall puppeteer-core first: npm install puppeteer-core\n',
  );
});

/** Python for the tests of its client: environments that are made once, and made anew when what they consist of changes. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '../..');
const cache = join(root, 'node_modules/.cache/python');
const run = promisify(execFile);
/** Some hundred megabytes from a registry, on a busy machine. */
const installMsMax = 600_000;
/** Options of a hook or a test that makes an environment. The time of its suite does not hold for a hook, nor for a test. */
export const installing = { timeout: installMsMax };
/** The oldest version that the client supports. */
const minorMin = 10;

/** The interpreter of this machine that has what the tests need; a reason why there is none otherwise. */
async function findPython(): Promise<{ path: string; version: string } | { missing: string }> {
  const probe = 'import sys, venv, ensurepip; print(sys.version_info.major, sys.version_info.minor, sys.version.split()[0])';
  const { stdout } = await run('python3', ['-c', probe]).catch(() => ({ stdout: '' }));
  const [major, minor, version = ''] = stdout.trim().split(' ');
  if (major === '3' && Number(minor) >= minorMin) return { path: 'python3', version };
  return { missing: `python3 ≥ 3.${minorMin} with venv is not there: the tests of the Python client do not run` };
}

const python = await findPython();
// Where everything is to be proven, a machine without it is a failure.
if ('missing' in python && process.env['BERTH_TEST_PYTHON'] === 'required') throw new Error(python.missing);
/** Options of tests that need Python: where it is missing, their report says so in a line. */
export const withPython: { skip?: string } = 'missing' in python ? { skip: python.missing } : {};

const clientDir = join(root, 'clients/python');
const sourcesOf = (folder: string): string[] =>
  globSync('{src/**/*.py,src/**/py.typed,pyproject.toml,README.md}', { cwd: folder }).toSorted();

/** What an environment consists of: packages from a file of requirements, packages by name, and the client as it is built. */
export interface Contents {
  requirements?: string;
  packages?: readonly string[];
  client?: 'wheel' | 'sdist';
}

/** Returns the interpreter of an environment with these contents. What was made for the same contents before is used again. */
export async function environment(name: string, contents: Contents): Promise<string> {
  const { requirements, packages = [], client } = contents;
  const folder = join(cache, `${name}-${digestOf({ ...contents, client: undefined })}`);
  const interpreter = join(folder, 'bin/python');
  const install = (...what: string[]): Promise<unknown> =>
    // Of some thousand modules few are imported: each is compiled when it is.
    run(interpreter, ['-m', 'pip', 'install', '--quiet', '--no-compile', '--disable-pip-version-check', '--no-input', ...what], {
      timeout: installMsMax,
    });
  if (!existsSync(join(folder, 'complete'))) {
    for (const old of globSync(`${name}-*`, { cwd: cache })) rmSync(join(cache, old), { recursive: true, force: true });
    mkdirSync(cache, { recursive: true });
    await run('python3', ['-m', 'venv', folder]);
    // Requirements that are locked with their hashes allow nothing beside them.
    if (requirements !== undefined) await install('-r', requirements);
    // Where there are none, the client brings what it needs.
    else await install(...packages, ...(client ? [(await buildClient())[client]] : []));
    mkdirSync(join(folder, 'complete'));
  }
  const stamp = join(folder, `client-${digestOf({ client })}`);
  if (client === undefined || existsSync(stamp)) return interpreter;
  await install('--force-reinstall', '--no-deps', (await buildClient())[client]);
  mkdirSync(stamp);
  return interpreter;
}

function digestOf({ requirements, packages = [], client }: { [K in keyof Contents]: Contents[K] | undefined }): string {
  const hash = createHash('sha256').update(JSON.stringify([python, packages, client ?? null]));
  if (requirements !== undefined) hash.update(readFileSync(requirements));
  if (client !== undefined) for (const file of sourcesOf(clientDir)) hash.update(`${file}\n`).update(readFileSync(join(clientDir, file)));
  return hash.digest('hex').slice(0, 16);
}

/** Builds what is released: the wheel and the source distribution. */
export async function buildClient(): Promise<{ wheel: string; sdist: string }> {
  const tools = await environment('build', { requirements: join(clientDir, 'requirements-build.txt') });
  const folder = join(cache, `dist-${digestOf({ client: 'wheel' })}`);
  const found = (): { wheel: string; sdist: string } => {
    const [wheel = '', sdist = ''] = ['*.whl', '*.tar.gz'].map((pattern) => globSync(pattern, { cwd: folder })[0] ?? '');
    return { wheel: join(folder, wheel), sdist: join(folder, sdist) };
  };
  if (existsSync(folder)) return found();
  for (const old of globSync('dist-*', { cwd: cache })) rmSync(join(cache, old), { recursive: true, force: true });
  const aside = `${folder}.${process.pid}`;
  // The tools stand in an environment of their own, so none is made for each build.
  await run(tools, ['-m', 'build', '--no-isolation', '--outdir', aside, clientDir], { timeout: installMsMax });
  renameSync(aside, folder);
  return found();
}

/** Runs a program, and fails with what it wrote. */
export async function runPython(interpreter: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd = root): Promise<string> {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(BERTH|PYTHON|XDG)_?/.test(name)));
  const options = {
    env: { ...inherited, PYTHONPYCACHEPREFIX: join(cache, 'compiled'), ...env },
    cwd,
    timeout: 300_000,
    maxBuffer: 64 * 1024 * 1024,
  };
  try {
    const { stdout, stderr } = await run(interpreter, [...args], options);
    return stdout + stderr;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

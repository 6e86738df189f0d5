/** Starts a service on this machine: the one of the installed package, or one from a source tree. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Action, Context } from '../../context.ts';
import { CommandError, exitCodes, usageError } from '../../failures.ts';
import { defaultDataFolder, findInstalledService, findNode } from './installed-service.ts';

const portMax = 65_535;

/** A command in the place of this one: the service has the terminal, its output and its signals. */
interface Start {
  script: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** The folder of the sources, at or above one. */
function findSources(folder: string): string | undefined {
  const file = join(folder, 'package.json');
  const isSources =
    existsSync(join(folder, 'scripts/start.sh')) &&
    existsSync(file) &&
    (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name === 'berth';
  if (isSources) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : findSources(parent);
}

export const up: Action = async (context) => {
  const { options, args, signal } = context;
  const port = options.text('port');
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= portMax))
    throw usageError(`--port must be a number from 0 to ${portMax}, and not '${port}'.`);
  // Both have an option --json.
  const isForPrograms = args[0] === 'doctor' && options.flag('json');
  const words = [...(port === undefined ? [] : ['--port', port]), ...args, ...(isForPrograms ? ['--json'] : [])];
  const source = options.text('source');
  const installed = source === undefined ? findInstalledService() : undefined;
  const start = installed === undefined ? fromSources(context, source) : await fromPackage(context, installed);
  const code = await run('sh', [start.script, ...words], { ...start, signal });
  if (code === exitCodes.usage && !signal.aborted) throw usageError('The service has no such command or option.', 'berth up --help');
  if (code !== 0 && !signal.aborted)
    throw new CommandError(exitCodes.failed, 'service_ended', `The service ended with ${code ?? 'a signal'}.`);
  return undefined;
};

function fromSources({ env, options }: Context, source: string | undefined): Start {
  const root = findSources(resolve(source ?? process.cwd()));
  if (root === undefined)
    throw new CommandError(
      exitCodes.notFound,
      'no_sources',
      'There are no sources of the service here.',
      'Install the service with npx @berth/berth up; or run this in a clone, or name one: berth up --source FOLDER',
    );
  return { script: join(root, 'scripts/start.sh'), cwd: root, env: serviceEnvironment(env, options.text('data')) };
}

async function fromPackage(context: Context, folder: string): Promise<Start> {
  await prepareHost(context, folder);
  const { env, options } = context;
  const cache = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'berth');
  const dataDir = options.text('data') ?? (env['BERTH_DATA_DIR'] || defaultDataFolder(env));
  const own = { SERVICE_NODE: findNode(folder), SERVICE_FOLDER: process.cwd(), NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'] ?? cache };
  return { script: join(folder, 'scripts/serve.sh'), cwd: process.cwd(), env: { ...serviceEnvironment(env, dataDir), ...own } };
}

/** Variables of the command line alone, which the service refuses as unknown. */
const clientVariables = new Set(['BERTH_PROFILE', 'BERTH_SESSION', 'BERTH_OUTPUT']);

function serviceEnvironment(env: Context['env'], dataDir: string | undefined): NodeJS.ProcessEnv {
  const passed = Object.fromEntries(Object.entries(env).filter(([name]) => !clientVariables.has(name)));
  return dataDir === undefined ? passed : { ...passed, BERTH_DATA_DIR: resolve(dataDir) };
}

interface HostState {
  /** Packages of the distribution that are missing. */
  missing: string[];
  /** The command that installs them; empty on a distribution that is not known. */
  command: string;
}

/** Reads what the host lacks. @throws CommandError where the service cannot run here at all */
async function readHost(folder: string): Promise<HostState> {
  const ask = async (word: string): Promise<string> =>
    (await promisify(execFile)('sh', [join(folder, 'scripts/host-packages.sh'), word])).stdout.trim();
  const refusal = await ask('refusal');
  if (refusal !== '') throw new CommandError(exitCodes.failed, 'unsupported_host', refusal);
  const missing = await ask('missing');
  return { missing: missing === '' ? [] : missing.split('\n'), command: await ask('command') };
}

/** Installs what the host lacks where that is asked for. @throws CommandError where no browser could start without it */
async function prepareHost({ options, output, signal, env }: Context, folder: string): Promise<void> {
  const { missing, command } = await readHost(folder);
  if (missing.length === 0) return;
  const what = `This host lacks: ${missing.join(', ')}.`;
  if (options.flag('install')) {
    if (command === '') throw new CommandError(exitCodes.failed, 'unknown_distribution', what, 'Install them with the host’s own tools.');
    output.tell({ command }, () => `${what} Installing them: ${command}`);
    // A package manager's output is no result of this command, so it goes to standard error.
    const code = await run('sh', ['-c', command], {
      cwd: folder,
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
      signal,
      isAside: true,
    });
    if (code === 0) return;
    const hint = `As root, run: ${command}\nBehind a proxy, set HTTPS_PROXY and HTTP_PROXY before.`;
    throw new CommandError(exitCodes.failed, 'not_installed', `The packages could not be installed. ${what}`, hint);
  }
  const hint =
    command === '' ? 'Install them with the host’s own tools.' : `Install them: ${command}\nOr let this do it: berth up --install`;
  const needsBrowser = missing.includes('chromium') && !env['BERTH_CHROMIUM'];
  if (needsBrowser) throw new CommandError(exitCodes.failed, 'host_incomplete', `${what} No browser starts without them.`, hint);
  output.tell({ missing, command }, () => `${what} The service starts, and lacks what they give.\n${hint}`);
}

interface RunOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
  isAside?: boolean;
}

/** Runs a program until it ends. Ctrl+C reaches it itself: the service ends its sessions before it exits. */
function run(program: string, words: readonly string[], { cwd, env, signal, isAside = false }: RunOptions): Promise<number | null> {
  const child = spawn(program, words, { stdio: ['inherit', isAside ? 2 : 'inherit', 'inherit'], cwd, env });
  const stop = (): unknown => child.kill('SIGINT');
  signal.addEventListener('abort', stop);
  return new Promise<number | null>((done, fail) => child.once('exit', done).once('error', fail)).finally(() =>
    signal.removeEventListener('abort', stop),
  );
}

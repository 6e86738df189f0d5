/** The MCP server as a command, and its entry in the settings of agents. */
import { once } from 'node:events';
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { agentsOf, withEntry, type Agent, type ServerEntry } from '../../settings/agent-settings.ts';
import { readConfig } from '../../settings/config-file.ts';
import type { Action, Context } from '../../context.ts';
import { usageError } from '../../failures.ts';
import { changeForeignFile, readTextFile } from '../../settings/files.ts';
import { report } from '../../output.ts';

export const mcp: Action = async (context) => {
  const [word] = context.args;
  if (word === 'install') return install(context);
  if (word !== undefined) throw usageError(`mcp knows install, not ${JSON.stringify(word)}.`);
  return serve(context);
};

/** Serves until the agent closes standard input and has what it asked for, or until it ends this program. */
async function serve(context: Context): Promise<undefined> {
  const berth = await context.berth();
  const { serveStandardInput } = await import('@berth/mcp/stdio');
  const done = new AbortController();
  const options = { tools: context.options.text('tools'), idleSeconds: context.options.text('idleSeconds') };
  try {
    serveStandardInput(berth, options);
  } catch (error) {
    throw error instanceof RangeError ? usageError(error.message) : error;
  }
  process.once('beforeExit', () => done.abort());
  await once(AbortSignal.any([done.signal, context.signal]), 'abort');
}

function install(context: Context): ReturnType<typeof report> {
  const { options } = context;
  const target = options.text('target') ?? '';
  const agent = agentsOf(context.env)[target];
  if (!agent)
    throw usageError(`--target is one of ${Object.keys(agentsOf(context.env)).join(', ')}.`, 'berth mcp install --target claude-code');
  const path = pathOf(agent, target, options.flag('global'));
  const before = readTextFile(path) ?? '';
  const entry = options.flag('uninstall') ? undefined : entryOf(context, path === agent.global);
  const after = withEntry({ path, text: before }, agent, entry);
  const warnings = entry ? warningsOf(context) : [];
  if (options.flag('print')) return report({ target, path, content: after, warnings }, ({ content }) => content);
  const backup = before === after ? undefined : changeForeignFile(path, after);
  const status = before === after ? 'unchanged' : entry ? 'installed' : 'removed';
  return report({ target, path, status, ...(backup === undefined ? {} : { backup }), warnings }, (seen, paint) =>
    [`${seen.status}: ${seen.path}`, ...seen.warnings.map((text) => paint.yellow(`warning: ${text}`))].join('\n'),
  );
}

function pathOf({ local, global }: Agent, target: string, isGlobal: boolean): string {
  if (isGlobal && global === undefined) throw usageError(`${target} is set up for a folder: leave out --global.`);
  return local === undefined || isGlobal ? (global ?? '') : resolve(local);
}

/** The program by its name where a team may share the file, by its path where an agent's PATH may be another one. No key is in it. */
function entryOf({ env, options }: Context, isGlobal: boolean): ServerEntry {
  const tools = options.text('tools');
  const idleSeconds = options.text('idleSeconds');
  const args = [
    'mcp',
    ...(tools === undefined ? [] : ['--tools', tools]),
    ...(idleSeconds === undefined ? [] : ['--idle-seconds', idleSeconds]),
  ];
  const variables = ['BERTH_URL', 'BERTH_PROFILE'].flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  const settings = variables.length > 0 ? { env: Object.fromEntries(variables) } : {};
  if (!isGlobal && isInPath(env['PATH'])) return { command: 'berth', args, ...settings };
  return { command: process.execPath, args: [realpathSync(process.argv[1] ?? ''), ...args], ...settings };
}

function isInPath(path = ''): boolean {
  const names = process.platform === 'win32' ? ['berth.cmd', 'berth.exe'] : ['berth'];
  return path.split(delimiter).some((folder) => folder !== '' && names.some((each) => isProgram(join(folder, each))));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** An agent starts the server with its own environment, so it finds a key in the profile alone. */
function warningsOf({ access, env }: Context): string[] {
  const { profiles } = readConfig(env);
  const stored = profiles[access.profile];
  if (stored?.api_key !== undefined && stored.url === access.url) return [];
  return ['The settings have no key, and no profile has one for this service: run `berth login`, or give the agent BERTH_API_KEY.'];
}

/** The command line of `npm start -- …`, `npm run doctor` and the other commands. Everything else is set by environment variables. */
import { parseArgs } from 'node:util';
import { ConfigError, variableGroups } from '../config.ts';
import { ownCommands } from './own-commands.ts';

const commands = ['doctor', 'backup', 'restore', 'api-key'] as const;
/** Commands that take the name of a file. */
const withFile = { backup: ownCommands.backup, restore: ownCommands.restore } as const;
const takesFile = (command: string | undefined): command is keyof typeof withFile => command !== undefined && command in withFile;

export interface CommandLine {
  command: 'serve' | (typeof commands)[number];
  help: boolean;
  /** Port that replaces BERTH_PORT. */
  port: string | undefined;
  /** Output for programs. */
  json: boolean;
  /** Path of the backup file. */
  file: string;
}

/** Arguments that make no sense; the program exits with 2. */
export class UsageError extends ConfigError {}

/** @throws UsageError for an unknown option or command, and for a command without its file */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parse(args);
  const { help, port, json } = values;
  const [name, file = '', ...others] = positionals;
  const command = name === undefined ? 'serve' : commands.find((known) => known === name);
  const unexpected = command === undefined ? name : [...(takesFile(command) ? [] : [file]), ...others].find(Boolean);
  if (unexpected !== undefined) throw refusal(`Unexpected argument '${unexpected}'`);
  if (command === undefined || help) return { command: 'serve', help, port, json, file: '' };
  if (takesFile(command) && file === '') throw refusal(`The name of a file is missing: ${withFile[command]} FILE`);
  return { command, help, port, json, file };
}

const refusal = (message: string, cause?: unknown): UsageError =>
  new UsageError(`${message}. See ${ownCommands.startWith} --help`, { cause });

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        port: { type: 'string', short: 'p' },
        json: { type: 'boolean', default: false },
      },
    });
  } catch (cause) {
    const [message = ''] = (cause instanceof Error ? cause.message : String(cause)).split('. ');
    throw refusal(message, cause);
  }
}

const variables = Object.assign({}, ...Object.values(variableGroups)) as Record<string, { default: string | null; description: string }>;
const shownVariables = ['BERTH_HOST', 'BERTH_PORT', 'BERTH_PUBLIC_URL', 'BERTH_DATA_DIR', 'BERTH_EGRESS_ALLOW', 'BERTH_POOL_TARGET'];
const nameWidth = 20;

const describe = (name: string): string => {
  const { default: fallback, description } = variables[name] ?? { default: null, description: '' };
  return `  ${name.padEnd(nameWidth)}${description.replaceAll('`', '')}${fallback ? ` Default: ${fallback}` : ''}`;
};

const command = (text: string): string => text.padEnd(30);

export const usage = `Usage: ${ownCommands.usage}

Installs what is missing, then serves until Ctrl-C or SIGTERM.

  -p, --port PORT     Port to listen on, in place of BERTH_PORT. 0 takes a free one.
  -h, --help          Shows this text.

Other commands, which may run beside the service:

  ${command(ownCommands.doctor)}What this host can do, what is missing, and what to do about it.
                                For programs: ${ownCommands.doctorForPrograms}
  ${command(`${ownCommands.backup} FILE`)}Writes a backup of the embedded database and of the keys.
  ${command(`${ownCommands.restore} FILE`)}Restores a backup into an empty data directory.
  ${command(ownCommands['api-key'])}Prints a new API key for BERTH_BOOTSTRAP_API_KEY, and stores nothing.

Settings are environment variables, among them:

${shownVariables.map(describe).join('\n')}

All of them: docs/configuration.md
`;

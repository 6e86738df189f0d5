/** The command line of `npm start -- …`. Everything else is set by environment variables. */
import { parseArgs } from 'node:util';
import { ConfigError, variableGroups } from './config.ts';

export interface CommandLine {
  help: boolean;
  /** In place of BERTH_PORT. */
  port: string | undefined;
}

/** @throws ConfigError for an unknown option */
export function readCommandLine(args: readonly string[]): CommandLine {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { help: { type: 'boolean', short: 'h', default: false }, port: { type: 'string', short: 'p' } },
    });
    return { help: values.help, port: values.port };
  } catch (cause) {
    const [message = ''] = (cause instanceof Error ? cause.message : String(cause)).split('. ');
    throw new ConfigError(`${message}. See npm start -- --help`, { cause });
  }
}

const variables = Object.assign({}, ...Object.values(variableGroups)) as Record<string, { default: string | null; description: string }>;
const shownVariables = ['BERTH_HOST', 'BERTH_PORT', 'BERTH_PUBLIC_URL', 'BERTH_DATA_DIR', 'BERTH_EGRESS_ALLOW', 'BERTH_POOL_TARGET'];
const nameWidth = 20;

const describe = (name: string): string => {
  const { default: fallback, description } = variables[name] ?? { default: null, description: '' };
  return `  ${name.padEnd(nameWidth)}${description.replaceAll('`', '')}${fallback ? ` Default: ${fallback}` : ''}`;
};

export const usage = `Usage: npm start [-- OPTIONS]

Installs what is missing, then serves until Ctrl-C or SIGTERM.

  -p, --port PORT     Port to listen on, in place of BERTH_PORT. 0 takes a free one.
  -h, --help          Shows this text.

Settings are environment variables, among them:

${shownVariables.map(describe).join('\n')}

All of them: docs/configuration.md
`;

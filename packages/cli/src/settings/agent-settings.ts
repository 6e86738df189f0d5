/** Settings of agents: in which file each keeps its MCP servers, and how an entry gets into it and out. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { applyEdits, modify, parseTree, type ParseError } from 'jsonc-parser';
import { usageError, type CommandError } from '../failures.ts';
import { unusable } from './files.ts';

/** A program that an agent starts. */
export interface ServerEntry {
  command: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

export interface Agent {
  /** The file for one folder; undefined where the agent has none. */
  local?: string;
  /** The file for all folders; undefined where it depends on more than the user. */
  global?: string;
  /** The name under which a JSON file has its servers; files of the other kind are TOML. */
  key: 'mcpServers' | 'servers' | 'toml';
  /** Fields that an entry of this agent has besides. */
  extra?: Readonly<Record<string, string>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder in which desktop programs keep their settings. */
function settingsFolder(env: Environment): string {
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support');
  if (process.platform === 'win32') return env['APPDATA'] ?? join(homedir(), 'AppData', 'Roaming');
  return env['XDG_CONFIG_HOME'] || join(homedir(), '.config');
}

export const agentsOf = (env: Environment): Readonly<Record<string, Agent>> => ({
  'claude-code': { local: '.mcp.json', global: join(homedir(), '.claude.json'), key: 'mcpServers' },
  claude: { global: join(settingsFolder(env), 'Claude', 'claude_desktop_config.json'), key: 'mcpServers' },
  cursor: { local: '.cursor/mcp.json', global: join(homedir(), '.cursor', 'mcp.json'), key: 'mcpServers' },
  vscode: { local: '.vscode/mcp.json', key: 'servers', extra: { type: 'stdio' } },
  codex: { global: join(env['CODEX_HOME'] || join(homedir(), '.codex'), 'config.toml'), key: 'toml' },
  gemini: { local: '.gemini/settings.json', global: join(homedir(), '.gemini', 'settings.json'), key: 'mcpServers' },
  windsurf: { global: join(homedir(), '.codeium', 'windsurf', 'mcp_config.json'), key: 'mcpServers' },
});

const name = 'berth';

export interface Settings {
  path: string;
  text: string;
}

/** The text with the entry, or without it where there is none to write. Comments and other servers stay. */
export function withEntry({ path, text }: Settings, { key, extra }: Agent, entry: ServerEntry | undefined): string {
  if (key === 'toml') return withTable({ path, text }, entry);
  const value = entry && { ...extra, ...entry };
  return text.trim() === ''
    ? value
      ? `${JSON.stringify({ [key]: { [name]: value } }, null, 2)}\n`
      : text
    : changeJson({ path, text }, key, value);
}

function changeJson({ path, text }: Settings, key: string, value: object | undefined): string {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  if (errors.length > 0 || tree?.type !== 'object') throw unusable(path, 'is not JSON');
  const servers = tree.children?.find(({ children }) => children?.[0]?.value === key)?.children?.[1];
  if (servers !== undefined && servers.type !== 'object') throw unusable(path, `has a ${key} that is no object`);
  // Removing what is not there would be an error.
  if (value === undefined && !servers?.children?.some(({ children }) => children?.[0]?.value === name)) return text;
  const tabSize = /^(?: {2}){1,4}(?=\S)/m.exec(text)?.[0].length ?? 2;
  const formattingOptions = { insertSpaces: !/^\t/m.test(text), tabSize, eol: text.includes('\r\n') ? '\r\n' : '\n' };
  return applyEdits(text, modify(text, [key, name], value, { formattingOptions }));
}

/** A header of a table of ours, or of a table in it. */
const ownHeader = /^\s*\[\s*mcp_servers\s*\.\s*(?:berth|"berth"|'berth')\s*(?:\.[^\]]*)?\]/;
/** Any other header of a table. */
const anyHeader = /^\s*\[/;

/** The table stands at the end, where a table can always stand. */
function withTable({ path, text }: Settings, entry: ServerEntry | undefined): string {
  let isOwn = false;
  const kept = text.split('\n').filter((line) => {
    if (anyHeader.test(line)) isOwn = ownHeader.test(line);
    return !isOwn;
  });
  if (kept.some((line) => /^\s*mcp_servers\s*[.=]/.test(line))) throw otherForm(path);
  const before = kept.join('\n').trimEnd();
  if (!entry) return kept.length === text.split('\n').length ? text : before === '' ? '' : `${before}\n`;
  return `${before === '' ? '' : `${before}\n\n`}${renderTable(entry)}`;
}

const otherForm = (path: string): CommandError =>
  usageError(
    `${path} has its MCP servers in a form that is not changed here.`,
    'Add what `berth mcp install --target codex --print` shows by hand.',
  );

/** Strings of JSON are strings of TOML. */
function renderTable({ command, args, env }: ServerEntry): string {
  const lines = [
    `[mcp_servers.${name}]`,
    `command = ${JSON.stringify(command)}`,
    `args = [${args.map((arg) => JSON.stringify(arg)).join(', ')}]`,
  ];
  const pairs = Object.entries(env ?? {}).map(([variable, value]) => `${variable} = ${JSON.stringify(value)}`);
  return `${[...lines, ...(pairs.length > 0 ? [`env = { ${pairs.join(', ')} }`] : [])].join('\n')}\n`;
}

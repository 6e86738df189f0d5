import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agentsOf, withEntry, type Agent, type ServerEntry } from './agent-settings.ts';

const entry: ServerEntry = { command: 'berth', args: ['mcp'] };
const find = (name: string): Agent => agentsOf({})[name] ?? assert.fail(name);
const change = (agent: string, text: string, value: ServerEntry | undefined = entry): string =>
  withEntry({ path: 'settings', text }, find(agent), value);
const remove = (agent: string, text: string): string => withEntry({ path: 'settings', text }, find(agent), undefined);

describe('settings of an agent', () => {
  for (const name of Object.keys(agentsOf({})))
    it(`of ${name} get the MCP server where there was no file, and lose it again`, () => {
      const text = change(name, '');
      assert.match(text, /berth/);
      assert.equal(change(name, text), text);
      assert.doesNotMatch(remove(name, text), /berth/);
      assert.equal(remove(name, ''), '');
    });

  it('keep their comments, their order, their indentation and other servers', () => {
    const servers = '    "mcpServers": {\n        // ours\n        "other": {\n            "command": "x"\n        }';
    const text = `{\n    // of the team\n    "theme": "dark",\n${servers}\n    },\n}\n`;
    const changed = change('cursor', text);
    assert.ok(changed.startsWith(text.slice(0, text.indexOf('\n    },'))), changed);
    assert.match(changed, /\n {8}"berth": \{/);
    assert.equal(remove('cursor', changed), text);
  });

  it('keep tabs and the line ends of Windows', () => {
    assert.match(change('gemini', '{\n\t"a": 1\n}'), /\n\t"mcpServers": \{\n\t\t"berth"/);
    assert.doesNotMatch(change('gemini', '{\r\n  "a": 1\r\n}\r\n'), /(?<!\r)\n/);
  });

  it('have one entry, the latest', () => {
    const second = change('vscode', change('vscode', '{}'), { ...entry, args: ['mcp', '--tools', 'web'] });
    assert.deepEqual(JSON.parse(second), { servers: { berth: { type: 'stdio', command: 'berth', args: ['mcp', '--tools', 'web'] } } });
  });

  it('that are no settings are refused and not replaced', () => {
    for (const text of ['{"mcpServers": ', '[]', '"text"', '{"mcpServers": []}', 'null'])
      assert.throws(() => change('claude', text), { code: 'file_unusable' }, text);
    assert.throws(() => change('codex', 'mcp_servers = { other = { command = "x" } }\n'), { code: 'usage' });
    assert.throws(() => change('codex', 'mcp_servers.berth.command = "x"\n'), { code: 'usage' });
  });

  it('in TOML keep all tables of others, and lose the tables of ours alone', () => {
    const text =
      '# mine\nmodel = "m"\n\n[mcp_servers.berth]\ncommand = "old"\n\n[mcp_servers.berth.env]\nA = "b"\n\n[mcp_servers.berthold]\ncommand = "x"\n';
    const changed = change('codex', text, { ...entry, env: { BERTH_URL: 'http://h/"q"' } });
    assert.equal(
      changed,
      '# mine\nmodel = "m"\n\n[mcp_servers.berthold]\ncommand = "x"\n\n[mcp_servers.berth]\ncommand = "berth"\nargs = ["mcp"]\nenv = { BERTH_URL = "http://h/\\"q\\"" }\n',
    );
    assert.equal(remove('codex', changed), '# mine\nmodel = "m"\n\n[mcp_servers.berthold]\ncommand = "x"\n');
  });
});

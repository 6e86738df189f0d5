/** Writes docs/configuration.md from the schema; with `--check` fails when the file differs. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { variableGroups } from '../packages/server/src/config.ts';

const file = fileURLToPath(new URL('../docs/configuration.md', import.meta.url));

const introduction = `# Configuration

Berth is configured by environment variables. They are read once at start. The service refuses to start when a value is invalid or a
\`BERTH_\` variable is unknown, and says why. An empty variable counts as unset. Switches take \`true\` or \`1\`, and \`false\` or \`0\`.
\`npm start -- --port 9090\` takes precedence over \`BERTH_PORT\`. \`BERTH_API_KEY\` and \`BERTH_URL\` belong to clients and are ignored.

Printed by \`npm run docs:config\`.
`;

function toTable(variables: Record<string, { default: string | null; description: string }>): string {
  const rows = Object.entries(variables).map(
    ([name, { default: fallback, description }]) => `| \`${name}\` | ${fallback ? `\`${fallback}\`` : ''} | ${description} |`,
  );
  return ['| Variable | Default | Description |', '|---|---|---|', ...rows].join('\n');
}

const sections = Object.entries(variableGroups).map(([title, variables]) => `## ${title}\n\n${toTable(variables)}\n`);
const text = [introduction, ...sections].join('\n');

if (process.argv.includes('--check')) {
  const committed = await readFile(file, 'utf8').catch(() => '');
  if (committed !== text) {
    console.error('docs/configuration.md is out of date. Run `npm run docs:config` and commit the file.');
    process.exitCode = 1;
  }
} else await writeFile(file, text);

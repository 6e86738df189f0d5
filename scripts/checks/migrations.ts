/**
 * Checks that the version before runs beside each new migration: it only adds (expand), or it is a contract step,
 * `NNNN-contract-of-MMMM-name.sql`, which removes what migration MMMM has replaced and comes in a later release.
 * PostgreSQL's own parser reads the statements. Where one is compatible although the check cannot see it, the line
 * above it says why: `-- compatible: the constraint allows more than before`.
 *
 *     node scripts/checks/migrations.ts
 */
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadModule, parseSync } from 'libpg-query';

const folder = 'packages/server/src/store/migrations';
/** No version runs beside these. */
const uncheckedMax = 15;

const fileName = /^(\d{4})-(?:contract-of-(\d{4})-)?[a-z0-9]+(?:-[a-z0-9]+)*\.sql$/;
const excuse = /^--\s*compatible:\s*\S/;

interface Node {
  [field: string]: unknown;
}
const nodesOf = (value: unknown): Node[] => (Array.isArray(value) ? (value as Node[]) : []);
const kindOf = (node: Node): [string, Node] => {
  const [kind = ''] = Object.keys(node);
  return [kind, (node[kind] ?? {}) as Node];
};
const relationOf = (node: Node): string => (node['relation'] as { relname?: string } | undefined)?.relname ?? '';

/** What the version before, which knows nothing of a change of a table, fails on. */
const commandProblems: Readonly<Record<string, string>> = {
  AT_DropColumn: 'it reads the column',
  AT_SetNotNull: 'it may write null',
  AT_AlterColumnType: 'it reads and writes the former type',
  AT_AddConstraint: 'it may write what the constraint refuses',
  AT_ValidateConstraint: 'it may have written what the constraint refuses',
  AT_EnableRowSecurity: 'it has no policy',
  AT_AddIdentity: 'it writes the column',
};

const statementProblems: Readonly<Record<string, string>> = {
  RenameStmt: 'it uses the former name',
  DropStmt: 'it uses what is dropped',
  TruncateStmt: 'it reads the rows',
  DoStmt: 'nobody knows what the block does',
};

function problemOfColumn(column: Node): string | null {
  const constraints = nodesOf(column['constraints']).map((one) => String((one['Constraint'] as Node | undefined)?.['contype']));
  const isRequired = constraints.some((type) => type === 'CONSTR_NOTNULL' || type === 'CONSTR_PRIMARY');
  const hasValue = constraints.some((type) => ['CONSTR_DEFAULT', 'CONSTR_IDENTITY', 'CONSTR_GENERATED'].includes(type));
  return isRequired && !hasValue ? 'it does not write the column, which has no default' : null;
}

function problemOfCommand(command: Node): string | null {
  const subtype = String(command['subtype']);
  if (subtype === 'AT_AddColumn') return problemOfColumn(((command['def'] as Node)['ColumnDef'] ?? {}) as Node);
  if (subtype === 'AT_ColumnDefault') return command['def'] === undefined ? 'it may rely on the default' : null;
  return commandProblems[subtype] ?? null;
}

/** `created` has the tables that the migration itself has made: no other version knows them. */
function problemOfStatement(statement: Node, created: Set<string>): string | null {
  const [kind, node] = kindOf(statement);
  if (kind === 'CreateStmt' || kind === 'CreateTableAsStmt') {
    created.add(relationOf((node['into'] as Node | undefined) ? { relation: (node['into'] as Node)['rel'] } : node));
    return null;
  }
  if (created.has(relationOf(node))) return null;
  if (kind === 'AlterTableStmt')
    return nodesOf(node['cmds']).reduce<string | null>((problem, each) => problem ?? problemOfCommand(kindOf(each)[1]), null);
  if (kind === 'IndexStmt') return node['unique'] === true ? 'it may write what the index refuses' : null;
  return statementProblems[kind] ?? null;
}

/** Whether the last comment line before a statement says why it is compatible. `text` begins behind the statement before. */
function isExcused(text: string): boolean {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== ';');
  const first = lines.findIndex((line) => !line.startsWith('--'));
  return excuse.test(lines[first - 1] ?? '');
}

/** What is wrong with a migration, a line each. `earlier`: the numbers of those before. */
export function problemsOfMigration(name: string, text: string, earlier: readonly string[]): string[] {
  const [, number, replaced] = fileName.exec(name) ?? [];
  if (number === undefined) return [`${name}: the name is not NNNN-name.sql, or NNNN-contract-of-MMMM-name.sql`];
  if (earlier.includes(number)) return [`${name}: another migration has this number`];
  if (replaced !== undefined)
    return earlier.includes(replaced) ? [] : [`${name}: there is no migration ${replaced} that replaced what it removes`];
  const bytes = Buffer.from(text);
  const created = new Set<string>();
  let end = 0;
  return nodesOf(parseSync(text).stmts).flatMap((raw) => {
    const start = Number(raw['stmt_location'] ?? 0);
    const length = Number(raw['stmt_len'] ?? bytes.length - start);
    const written = bytes.subarray(end, start + length).toString();
    end = start + length + 1;
    const problem = problemOfStatement(raw['stmt'] as Node, created);
    if (problem === null || isExcused(written)) return [];
    const statement = written
      .replaceAll(/^\s*--.*$/gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim();
    return [`${name}: the version before runs beside this, and ${problem}: ${statement.slice(0, 100)}`];
  });
}

export async function findProblems(root: string): Promise<string[]> {
  await loadModule();
  const earlier: string[] = [];
  return readdirSync(resolve(root, folder))
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .flatMap((name) => {
      const number = name.slice(0, 4);
      const problems =
        Number(number) <= uncheckedMax ? [] : problemsOfMigration(name, readFileSync(resolve(root, folder, name), 'utf8'), earlier);
      earlier.push(number);
      return problems;
    });
}

if (import.meta.main) {
  const problems = await findProblems(resolve(import.meta.dirname, '../..'));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) {
    console.error('A migration only adds. What it replaces is removed by a contract step of a later release: see CONTRIBUTING.md.');
    process.exitCode = 1;
  } else console.log('migrations: each lets the version before run beside it');
}

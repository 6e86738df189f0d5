/**
 * Checks that every regular expression of production code takes linear time,
 * because texts of strangers meet most of them. recheck decides; what it found
 * linear is recorded, as it takes up to seconds for one expression.
 *
 *     node scripts/checks/regexes.ts           checks what is not recorded
 *     node scripts/checks/regexes.ts --write   records it as well
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';
import ts from 'typescript';

/** Expressions that are not checked, as they stand in the code, and why they may stay. */
const accepted: Readonly<Record<string, string>> = {
  'new RegExp(withoutProperties(parsed), parsed.flags)': "A caller's pattern is only compiled in the worker. It runs in the page.",
  'new RegExp(escape, flags)': 'One property of characters.',
  '/\\b[a-z][a-z\\d+.-]{1,20}:\\/\\/[^\\s"\'<>`]+/gi': 'recheck runs out of time. A scheme has at most 21 characters, and the text 4,000.',
  "/(?<![\\p{L}\\p{N}]|\\p{N}[.,])(?<sign>[-−+])?\\s?(?<before>\\p{Sc}|[A-Z]{1,2}\\$|Rs\\.?|kr\\.?|[A-Z]{3})?\\s?(?<inner>[-−+])?(?<digits>\\d+(?:['’\\s](?=\\d{3}(?!\\d))\\d{3})*(?:[.,]\\d+)*|[.,]\\d+)(?<power>[eE][-+]?\\d{1,3})?(?<end>[.,](?=[-–—]))?/u":
    'At most 10,000 characters, and nothing behind a number makes the search go on.',
  'new RegExp(turnstileKeyInAddress)': 'At most 40 characters behind each slash of the address of a frame.',
  "new RegExp(`(?:${notableNames.join('|')})(?![\\\\w-])`, 'iy')": 'Sticky, and an alternative of words.',
  "new RegExp([...new Set(needles)].map((needle) => needle.replace(/[.*+?^${}()|[\\]\\\\/]/g, '\\\\$&')).join('|'), 'g')":
    'An alternative of words.',
  "new RegExp(`</${name}`, 'gi')": 'One word.',
  'new RegExp(`^${id}$`)': 'One word.',
  'new RegExp(`^${pattern}/?$`)': 'The path of an endpoint: each parameter ends at a slash.',
  "new RegExp(`^${name}: +(\\\\d+) kB$`, 'm')": 'Reads /proc of the guest itself.',
  "new RegExp(`^${name}\\\\s*:\\\\s*(.*)$`, 'm')": 'Reads /proc/cpuinfo of the host.',
};

export interface Regex {
  path: string;
  line: number;
  /** The expression as it stands in the code, on one line. */
  text: string;
  /** null: it is put together while the code runs. */
  source: string | null;
  flags: string;
}

const production = 'packages/!(web)/src/**/*.ts';
/** Page scripts run in the page, where they hold up nobody else. */
const elsewhere = /[.](test|microvm|fixture)[.]ts$|\/testing([.]ts$|\/)|-suite[.]ts$|\/page-scripts\//;

export function findRegexes(root: string): Regex[] {
  const paths = globSync(production, { cwd: root }).filter((path) => !elsewhere.test(path));
  return paths.toSorted().flatMap((path) => regexesIn(path, readFileSync(resolve(root, path), 'utf8')));
}

export function regexesIn(path: string, code: string): Regex[] {
  const file = ts.createSourceFile(path, code, ts.ScriptTarget.Latest, true);
  const constants = constantsOf(file);
  const regexes: Regex[] = [];
  const visit = (node: ts.Node): void => {
    const regex = regexOf(node, constants);
    if (regex)
      regexes.push({
        path,
        line: file.getLineAndCharacterOfPosition(node.getStart()).line + 1,
        text: node.getText().replace(/\s+/g, ' '),
        ...regex,
      });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return regexes;
}

type Constants = ReadonlyMap<string, ts.Expression>;

function constantsOf(file: ts.SourceFile): Constants {
  const constants = new Map<string, ts.Expression>();
  for (const statement of file.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) if (initializer) constants.set(name.getText(), initializer);
  }
  return constants;
}

function regexOf(node: ts.Node, constants: Constants): Pick<Regex, 'source' | 'flags'> | null {
  if (ts.isRegularExpressionLiteral(node)) return partsOf(node);
  if (!(ts.isNewExpression(node) || ts.isCallExpression(node)) || node.expression.getText() !== 'RegExp') return null;
  const [source, flags] = node.arguments ?? [];
  return { source: source ? textOf(source, constants) : '', flags: (flags && textOf(flags, constants)) ?? '' };
}

function partsOf({ text }: ts.RegularExpressionLiteral): { source: string; flags: string } {
  const end = text.lastIndexOf('/');
  return { source: text.slice(1, end), flags: text.slice(end + 1) };
}

/** The text of an expression that is made from constants of its file, else null. */
function textOf(node: ts.Expression, constants: Constants): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isPropertyAccessExpression(node) && node.name.text === 'source')
    return ts.isRegularExpressionLiteral(node.expression) ? partsOf(node.expression).source : null;
  if (ts.isIdentifier(node)) {
    const value = constants.get(node.text);
    return value ? textOf(value, constants) : null;
  }
  if (!ts.isTemplateExpression(node)) return null;
  const parts = node.templateSpans.map(({ expression, literal }) => ({ value: textOf(expression, constants), literal: literal.text }));
  return parts.every(({ value }) => value !== null) ? node.head.text + parts.map(({ value, literal }) => value + literal).join('') : null;
}

const nameOf = ({ source, flags }: Regex): string => `/${source}/${flags}`;

type Recheck = (
  source: string,
  flags: string,
  options: { timeout: number },
) => { status: 'safe' | 'vulnerable' | 'unknown'; complexity?: { summary: string } };
const checkMsMax = 20_000;

/** What is wrong with an expression; null when it takes linear time. Its entry for browsers needs neither Java nor a thread. */
export function problemOf({ source, flags }: Regex): string | null {
  if (source === null)
    return 'is put together while the code runs: make it a constant, or write why it may stay into scripts/checks/regexes.ts';
  const { checkSync } = createRequire(import.meta.url)('recheck/lib/browser.js') as { checkSync: Recheck };
  const { status, complexity } = checkSync(source, flags, { timeout: checkMsMax });
  if (status === 'safe') return null;
  return status === 'unknown' ? 'could not be checked in time' : `is not linear: ${complexity?.summary}`;
}

const recordPath = resolve(import.meta.dirname, 'linear-regexes.json');
const readRecord = (): string[] => (existsSync(recordPath) ? (JSON.parse(readFileSync(recordPath, 'utf8')) as string[]) : []);

function main(root: string, writes: boolean): number {
  const recorded = new Set(readRecord());
  const regexes = findRegexes(root).filter(({ text }) => !(text in accepted));
  const unknown = [...new Map(regexes.filter((regex) => !recorded.has(nameOf(regex))).map((regex) => [nameOf(regex), regex])).values()];
  let faults = 0;
  for (const regex of unknown) {
    const problem = problemOf(regex);
    if (problem === null) recorded.add(nameOf(regex));
    else {
      faults += 1;
      console.error(`${relative(process.cwd(), resolve(root, regex.path))}:${regex.line} ${regex.text} ${problem}`);
    }
  }
  if (writes) {
    const inUse = new Set(regexes.map(nameOf));
    const lines = [...recorded].filter((name) => inUse.has(name)).toSorted();
    writeFileSync(recordPath, `${JSON.stringify(lines, null, 2)}\n`);
  }
  console.log(`regexes: ${regexes.length} in production code, ${unknown.length} checked now, ${faults} not linear`);
  return faults === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = main(resolve(import.meta.dirname, '../..'), process.argv.includes('--write'));

/** What a person reads of a failed step: the names of all failing tests first, then a bounded part of each report. */

export interface TestOutput {
  code: number | null;
  output: string;
}

/** An assertion may quote a whole document, on one line. */
const lineCharsMax = 400;
/** Message, difference and stack of a test. */
const linesMax = 40;
/** More failing tests than this share a cause: the others are named only. */
const detailsMax = 15;
/** Lines shown from the end of a command that failed without a report: it was ended, or crashed. */
const tailLines = 60;

const heading = '✖ failing tests:';
/** Errors of a test whose suite failed, and of a suite whose test failed: the other report says why. */
const consequences = /^  (?:'test did not finish before its parent and was cancelled'|'\d+ subtests? failed')$/m;

export function describeFailures(outcomes: readonly TestOutput[]): string {
  const failed = outcomes.filter(({ code }) => code !== 0).map(({ output }) => output);
  const all = failed.flatMap(splitReport);
  const own = all.filter((report) => !consequences.test(report));
  const reports = own.length > 0 ? own : all;
  const names = reports.flatMap((report, n) => [cutLine(nameOf(report)), ...(n < detailsMax ? [`    ${cutLine(messageOf(report))}`] : [])]);
  const details = reports.slice(0, detailsMax).map(cutReport);
  const unreported = failed.filter((output) => !output.includes(heading)).map((output) => `${tail(output)}\n(ended without a report)`);
  const others = all.length - reports.length;
  const list =
    names.length > 0
      ? [`${reports.length} failing${others > 0 ? `, and ${others} with them` : ''}:`, ...names.map((name) => `  ${name}`), '']
      : [];
  const omitted = reports.length - details.length;
  return [...list, ...details, ...(omitted > 0 ? [`(${omitted} more reports omitted)`] : []), ...unreported].join('\n');
}

/** Bounds the output of a command that runs no tests. */
export const cutOutput = (output: string): string => cutLines(output.split('\n'), 200).join('\n');

/** The reports of single tests: the location, the title, and the error. */
function splitReport(output: string): string[] {
  const at = output.indexOf(heading);
  return at < 0
    ? []
    : output
        .slice(at + heading.length)
        .split(/^(?=test at )/m)
        .filter((part) => part.trim() !== '');
}

/** `tests/api/x.test.ts:7:1 answers …` */
function nameOf(report: string): string {
  const [location = '', title = ''] = report.split('\n');
  return `${location.replace('test at ', '')} ${title.replace(/^✖ /, '')}`;
}

/** The first line of the error. */
const messageOf = (report: string): string => report.split('\n')[2]?.trim() ?? '';

const cutReport = (report: string): string => cutLines(report.trimEnd().split('\n'), linesMax).join('\n');
const tail = (output: string): string => output.split('\n').slice(-tailLines).map(cutLine).join('\n');

const cutLines = (lines: readonly string[], max: number): string[] =>
  lines.length <= max ? lines.map(cutLine) : [...lines.slice(0, max).map(cutLine), `  (${lines.length - max} more lines)`];

const cutLine = (line: string): string =>
  line.length <= lineCharsMax ? line : `${line.slice(0, lineCharsMax)}… (${line.length} characters)`;

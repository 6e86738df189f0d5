/** Prints what commands return: as JSON where a program reads it, as text and tables where a person does. */
import colors from 'picocolors';
import type { Failure } from './failures.ts';
import { printable, printableCopy, toSafeJson } from './terminal.ts';

export type Paint = ReturnType<typeof colors.createColors>;

/** What a command has to tell. */
export interface Report<T = unknown> {
  data: T;
  /** Renders the data for people. All texts of the data that it gets are printable; it uses nothing else. */
  render?: ((data: T, paint: Paint) => string) | undefined;
}

/** What a command tells bit by bit: one JSON value a line, or one rendered line each. */
export interface Stream<T = unknown> {
  items: AsyncIterable<T>;
  render?: ((item: T, paint: Paint) => string) | undefined;
}

export const report = <T>(data: T, render?: Report<T>['render']): Report => ({ data, render }) as Report;
export const stream = <T>(items: AsyncIterable<T>, render?: Stream<T>['render']): Stream => ({ items, render }) as Stream;

export type Format = 'json' | 'text';

interface Streams {
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

export class Output {
  readonly format: Format;
  readonly #streams: Streams;
  readonly #paint: Paint;

  constructor(format: Format, streams: Streams) {
    this.format = format;
    this.#streams = streams;
    this.#paint = colors.createColors(streams.stdout.isTTY && colors.isColorSupported);
  }

  /** Whether a person looks at it. */
  get isTerminal(): boolean {
    return this.#streams.stdout.isTTY;
  }

  async print(result: Report | Stream | undefined): Promise<void> {
    if (result === undefined) return;
    if (!('items' in result)) return this.#write(this.#toText(result.data, result.render, this.isTerminal ? 2 : undefined));
    for await (const item of result.items) await this.#write(this.#toText(item, result.render));
  }

  /** Bytes for a file or another program. */
  async writeBytes(bytes: Uint8Array): Promise<void> {
    await this.#write(bytes);
  }

  /** Tells a person what goes on. Programs read nothing of it. */
  note(text: string): void {
    if (this.#streams.stderr.isTTY) this.#streams.stderr.write(`${printable(text)}\n`);
  }

  /** Tells what happens while a command runs, in the form of its output and beside it. */
  tell<T>(data: T, render: (data: T) => string): void {
    this.#streams.stderr.write(this.format === 'json' ? `${toSafeJson(data)}\n` : `${printable(render(data))}\n`);
  }

  fail(failure: Failure): void {
    const { exitCode, ...error } = failure;
    const { message, hint } = error;
    const text = [`berth: ${message}`, ...(hint === undefined ? [] : [`  ${hint}`])].join('\n');
    this.#streams.stderr.write(this.format === 'json' ? `${toSafeJson({ error, exit_code: exitCode })}\n` : `${printable(text)}\n`);
  }

  #toText(data: unknown, render: Report['render'], indent?: number): string {
    if (this.format === 'json') return `${toSafeJson(data, indent)}\n`;
    const safe = printableCopy(data);
    const text = render ? render(safe, this.#paint) : renderValue(safe, this.#paint);
    return text === '' || text.endsWith('\n') ? text : `${text}\n`;
  }

  /** Resolves when the reader has taken it, so that a slow one is waited for. One that has gone ends the program, see `main.ts`. */
  #write(text: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => this.#streams.stdout.write(text, (error) => (error ? reject(error) : resolve())));
  }
}

/** Fields a line, as far as they have short values. */
export function renderValue(value: unknown, paint: Paint): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((item) => renderValue(item, paint)).join('\n');
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, item]) => `${paint.dim(name.padEnd(width))}  ${renderField(item)}`).join('\n');
}

const renderField = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A column: its title and what stands there. */
export type Column<T> = readonly [title: string, cell: (row: T) => string | number | null | undefined];

/** A cell that is longer would leave no room for the others. The first is whole: it is what other commands take. */
const cellLengthMax = 60;

/** A table of the rows; `none` where there are no rows. */
export function renderTable<T>(rows: readonly T[], columns: readonly Column<T>[], paint: Paint): string {
  if (rows.length === 0) return paint.dim('none');
  const cells = rows.map((row) => columns.map(([, cell], index) => toCell(String(cell(row) ?? ''), index > 0)));
  const widths = columns.map(([title], index) => Math.max(title.length, ...cells.map((row) => row[index]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [paint.dim(line(columns.map(([title]) => title))), ...cells.map(line)].join('\n');
}

function toCell(text: string, mayBeCut: boolean): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return mayBeCut && line.length > cellLengthMax ? `${line.slice(0, cellLengthMax - 1)}…` : line;
}

/** How long test files took when they ran last, so that the longest start first. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Lost with the installed packages, as in a fresh clone: the order is then an estimate, and no test needs it. */
const pathIn = (root: string): string => resolve(root, 'node_modules/.cache/berth/test-times.json');

export class TestTimes {
  readonly #root: string;
  readonly #ms: Map<string, number>;

  private constructor(root: string, ms: Map<string, number>) {
    this.#root = root;
    this.#ms = ms;
  }

  static read(root: string): TestTimes {
    try {
      const entries = Object.entries(JSON.parse(readFileSync(pathIn(root), 'utf8')) as Record<string, unknown>);
      return new TestTimes(root, new Map(entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number')));
    } catch {
      return new TestTimes(root, new Map());
    }
  }

  longestFirst(files: readonly string[]): string[] {
    const estimates = this.estimates(files);
    return files.toSorted((one, other) => (estimates.get(other) ?? 0) - (estimates.get(one) ?? 0));
  }

  /** Milliseconds that files will take. Those that were never measured are estimated by their size: a longer file has more tests, as a rule. */
  estimates(files: readonly string[]): Map<string, number> {
    const sizes = new Map(files.map((file) => [file, statSync(resolve(this.#root, file)).size]));
    const measured = files.filter((file) => this.#ms.has(file));
    const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
    const msOfByte =
      measured.length === 0 ? 1 : sum(measured.map((file) => this.#ms.get(file) ?? 0)) / sum(measured.map((file) => sizes.get(file) ?? 0));
    return new Map(files.map((file) => [file, this.#ms.get(file) ?? (sizes.get(file) ?? 0) * msOfByte]));
  }

  /** Keeps what a run has measured, and what it has not run. */
  write(durationsMs: ReadonlyMap<string, number>): void {
    for (const [file, ms] of durationsMs) this.#ms.set(file, Math.round(ms));
    mkdirSync(dirname(pathIn(this.#root)), { recursive: true });
    writeFileSync(pathIn(this.#root), `${JSON.stringify(Object.fromEntries(this.#ms))}\n`);
  }
}

/** How long test files took when they ran last, so that the longest start first. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Lost with the installed packages, as in a fresh clone: the order is then an estimate, and no test needs it. */
const pathIn = (root: string): string => resolve(root, 'node_modules/.cache/berth/test-times.json');

/** Milliseconds for each byte of a test file by its folder, on two cores with four lanes: the order and the sums of a fresh clone. */
const msOfByte: readonly [folder: RegExp, ms: number][] = [
  [/^tests\/(?:ledger|fuzz|hostile-text)\//, 15],
  [/^tests\/operations\//, 7],
  // Installs packages of Python, and checks their types.
  [/^tests\/e2e\/python[.]/, 50],
  [/^tests\/e2e\//, 4.5],
  [/^packages\/devtools\//, 2.5],
  [/^tests\/(?:api|fleet)\//, 1.5],
  [/^packages\/(?:machines|reading)\//, 1],
];
const msOfOtherByte = 0.2;
const typicalMsOfByte = (file: string): number => msOfByte.find(([folder]) => folder.test(file))?.[1] ?? msOfOtherByte;

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

  /**
   * Milliseconds that files will take. Those that were never measured are estimated by their folder and their size: a longer file
   * has more tests, as a rule. What was measured here says how fast this machine is.
   */
  estimates(files: readonly string[]): Map<string, number> {
    const typical = new Map(files.map((file) => [file, statSync(resolve(this.#root, file)).size * typicalMsOfByte(file)]));
    const measured = files.filter((file) => this.#ms.has(file));
    const sum = (of: ReadonlyMap<string, number>): number => measured.reduce((total, file) => total + (of.get(file) ?? 0), 0);
    const slowness = measured.length === 0 ? 1 : sum(this.#ms) / sum(typical);
    return new Map(files.map((file) => [file, this.#ms.get(file) ?? (typical.get(file) ?? 0) * slowness]));
  }

  /** Keeps what a run has measured, and what it has not run. */
  write(durationsMs: ReadonlyMap<string, number>): void {
    for (const [file, ms] of durationsMs) this.#ms.set(file, Math.round(ms));
    mkdirSync(dirname(pathIn(this.#root)), { recursive: true });
    writeFileSync(pathIn(this.#root), `${JSON.stringify(Object.fromEntries(this.#ms))}\n`);
  }
}

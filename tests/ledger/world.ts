/** What the rounds of a run share. */
import type { Reader } from './books.ts';
import type { Lives } from './lives.ts';
import type { Outside } from './outside.ts';

export interface World {
  lives: Lives;
  outside: Outside;
  reader: Reader;
  adminKey: string;
  told: Told;
}

/** What the service has said since the round began. */
export class Told {
  lines: string[] = [];
  #startedMs = performance.now();

  add(text: string): void {
    this.lines.push(`${this.now()} ${text}`);
  }

  begin(): void {
    this.lines = [];
    this.#startedMs = performance.now();
  }

  now(): string {
    return `${Math.round(performance.now() - this.#startedMs)} ms`;
  }
}

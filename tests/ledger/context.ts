/** Shared by all rounds. */
import type { LedgerReader } from './ledger-reader.ts';
import type { ServiceRuns } from './worker/service-runs.ts';
import type { ExternalServices } from './external-services.ts';

export interface RoundContext {
  runs: ServiceRuns;
  external: ExternalServices;
  reader: LedgerReader;
  adminKey: string;
  serviceLog: ServiceLog;
}

/** The lines that the service has logged since the round began. */
export class ServiceLog {
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

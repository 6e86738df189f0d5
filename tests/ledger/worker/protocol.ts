/** Messages between the service under test and its parent. */
import type { App } from '../../../packages/server/src/boot/app.ts';
import type { InjectedFault } from '../faults.ts';

type Credits = App['credits'];
/** Credit operations called in process, without HTTP. */
export interface CreditsMethods {
  reserve: Parameters<Credits['reserve']>[0];
  commit: Parameters<Credits['commit']>[0];
  release: { opId: string; owner: string };
  grant: Parameters<Credits['grant']>[0];
}
export type CreditsMethod = keyof CreditsMethods;

export interface StartOptions {
  /** Every boot of a machine succeeds. */
  isReliable?: boolean;
  environment: Record<string, string>;
  databaseUrl: string;
  adminKey: string;
  /** How far the wall clock is ahead of the machine's. */
  skewMs: number;
  faults: InjectedFault[];
}

export type WorkerCommand =
  | { command: 'start'; options: StartOptions }
  | { command: 'arm'; faults: InjectedFault[] }
  | { [D in CreditsMethod]: { command: 'call'; id: number; method: D; options: CreditsMethods[D] } }[CreditsMethod]
  /** Runs one new iteration of each loop. */
  | { command: 'run_loops'; id: number; loops: string[] }
  | { command: 'stop' };

export type WorkerMessage =
  | { type: 'answer'; id: number; answer: CallResult }
  /** Written synchronously to a pipe: the sender may be killed a moment later. */
  | { type: 'serving'; url: string }
  | { type: 'fault'; text: string }
  /** A navigation to an address with `call=ID` reached this machine's browser; `atMs` is of the machine's monotonic clock. */
  | { type: 'act'; callId: string; browser: string; atMs: number }
  /** A machine has started or ended. */
  | { type: 'machine'; browser: string; isOver: boolean; atMs: number }
  /** The leases of these workers were taken here, at the latest then. */
  | { type: 'taken'; workers: readonly string[]; atMs: number }
  | { type: 'log'; level: 'warn' | 'error'; text: string };

export type CallResult =
  | { status: 200; value: unknown }
  | { status: number; code: string; details: Record<string, unknown>; message: string };

/** What a service under test and its parent say to each other. */
import type { App } from '../../packages/server/src/app.ts';
import type { Fault } from './faults.ts';

type Credits = App['credits'];
/** Doors that are opened without a request over HTTP, as the folders above them do. */
export interface Doors {
  reserve: Parameters<Credits['reserve']>[0];
  commit: Parameters<Credits['commit']>[0];
  release: { opId: string; owner: string };
  grant: Parameters<Credits['grant']>[0];
}
export type Door = keyof Doors;

export interface StartOrder {
  environment: Record<string, string>;
  databaseUrl: string;
  adminKey: string;
  /** How far its wall clock is ahead of the machine's. */
  skewMs: number;
  faults: Fault[];
}

export type Order =
  | { ask: 'start'; order: StartOrder }
  | { ask: 'arm'; faults: Fault[] }
  | { [D in Door]: { ask: 'door'; id: number; door: D; order: Doors[D] } }[Door]
  /** A turn of each of these loops, beginning now. */
  | { ask: 'turn'; id: number; loops: string[] }
  | { ask: 'stop' };

export type Report =
  | { told: 'answer'; id: number; answer: DoorAnswer }
  /** By way of a pipe that is written to at once: its teller may be dead a moment later. */
  | { told: 'serving'; url: string }
  | { told: 'fault'; text: string }
  | { told: 'log'; level: 'warn' | 'error'; text: string };

export type DoorAnswer =
  | { status: 200; value: unknown }
  | { status: number; code: string; details: Record<string, unknown>; message: string };

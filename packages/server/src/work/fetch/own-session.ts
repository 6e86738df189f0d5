/** Work that needs tabs or a profile of its own runs in a session of its own, which ends with it. */
import { CreateSessionRequest } from '@berth/contract';
import { service, type Sessions } from '../../sessions/sessions/sessions.ts';
import type { MachineSpec } from './spec.ts';

export interface OwnSessionOptions {
  machine: MachineSpec;
  /** The id that it gets. */
  sessionId: string;
  /** Time limit of the work. */
  timeoutMs: number;
  /** Whether the session outlives the work. Default: false. */
  keep?: boolean;
  signal: AbortSignal;
  /** Called before what cannot be repeated: a session is charged. */
  touch(): Promise<void>;
}

/** It outlives the work by this, and ends at its end. */
const spareSeconds = 60;
const secondsMin = 30;

/** @throws what creating a session throws, and what `work` throws */
export async function withOwnSession<T>(sessions: Sessions, options: OwnSessionOptions, work: () => Promise<T>): Promise<T> {
  const { machine, sessionId, timeoutMs, keep = false, signal } = options;
  const { owner, principal, region, kind, tier, request } = machine;
  const seconds = Math.max(Math.ceil(timeoutMs / 1000) + spareSeconds, secondsMin);
  const lifetime = keep ? {} : { timeout_seconds: Math.min(seconds, tier.max_session_seconds) };
  const { proxy, block_ads, profile } = request;
  const wanted = CreateSessionRequest.parse({ kind, region: region.code, proxy, block_ads, profile, ...lifetime });
  await options.touch();
  await sessions.create(principal, wanted, { wait: true, signal, sessionId });
  try {
    return await work();
  } finally {
    if (!keep || signal.aborted) await sessions.end(owner, sessionId, { reason: 'requested', actor: service });
  }
}

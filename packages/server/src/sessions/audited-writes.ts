/** Writes the start and the end of a session together with their audit entries, each in one transaction. */
import type { Audit } from '../audit/audit.ts';
import type { Store, Tables } from '../store/store.ts';
import type { End, LastSeen, SessionRecord } from './session.ts';
import { insertSession, moveSession } from './store.ts';

interface WriteDeps {
  store: Store;
  audit: Audit;
}

/** The service itself starts and ends machines for fetches, so these have no audit entries. */
const isAudited = ({ settings }: SessionRecord): boolean => settings.purpose !== 'fetch';

export async function writeStart(
  { audit }: WriteDeps,
  tx: Tables,
  { record, actor }: { record: SessionRecord; actor: string },
): Promise<void> {
  const { owner, sessionId: subject } = record;
  await insertSession(tx, record);
  if (isAudited(record)) await audit.record(tx, { actor, action: 'session.created', owner, subject });
}

export interface EndTransition {
  to: 'ending' | 'ended' | 'failed';
  end: End;
  at: Date;
  lastSeen?: LastSeen;
  lastActivityAt?: Date;
}

/** False when another transition came first. */
export async function writeEnd({ store, audit }: WriteDeps, record: SessionRecord, { end, at, ...move }: EndTransition): Promise<boolean> {
  const { owner, sessionId: subject } = record;
  const { reason, actor } = end;
  return store.transaction(async (tx) => {
    const moved = await moveSession(tx, subject, { ...move, ended: { reason, at } });
    if (moved && isAudited(record)) await audit.record(tx, { actor, action: 'session.ended', owner, subject, details: { reason } });
    return moved;
  });
}

/** The beginning and the end of a session as they are written down: with who is answerable, in one transaction. */
import type { Audit } from '../audit/audit.ts';
import type { Store, Tables } from '../store/store.ts';
import type { End, LastSeen, SessionRecord } from './session.ts';
import { insertSession, moveSession } from './store.ts';

interface WriteDeps {
  store: Store;
  audit: Audit;
}

/** Machines of fetches come and go by themselves: nobody did anything to them. */
const isSomebodys = ({ settings }: SessionRecord): boolean => settings.purpose !== 'fetch';

export async function writeStart(
  { audit }: WriteDeps,
  tx: Tables,
  { record, actor }: { record: SessionRecord; actor: string },
): Promise<void> {
  const { owner, sessionId: subject } = record;
  await insertSession(tx, record);
  if (isSomebodys(record)) await audit.record(tx, { actor, action: 'session.created', owner, subject });
}

export interface Ended {
  to: 'ending' | 'ended' | 'failed';
  end: End;
  at: Date;
  lastSeen?: LastSeen;
  lastActivityAt?: Date;
}

/** False: the session was moved by somebody else before, who wrote that down. */
export async function writeEnd({ store, audit }: WriteDeps, record: SessionRecord, { end, at, ...move }: Ended): Promise<boolean> {
  const { owner, sessionId: subject } = record;
  const { reason, actor } = end;
  return store.transaction(async (tx) => {
    const moved = await moveSession(tx, subject, { ...move, ended: { reason, at } });
    if (moved && isSomebodys(record)) await audit.record(tx, { actor, action: 'session.ended', owner, subject, details: { reason } });
    return moved;
  });
}

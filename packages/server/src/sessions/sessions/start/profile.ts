/** A session's use of a profile: what it starts with, and what it saves at its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionEventType } from '@berth/contract';
import type { Machine } from '../../../fleet/pool/pool.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { abortAfter } from '@berth/lib/deadline.ts';
import type { Log } from '@berth/lib/log.ts';
import { ProfileTooLargeError, type Profiles } from '../../profiles/profiles.ts';
import { isStoreUnavailable, type Tables } from '../../../store/store.ts';
import type { LiveSession } from '../live.ts';
import type { SessionRecord } from '../session.ts';
import { unlockProfile } from '../store.ts';

/** How long the browser may take to read what it holds; the rest of the save takes less. */
const readMsMax = 8000;
const saveMsMax = 15_000;
/** A database that restarts is back within seconds. */
const retryMs = 500;

const keyOf = ({ owner }: SessionRecord, profileId: string) => ({ owner, profileId });

/** Fills the browser before its first page. @throws ServiceError profile_not_found, profile_unreadable */
export async function loadProfile(
  session: LiveSession,
  { browser }: Machine,
  { profiles, log }: { profiles: Profiles; log: Log },
): Promise<void> {
  const { record, abort, visited } = session;
  const { profile } = record.settings;
  if (!profile) return;
  const state = await profiles.read(keyOf(record, profile.profile_id));
  await browser.tabReady();
  const refused = state ? await browser.writeState(state, { signal: abort.signal }) : [];
  if (refused.length > 0) log.warn({ session_id: record.sessionId, origins: refused.length }, 'profile partly loaded');
  browser.onEvent((event) => event.type === 'navigation' && visited.add(event.url));
}

/** Whether it saves a profile when it ends: not where its browser is lost, or never was ready. */
export const isSavingProfile = ({ record, machine, isFenced }: LiveSession): boolean =>
  record.settings.profile?.save_changes === true &&
  record.status === 'ending' &&
  record.startedAt !== null &&
  machine !== null &&
  !isFenced;

/** Never throws. What went wrong is an event, and the profile is as it was before the session. */
export async function saveProfile(
  session: LiveSession,
  { profiles, clock, log }: { profiles: Profiles; clock: Clock; log: Log },
): Promise<void> {
  const { machine, record, visited, events } = session;
  const { sessionId, settings } = record;
  if (!machine || !settings.profile) return;
  const { profile_id } = settings.profile;
  const emit = (type: SessionEventType, data: Record<string, unknown>): void => events.emit(type, { profile_id, ...data });
  try {
    const { timeoutScale } = machine.browser;
    const signal = abortAfter(timeoutScale.ms(saveMsMax));
    const read = await machine.browser.readState({ origins: visited.latestFirst(), timeoutMs: timeoutScale.ms(readMsMax), signal });
    const once = { savedAt: clock.now(), unlock: (tx: Tables) => unlockProfile(tx, sessionId, profile_id) };
    const saved = await whileUnavailable(() => profiles.save(keyOf(record, profile_id), read, once), {
      signal,
      onRetry: (error) => log.warn({ err: error, session_id: sessionId }, 'profile save delayed'),
    });
    if (!saved) return emit('profile.save_failed', { reason: 'lock_lost' });
    const { sizeBytes: size_bytes, cookies, origins, dropped } = saved;
    session.record = { ...session.record, lastSeen: { ...session.record.lastSeen, profile_save: 'saved' } };
    const left_out = { origins: read.unread.length + dropped, ...read.omitted };
    emit('profile.saved', { size_bytes, cookies, origins, left_out });
  } catch (error) {
    log.error({ err: error, session_id: sessionId }, 'profile save failed');
    emit('profile.save_failed', { reason: error instanceof ProfileTooLargeError ? 'too_large' : 'not_saved' });
  }
}

/** Repeats work that the database was not there for, until the signal aborts. */
async function whileUnavailable<T>(
  work: () => Promise<T>,
  { signal, onRetry }: { signal: AbortSignal; onRetry: (error: unknown) => void },
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isStoreUnavailable(error) || signal.aborted) throw error;
      onRetry(error);
      await sleep(retryMs, undefined, { signal });
    }
  }
}

import { ServiceError } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import type { LiveSession } from '../sessions/sessions.ts';

/** A caller's action, as named in `action` events. */
export interface Action {
  name:
    | 'navigate'
    | 'open_tab'
    | 'close_tab'
    | 'rotate_ip'
    | 'actions'
    | 'screenshot'
    | 'pdf'
    | 'content'
    | 'storage_state'
    | 'open_download'
    | 'upload';
  url?: string | undefined;
}

/** Emits an `action` event when the work succeeded or failed. The event holds neither arguments nor results, which may be secret. */
export async function reportAction<T>(
  { session, clock }: { session: LiveSession; clock: Clock },
  { name, url }: Action,
  work: () => Promise<T>,
): Promise<T> {
  const startMs = clock.monotonicMs();
  const emit = (outcome: { status: 'ok' | 'error'; error_code?: string }): void => {
    // `session.ended` is the last event of a session.
    if (session.abort.signal.aborted) return;
    session.events.emit('action', {
      name,
      ...outcome,
      duration_ms: Math.round(clock.monotonicMs() - startMs),
      ...(url === undefined ? {} : { url }),
    });
  };
  try {
    const result = await work();
    emit({ status: 'ok' });
    return result;
  } catch (error) {
    emit({ status: 'error', ...(error instanceof ServiceError ? { error_code: error.code } : {}) });
    throw error;
  }
}

import { ServiceError } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import type { LiveSession } from '../sessions/sessions.ts';

/** What a caller has the session do, as its event names it. */
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

/** Tells an action when it is done, well or not. Of what it was given or came to nothing is told: that may be a secret. */
export async function told<T>(
  { session, clock }: { session: LiveSession; clock: Clock },
  { name, url }: Action,
  work: () => Promise<T>,
): Promise<T> {
  const startMs = clock.monotonicMs();
  const tell = (outcome: { status: 'ok' | 'error'; error_code?: string }): void => {
    // The end is the last that a session tells.
    if (session.abort.signal.aborted) return;
    session.events.tell('action', {
      name,
      ...outcome,
      duration_ms: Math.round(clock.monotonicMs() - startMs),
      ...(url === undefined ? {} : { url }),
    });
  };
  try {
    const result = await work();
    tell({ status: 'ok' });
    return result;
  } catch (error) {
    tell({ status: 'error', ...(error instanceof ServiceError ? { error_code: error.code } : {}) });
    throw error;
  }
}

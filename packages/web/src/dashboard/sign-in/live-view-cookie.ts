import { call } from '../api.ts';
import { has } from './credentials.ts';

/** Only for the exchange below. */
const tokenSeconds = 30;

/** Exchanges the API key for the cookie of the session's interactive live view. @throws ApiError */
export async function getLiveViewCookie(sessionId: string, signal?: AbortSignal): Promise<void> {
  if (!has('key')) throw new Error('an API key is needed');
  const request = { params: { session_id: sessionId }, ...(signal ? { signal } : {}) };
  const { token } = await call('createViewToken', { ...request, body: { scope: 'control', ttl_seconds: tokenSeconds } });
  await call('openLiveView', { ...request, query: { token: token ?? undefined } });
}

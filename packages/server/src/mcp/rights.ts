/** What a tool may call for its caller. */
import { ServiceError, type Endpoint } from '@berth/contract';
import type { Principal } from '../accounts/principals/principals.ts';
import type { HttpOptions } from '../http/options.ts';

/** Calls that drive a session: what a connect token can do over DevTools, too. */
const driving: ReadonlySet<string> = new Set([
  'getSession',
  'endSession',
  'navigate',
  'runActions',
  'useComputer',
  'getContent',
  'getSnapshot',
  'screenshot',
  'pdf',
  'getConsole',
  'getHar',
  'listTabs',
  'openTab',
  'closeTab',
  'listDownloads',
  'getDownload',
  'uploadFile',
]);

interface Connects {
  /** @throws ServiceError session_not_found */
  assertMayDrive(principal: Principal, sessionId: string): Promise<void>;
}

/** A caller with a connect token creates sessions and drives those that it created; others may call all of the API. */
export const mayCallApi =
  (connects: Connects): NonNullable<HttpOptions['checkInner']> =>
  async (principal: Principal, { id }: Endpoint, params) => {
    if (principal.connectTokenId === undefined || id === 'createSession') return;
    const { session_id: sessionId } = params;
    if (!driving.has(id) || sessionId === undefined)
      throw new ServiceError(
        'invalid_connect_token',
        'A connect token opens sessions and drives those that it opened, and nothing else. Use an API key for this tool.',
      );
    await connects.assertMayDrive(principal, sessionId);
  };

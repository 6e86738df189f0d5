/** Makes a machine the one that a session asked for. */
import { ServiceError, ValidationError, type StorageState } from '@berth/contract';
import { BrowserClosedError, CookieRefusedError, NavigationError, toHeaderSettings } from '@berth/devtools';
import type { Machine } from '../../../fleet/pool/pool.ts';
import { validationIssue } from '@berth/lib/validation/issues.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Profiles } from '../../profiles/profiles.ts';
import type { VmKind } from '@berth/machines';
import type { LiveSession } from '../live.ts';
import { loadProfile } from './profile.ts';
import type { SessionSpec } from './spec.ts';

const startNavigationMs = 30_000;
/** Callers of `create` with `wait` wait for this navigation as well. */
const startNavigationMsMax = 60_000;

/** Nobody watches the pages of a fetch, so these need no compositor, unless the fetch asks for windows. */
export const vmKindOf = ({ record, request }: SessionSpec): VmKind =>
  record.settings.purpose === 'fetch' && request.kind === 'headless' ? 'shell' : request.kind;

/**
 * Applies the session's settings, and its storage state or profile.
 * @throws ServiceError no_capacity, profile_not_found, profile_unreadable; ValidationError for a cookie that the browser refuses
 */
export async function prepareMachine(
  session: LiveSession,
  machine: Machine,
  { spec, ...deps }: { spec: SessionSpec; profiles: Profiles; log: Log },
): Promise<void> {
  const { request, record } = spec;
  const headers = toHeaderSettings(request.extra_headers);
  try {
    await machine.browser.prepare({
      viewport: request.viewport,
      userAgent: request.user_agent ?? headers.userAgent ?? null,
      locale: request.locale,
      timezone: request.timezone,
      extraHeaders: headers.extraHeaders,
      referer: headers.referer,
      blockResources: request.block_resources,
      acceptDownloads: request.accept_downloads,
      ignoreHttpsErrors: request.ignore_https_errors,
      keepNetworkLog: request.har || request.record,
      tabLimit: record.settings.tab_limit,
      downloadLimit: session.downloadLimit,
      uploadPath: (name) => session.uploads.findByName(name)?.path ?? null,
    });
    session.subscribe(machine.browser);
    await loadProfile(session, machine, deps);
    if (request.storage_state) await restoreStorage(machine, request.storage_state, session.abort.signal);
  } catch (cause) {
    if (cause instanceof BrowserClosedError)
      throw new ServiceError('no_capacity', 'The browser exited during startup. Try again.', { cause, retryAfterSeconds: 1 });
    throw cause;
  }
}

async function restoreStorage({ browser }: Machine, state: StorageState, signal: AbortSignal): Promise<void> {
  await browser.tabReady();
  try {
    await browser.setStorageState(state, { signal });
  } catch (error) {
    if (!(error instanceof CookieRefusedError)) throw error;
    const issue = { type: 'value_error', msg: 'The browser refuses this cookie. Correct it, or leave it out.' };
    const loc = ['body', 'storage_state', 'cookies', String(error.index)];
    throw new ValidationError([validationIssue(loc, issue, state.cookies[error.index])]);
  }
}

/** Best effort: records the result in `session.startNavigation` and never throws. */
export async function openStartUrl(session: LiveSession, url: string): Promise<void> {
  const { machine } = session;
  if (!machine) return;
  const timeoutMs = machine.browser.timeoutScale.ms(startNavigationMs, startNavigationMsMax);
  const spec = { url, waitUntil: 'load' as const, timeoutMs };
  try {
    await machine.browser.tabReady();
    const outcome = await machine.browser.navigate(machine.browser.activeTab().tabId, spec, { signal: session.abort.signal });
    session.startNavigation = { url, status: 'ok', status_code: outcome.statusCode, reason: null, net_error: null, message: null };
  } catch (error) {
    const known = error instanceof NavigationError;
    session.startNavigation = {
      url,
      status: 'failed',
      status_code: null,
      reason: known ? error.reason : 'aborted',
      net_error: known ? error.netError : null,
      message: known ? error.message : null,
    };
  }
}

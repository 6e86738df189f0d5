/** The options of a session for another one like it, as far as the service tells them. */
import type { SessionResponse } from '@berth/contract';

/** What a session does not tell, because it may be a secret or is not retained, has to be entered again. */
export function optionsOf(session: SessionResponse): Record<string, unknown> {
  const { viewport, proxy, profile, captcha, start_navigation: start } = session;
  return {
    name: session.name ?? undefined,
    start_url: start?.url,
    kind: session.kind,
    region: session.region,
    timeout_seconds: session.timeout_seconds,
    idle_timeout_seconds: session.idle_timeout_seconds,
    keep_alive: session.keep_alive,
    record: session.recording.enabled,
    viewport: { ...viewport },
    locale: session.locale ?? undefined,
    timezone: session.timezone ?? undefined,
    block_ads: session.block_ads,
    allowed_domains: session.allowed_domains ?? undefined,
    profile: profile ? { name: profile.name, save_changes: profile.save_changes } : undefined,
    captcha: { mode: captcha.mode, provider: captcha.provider ?? undefined },
    metadata: { ...session.metadata },
    // The server of a caller's own proxy is told without its credentials.
    proxy: proxy && proxy.type !== 'external' ? { type: proxy.type, country: proxy.country ?? undefined } : undefined,
  };
}

/** Options that no session tells, with their names in the form: nobody knows whether they were set. */
export const untold = {
  user_agent: 'user agent',
  extra_headers: 'extra headers',
  block_resources: 'blocked resources',
  accept_downloads: 'downloads',
  ignore_https_errors: 'HTTPS errors',
  storage_state: 'storage state',
  har: 'HAR',
} as const;

/** Which options could not be carried over, in sentences. */
export function missingText({ proxy }: SessionResponse): string {
  const others = `Not carried over, as the service does not return them: ${Object.values(untold).join(', ')}. Set them again where you used them.`;
  if (proxy?.type !== 'external') return others;
  return `Your proxy is not returned with its credentials: enter it again below “Network and proxy”. ${others}`;
}

/** The cookies of the capture, without their values. */
import type { InspectCookie } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { toEvidence, withoutValues } from '../page/pages.ts';
import { purposeOf } from './cookie-purposes.ts';
import { readCookies, sentCookies } from './set-cookies.ts';

const cookiesMax = 300;

export function createCookies(input: ReportInput): InspectCookie[] {
  const ownHosts = [...new Set(input.exchanges.filter(({ isFirstParty }) => isFirstParty).map(({ url }) => url.hostname))];
  const senders = new Map<string, number>();
  for (const exchange of input.exchanges)
    for (const name of sentCookies(exchange)) if (!senders.has(name)) senders.set(name, exchange.index);
  return readCookies(input)
    .slice(0, cookiesMax)
    .map((cookie) => {
      const { name, domain, path, httpOnly, secure, sameSite, isPartitioned, lifetimeSeconds, size, setBy } = cookie;
      const { purpose, confidence } = purposeOf(name);
      const sender = senders.get(name);
      return {
        name: name.slice(0, 256),
        domain,
        path,
        first_party: ownHosts.some((host) => isBelow(host, domain)) || isBelow(input.site, domain),
        http_only: httpOnly,
        secure,
        same_site: sameSite,
        partitioned: isPartitioned,
        lifetime_s: lifetimeSeconds,
        size,
        purpose,
        set_by: setBy ? withoutValues(setBy.url) : null,
        confidence,
        evidence: toEvidence([setBy, sender === undefined ? null : (input.exchanges[sender] ?? null)]),
      };
    });
}

function isBelow(host: string, domain: string): boolean {
  const bare = domain.replace(/^\./, '').toLowerCase();
  return host === bare || host.endsWith(`.${bare}`);
}

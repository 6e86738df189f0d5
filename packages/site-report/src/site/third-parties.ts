/** Whose hosts the pages talk to, by the list of third-party-web. */
import type { InspectThirdParty } from '@berth/contract';
import thirdPartyWeb from 'third-party-web/nostats-subset.js';
import { createAssets, type Asset } from '../assets/asset.ts';
import type { ReportInput } from '../exchange.ts';
import { toEvidence } from '../page/pages.ts';

const partiesMax = 200;
const hostsMax = 50;

export function createThirdParties(input: ReportInput): InspectThirdParty[] {
  const parties = new Map<string, Asset[]>();
  for (const asset of createAssets(input.exchanges)) {
    const { isFirstParty, url } = asset.exchange;
    if (isFirstParty || url.hostname === '') continue;
    const name = entityOf(url.hostname)?.name ?? url.site;
    const own = parties.get(name);
    if (own) own.push(asset);
    else parties.set(name, [asset]);
  }
  const times = scriptTimes(input);
  return [...parties]
    .map(([name, assets]) => toParty(name, assets, times))
    .sort((a, b) => b.transfer_bytes - a.transfer_bytes || b.requests - a.requests || (a.entity < b.entity ? -1 : 1))
    .slice(0, partiesMax);
}

/** The entity of a host. Names of more than 253 characters are no host names. */
const entityOf = (hostname: string) => (hostname.length > 253 ? undefined : thirdPartyWeb.getEntity(hostname));

/** Times of scripts by host; null where no page was measured. */
function scriptTimes({ capture }: ReportInput): Map<string, number> | null {
  const times = new Map<string, number>();
  let isMeasured = false;
  for (const { url, scriptMs } of capture.pages.flatMap(({ coverage }) => coverage)) {
    if (scriptMs === null) continue;
    isMeasured = true;
    const host = URL.parse(url)?.hostname ?? '';
    times.set(host, (times.get(host) ?? 0) + scriptMs);
  }
  return isMeasured ? times : null;
}

function toParty(name: string, assets: readonly Asset[], times: ReadonlyMap<string, number> | null): InspectThirdParty {
  const hosts = [...new Set(assets.map(({ exchange }) => exchange.url.hostname))];
  const entity = entityOf(hosts[0] ?? '');
  return {
    entity: name,
    category: entity?.category ?? 'unknown',
    homepage: entity?.homepage ?? null,
    hosts: hosts.slice(0, hostsMax),
    requests: assets.length,
    transfer_bytes: assets.reduce((sum, { transferBytes }) => sum + transferBytes, 0),
    main_thread_ms: times && hosts.reduce((sum, host) => sum + (times.get(host) ?? 0), 0),
    sets_cookies: assets.some(({ exchange }) => exchange.responseHeaders.has('set-cookie')),
    confidence: entity ? 'high' : 'medium',
    evidence: toEvidence(assets.map(({ exchange }) => exchange)),
  };
}

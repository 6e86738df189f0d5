/** Hosts that serve only advertising and tracking. */
import { readFileSync } from 'node:fs';
import { parseHost } from './addresses.ts';

/**
 * A short list of the best-known, each with all that is under it. It thins out
 * requests; it is no substitute for a maintained list, which an operator adds
 * with {@link loadAdHosts}. Hosts that also serve logins, payments, players or
 * consent dialogs are left out, because pages would break.
 */
export const builtinAdHosts: ReadonlySet<string> = new Set([
  '2mdn.net',
  '33across.com',
  '360yield.com',
  'ad.gt',
  'adcolony.com',
  'adform.net',
  'adgrx.com',
  'adition.com',
  'admob.com',
  'adnxs.com',
  'adroll.com',
  'adrta.com',
  'adsafeprotected.com',
  'adsrvr.org',
  'adsymptotic.com',
  'adtechus.com',
  'adthrive.com',
  'agkn.com',
  'amazon-adsystem.com',
  'analytics.tiktok.com',
  'analytics.twitter.com',
  'analytics.yahoo.com',
  'api-js.mixpanel.com',
  'api.amplitude.com',
  'api2.amplitude.com',
  'api2.branch.io',
  'app-measurement.com',
  'bat.bing.com',
  'bidder.criteo.com',
  'bidswitch.net',
  'bluekai.com',
  'casalemedia.com',
  'cdn.amplitude.com',
  'cdn.branch.io',
  'cdn.mouseflow.com',
  'cdn.mxpnl.com',
  'cdn.taboola.com',
  'chartbeat.net',
  'clarity.ms',
  'contextual.media.net',
  'contextweb.com',
  'criteo.net',
  'crwdcntrl.net',
  'demdex.net',
  'dotomi.com',
  'doubleclick.net',
  'doubleverify.com',
  'edge.fullstory.com',
  'events.appsflyer.com',
  'everesttech.net',
  'exelator.com',
  'eyeota.net',
  'google-analytics.com',
  'googleadservices.com',
  'googlesyndication.com',
  'googletagservices.com',
  'gumgum.com',
  'id5-sync.com',
  'imrworldwide.com',
  'in.hotjar.com',
  'indexww.com',
  'inmobi.com',
  'lijit.com',
  'log.outbrain.com',
  'moatads.com',
  'mookie1.com',
  'nr-data.net',
  'omtrdc.net',
  'openx.net',
  'pixel.facebook.com',
  'pubmatic.com',
  'quantcount.com',
  'quantserve.com',
  'rfihub.com',
  'rlcdn.com',
  'rs.fullstory.com',
  'rubiconproject.com',
  'scorecardresearch.com',
  'script.hotjar.com',
  'sharethrough.com',
  'simpli.fi',
  'smartadserver.com',
  'spotxchange.com',
  'static.chartbeat.com',
  'static.hotjar.com',
  'tapad.com',
  'teads.tv',
  'trc.taboola.com',
  'tremorhub.com',
  'widgets.outbrain.com',
  'yieldmo.com',
  'zemanta.com',
]);

/**
 * The names of a file in the format of a hosts file (`0.0.0.0 ads.example # why`)
 * or with one name on each line. Throws when it cannot be read or holds no name,
 * with the path in the message.
 */
export function loadAdHosts(path: string): ReadonlySet<string> {
  const hosts = new Set<string>();
  for (const line of readFileSync(path, 'utf8').split(/\r?\n/)) {
    const words = line.replace(/#.*/, '').trim().split(/\s+/);
    for (const word of words.length > 1 ? words.slice(1) : words) {
      const host = parseHost(word);
      if (host?.includes('.') && !/^[\d.]+$/.test(host)) hosts.add(host);
    }
  }
  if (hosts.size === 0) throw new Error(`${path} contains no hosts. Expected lines such as "0.0.0.0 ads.example.com".`);
  return hosts;
}

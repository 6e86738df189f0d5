/** How long each script of a page has run on its main thread. */
import type { Protocol } from 'devtools-protocol';

/** The run time of scripts in ms by URL, with that of the browser's functions that they call; null without a profile. */
export function scriptTimes(profile: Protocol.Profiler.Profile | undefined): Map<string, number> | null {
  if (!profile) return null;
  const { nodes, samples = [], timeDeltas = [] } = profile;
  const urlOf = urlsOf(nodes);
  const times = new Map<string, number>();
  for (const [i, id] of samples.entries()) {
    const url = urlOf.get(id) ?? '';
    // A sample says what ran until the next one. The browser's clock may go back.
    if (url !== '') times.set(url, (times.get(url) ?? 0) + Math.max(0, timeDeltas[i + 1] ?? 0) / 1000);
  }
  return times;
}

/** The URL of each node by its id: its own, or that of the script that called it. */
function urlsOf(nodes: readonly Protocol.Profiler.ProfileNode[]): Map<number, string> {
  const urls = new Map<number, string>();
  // Parents come before their children.
  for (const { id, callFrame, children = [] } of nodes) {
    const url = callFrame.url === '' ? (urls.get(id) ?? '') : callFrame.url;
    urls.set(id, url);
    for (const child of children) urls.set(child, url);
  }
  return urls;
}

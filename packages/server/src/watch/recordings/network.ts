/** Summarises the network traffic since the last snapshot, from the browser's network log. */
import type { NetworkEntries, NetworkEntry } from '@berth/devtools';

export type NetworkSummary = Record<'requests' | 'failed' | 'bytes', number>;

export interface NetworkSnapshot {
  summary: NetworkSummary;
  /** The first failed requests. */
  failures: { method: string; url: string; status: number | null; error: string | null }[];
}

/** Further failures are only counted. */
const failuresMax = 10;
/** The error of a pending request. */
const unfinished = 'unfinished';

export class NetworkTally {
  readonly #seen = new WeakSet<NetworkEntry>();
  #dropped = 0;

  /** Returns null when no request has finished. Requests that the log dropped are only counted. */
  snapshot({ entries, dropped }: Pick<NetworkEntries, 'entries' | 'dropped'>): NetworkSnapshot | null {
    const ended = entries.filter((entry) => entry.error !== unfinished && !this.#seen.has(entry));
    for (const entry of ended) this.#seen.add(entry);
    const uncounted = dropped - this.#dropped;
    this.#dropped = dropped;
    if (ended.length + uncounted === 0) return null;
    const failed = ended.filter(hasFailed);
    const bytes = ended.reduce((sum, entry) => sum + entry.wireBytes, 0);
    return {
      summary: { requests: ended.length + uncounted, failed: failed.length, bytes },
      failures: failed.slice(0, failuresMax).map(toFailure),
    };
  }
}

/** The browser reports a response that the page did not read to its end as aborted, which is no failure. */
const hasFailed = ({ error, status }: NetworkEntry): boolean =>
  status >= 400 || (error !== null && !(status > 0 && error === 'net::ERR_ABORTED'));

const toFailure = ({ method, url, status, error }: NetworkEntry): NetworkSnapshot['failures'][number] => ({
  method,
  url,
  status: status === 0 ? null : status,
  error,
});

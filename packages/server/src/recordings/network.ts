/** What went over the network since the last look, from the log that the browser keeps anyway. */
import type { NetworkEntries, NetworkEntry } from '../browser/browser.ts';

/** Told as it is. */
export type NetworkSummary = Record<'requests' | 'failed' | 'bytes', number>;

export interface NetworkLook {
  summary: NetworkSummary;
  /** The first of those that failed. */
  failures: { method: string; url: string; status: number | null; error: string | null }[];
}

/** A page whose every request fails is told by the count. */
const failuresMax = 10;
/** Of a request that is still under way. */
const unfinished = 'unfinished';

export class NetworkTally {
  readonly #seen = new WeakSet<NetworkEntry>();
  #dropped = 0;

  /** Null where nothing came to an end. Requests that the log had no room for are only counted. */
  look({ entries, dropped }: Pick<NetworkEntries, 'entries' | 'dropped'>): NetworkLook | null {
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

/** A page that never reads an answer, or leaves before it is whole, breaks it off: the browser calls that aborted. */
const hasFailed = ({ error, status }: NetworkEntry): boolean =>
  status >= 400 || (error !== null && !(status > 0 && error === 'net::ERR_ABORTED'));

const toFailure = ({ method, url, status, error }: NetworkEntry): NetworkLook['failures'][number] => ({
  method,
  url,
  status: status === 0 ? null : status,
  error,
});

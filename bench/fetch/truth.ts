/** Compares fetch results with the corpus's expectations. */
import type { CorpusPage, NetworkError } from './corpus.ts';
import type { FetchResult, Fetcher } from './fetchers.ts';

export interface TruthResult {
  percent: number;
  /** Pages with a wrong result, and what is wrong. */
  untrue: string[];
}

/** `runsScripts`: whether text rendered by scripts is expected. */
export async function classifyTruth(
  fetcher: Fetcher,
  pages: readonly CorpusPage[],
  options: { runsScripts: boolean },
): Promise<TruthResult> {
  const untrue: string[] = [];
  for (const page of pages) {
    const mismatch = findMismatch(page, await fetchPage(fetcher, page), options);
    if (mismatch !== null) untrue.push(`${page.name} (${mismatch})`);
  }
  return { percent: (100 * (pages.length - untrue.length)) / pages.length, untrue };
}

const fetchPage = ({ fetch }: Fetcher, { url, scripted }: CorpusPage): Promise<FetchResult> =>
  fetch(url, { whole: true, settled: scripted }).catch((error: unknown) => ({
    status: null,
    finalUrl: null,
    contentType: null,
    content: '',
    error: String(error),
  }));

/** Returns the first mismatch, or null. */
function findMismatch(page: CorpusPage, result: FetchResult, { runsScripts }: { runsScripts: boolean }): string | null {
  if (page.networkError !== null)
    return isExpectedError(result.error ?? '', page.networkError) ? null : `error ${result.error ?? 'none'}, not ${page.networkError}`;
  if (result.error !== null) return result.error;
  if (result.status !== page.status) return `status ${result.status}, not ${page.status}`;
  const path = result.finalUrl === null ? null : new URL(result.finalUrl).pathname;
  if (path !== page.finalPath) return `ends at ${path}, not ${page.finalPath}`;
  const type = result.contentType?.split(';')[0]?.trim() || null;
  if (type !== page.contentType) return `type ${type}, not ${page.contentType}`;
  if (page.scripted && !runsScripts) return null;
  return result.content.includes(page.contains) ? null : `lacks “${page.contains}”`;
}

/** Matches Chromium's error name or the service's, as `connection_reset`. */
const isExpectedError = (error: string, networkError: NetworkError): boolean =>
  error.includes(networkError) || error.includes(networkError.replace(/^ERR_/, '').toLowerCase());

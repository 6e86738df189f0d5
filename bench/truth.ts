/** Whether what a fetch says of a page is so. */
import type { CorpusPage, NetworkFault } from './corpus.ts';
import type { Answer, Fetcher } from './fetchers.ts';

export interface Truth {
  percent: number;
  /** Each page that something untrue was said of, and what. */
  untrue: string[];
}

/** `runsScripts` is whether a text that a script draws may be expected. */
export async function judgeTruth(fetcher: Fetcher, pages: readonly CorpusPage[], options: { runsScripts: boolean }): Promise<Truth> {
  const untrue: string[] = [];
  for (const page of pages) {
    const fault = faultOf(page, await answerTo(fetcher, page), options);
    if (fault !== null) untrue.push(`${page.name} (${fault})`);
  }
  return { percent: (100 * (pages.length - untrue.length)) / pages.length, untrue };
}

const answerTo = ({ fetch }: Fetcher, { url, scripted }: CorpusPage): Promise<Answer> =>
  fetch(url, { whole: true, settled: scripted }).catch((error: unknown) => ({
    status: null,
    finalUrl: null,
    contentType: null,
    content: '',
    error: String(error),
  }));

/** The first thing that is untrue; null where there is none. */
function faultOf(page: CorpusPage, answer: Answer, { runsScripts }: { runsScripts: boolean }): string | null {
  if (page.fault !== null) return tells(answer.error ?? '', page.fault) ? null : `error ${answer.error ?? 'none'}, not ${page.fault}`;
  if (answer.error !== null) return answer.error;
  if (answer.status !== page.status) return `status ${answer.status}, not ${page.status}`;
  const path = answer.finalUrl === null ? null : new URL(answer.finalUrl).pathname;
  if (path !== page.finalPath) return `ends at ${path}, not ${page.finalPath}`;
  const type = answer.contentType?.split(';')[0]?.trim() || null;
  if (type !== page.contentType) return `type ${type}, not ${page.contentType}`;
  if (page.scripted && !runsScripts) return null;
  return answer.content.includes(page.contains) ? null : `lacks “${page.contains}”`;
}

/** By Chromium's word for it, or by the service's own for what its way out saw: `connection_reset`. */
const tells = (error: string, fault: NetworkFault): boolean =>
  error.includes(fault) || error.includes(fault.replace(/^ERR_/, '').toLowerCase());

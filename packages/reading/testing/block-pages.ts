/** Classifies fetch responses, for tests outside this folder. */
import { classify, type PageInfo, type Strictness, type Classification } from '../src/block-detection/block-detection.ts';

export { probeScript, type ProbeResult } from '../src/block-detection/block-detection.ts';

/** The input of a classification without a browser. */
export async function toPageInfo(response: Response): Promise<PageInfo> {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    cookieNames: response.headers.getSetCookie().map((cookie) => cookie.split('=', 1)[0] ?? ''),
    url: response.url,
    contentType: response.headers.get('content-type'),
    title: '',
    html: await response.text(),
    visibleTextLength: null,
    dom: null,
    netError: null,
  };
}

export const classifyResponse = async (response: Response, strictness?: Strictness): Promise<Classification> =>
  classify(await toPageInfo(response), strictness);

/** Verdicts on replies as they come over the wire, for tests outside this folder. */
import { classify, type PageFacts, type Strictness, type Verdict } from './block-detection.ts';

export { probeScript, type Probed } from './block-detection.ts';

/** What a reply tells where no browser looks at it. */
export async function factsOf(reply: Response): Promise<PageFacts> {
  return {
    status: reply.status,
    headers: Object.fromEntries(reply.headers),
    cookieNames: reply.headers.getSetCookie().map((cookie) => cookie.split('=', 1)[0] ?? ''),
    url: reply.url,
    contentType: reply.headers.get('content-type'),
    title: '',
    html: await reply.text(),
    visibleTextLength: null,
    dom: null,
    netError: null,
  };
}

export const classifyReply = async (reply: Response, strictness?: Strictness): Promise<Verdict> =>
  classify(await factsOf(reply), strictness);

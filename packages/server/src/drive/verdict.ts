/** What the page that a navigation came to is, told from what came over the network and from the page itself. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Block, BlockDetection, Captcha } from '@berth/contract';
import { PageError, type NavigationOutcome, type Page } from '../browser/browser.ts';
import { systemClock } from '../lib/clock.ts';
import { classify, probeScript, signaturesVersion, type PageFacts, type Probed, type Verdict } from '../block-detection/block-detection.ts';

export interface JudgeOptions {
  strictness: BlockDetection;
  /** What is left of the navigation's time: no challenge is waited for any longer. */
  leftMs: number;
  signal: AbortSignal;
  /** What was seen of the page already; null where it did not answer. */
  look?: Look | null;
}

export interface Judgement {
  /** Also of a mere suspicion, and of a challenge that has cleared: see `blocked`. */
  block: Block | null;
  captcha: Captcha;
  warnings: string[];
  /** Where the page is now, when a challenge has given way to another document. */
  arrived: { finalUrl: string; title: string; statusCode: number | null } | null;
}

/** A page that is busy for longer is judged by what is known without it. */
const probeMsMax = 500;
const challengeMsMax = 8000;
const challengePauseMs = 500;
/** As much as a verdict looks at. */
const htmlChars = 256 * 1024;
/** Quotes and line ends of a page's text double in JSON. */
const answerBytesMax = 4 * htmlChars;
/** A page of so many elements is no block page, and its text takes long to write down. */
const elementsMax = 20_000;

const nothing: Judgement = { block: null, captcha: { present: false, vendor: null, visible: null }, warnings: [], arrived: null };

/** What the page says of itself. The document's start tells whether it is still the one that the navigation brought. */
export interface Look {
  probe: Probed;
  html: string;
  url: string;
  documentStart: number;
  statusCode: number | null;
}

/** The look as an object in a script: for whoever reads the page's HTML anyway, and asks for both in one go. */
export const lookObject = (html: string): string => `({
  probe: ${probeScript},
  html: (${html}).slice(0, ${htmlChars}),
  url: location.href,
  documentStart: performance.timeOrigin,
  statusCode: performance.getEntriesByType('navigation')[0]?.responseStatus || null,
})`;

const lookScript = `() => {
  const root = document.documentElement;
  const count = Document.prototype.getElementsByTagName.call(document, '*').length;
  const read = Object.getOwnPropertyDescriptor(Element.prototype, 'outerHTML').get;
  return ${lookObject(`root === null || count > ${elementsMax} ? '' : read.call(root)`)};
}`;
/**
 * Never throws for what the page does. A challenge that passes by itself is
 * waited for, as a visitor would.
 * @throws what the signal was aborted with
 */
export async function judgePage(page: Page, outcome: NavigationOutcome, options: JudgeOptions): Promise<Judgement> {
  if (options.strictness === 'off' || outcome.statusCode === null) return nothing;
  const startMs = systemClock.monotonicMs();
  const first = options.look === undefined ? await lookAt(page, options) : options.look;
  const verdict = classify(factsOf(outcome, first, first), options.strictness);
  if (!verdict.blocked || !verdict.selfClearing) return judgementOf(verdict, outcome, 0);
  const leftMs = options.leftMs - (systemClock.monotonicMs() - startMs);
  // Half of the time is for what comes after it.
  const challengeMs = Math.min(page.patience.ms(challengeMsMax, leftMs / 2), leftMs);
  return waitForChallenge(page, { outcome, first, verdict }, { ...options, leftMs: challengeMs });
}

/** The same for a reply that no browser has shown, with all that is known of it. */
export function judgeReply(facts: PageFacts, strictness: BlockDetection): Omit<Judgement, 'arrived'> & { verdict: Verdict } {
  const verdict = classify(facts, strictness);
  return { verdict, ...toldOf(verdict, facts, 0) };
}

interface Challenge {
  outcome: NavigationOutcome;
  first: Look | null;
  verdict: Verdict;
}

async function waitForChallenge(page: Page, { outcome, first, verdict }: Challenge, options: JudgeOptions): Promise<Judgement> {
  const { leftMs, signal, strictness } = options;
  const startMs = systemClock.monotonicMs();
  const waitedMs = (): number => Math.round(systemClock.monotonicMs() - startMs);
  let latest = verdict;
  while (waitedMs() < leftMs) {
    await pause(Math.min(challengePauseMs, leftMs - waitedMs()), undefined, { signal }).catch(() => signal.throwIfAborted());
    const look = await lookAt(page, { ...options, leftMs: leftMs - waitedMs() });
    // A page on its way from one document to the next does not answer: it is asked again.
    if (!look) continue;
    latest = classify(factsOf(outcome, first, look), strictness);
    if (latest.blocked && latest.selfClearing) continue;
    return arrivedAt(look, { outcome, first, latest, verdict, waitedMs: waitedMs() });
  }
  return judgementOf(latest, outcome, waitedMs());
}

function arrivedAt(
  look: Look,
  known: { outcome: NavigationOutcome; first: Look | null; latest: Verdict; verdict: Verdict; waitedMs: number },
): Judgement {
  const { outcome, latest, verdict, waitedMs } = known;
  const isNew = known.first !== null && look.documentStart !== known.first.documentStart;
  // What stood in the way is told although it has gone: the caller sees what the time went into.
  const told = latest.block ?? verdict.block;
  return {
    block: told && toBlock({ ...told, blocked: latest.blocked }, outcome, waitedMs),
    captcha: latest.captcha,
    warnings: latest.warnings,
    arrived: { finalUrl: look.url, title: look.probe.title, statusCode: isNew ? look.statusCode : outcome.statusCode },
  };
}

async function lookAt(page: Page, { leftMs, signal }: JudgeOptions): Promise<Look | null> {
  try {
    const timeoutMs = page.patience.ms(probeMsMax, leftMs / 2);
    return await page.call<Look>(page.mainFrame(), lookScript, [], { signal, timeoutMs, maxBytes: answerBytesMax });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PageError) return null;
    throw error;
  }
}

/** A content type that no rule reads a body of: of a page that did not answer there is none to read. */
const unread = 'application/octet-stream';

/** The headers are those of the document that the navigation brought, and say nothing of one that came after it. */
function factsOf(outcome: NavigationOutcome, first: Look | null, look: Look | null): PageFacts {
  const isSame = look === null || first === null || look.documentStart === first.documentStart;
  const { headers, cookieNames } = isSame ? outcome : { headers: {}, cookieNames: [] };
  return {
    status: isSame ? outcome.statusCode : look.statusCode,
    headers,
    cookieNames,
    url: look?.url ?? outcome.finalUrl,
    contentType: look ? (outcome.headers['content-type'] ?? null) : unread,
    title: look?.probe.title ?? outcome.title,
    html: look?.html ?? '',
    visibleTextLength: look?.probe.visibleTextLength ?? null,
    dom: look?.probe ?? null,
    netError: null,
  };
}

type WithHeaders = Pick<NavigationOutcome, 'headers'>;

const judgementOf = (verdict: Verdict, outcome: WithHeaders, waitedMs: number): Judgement => ({
  ...toldOf(verdict, outcome, waitedMs),
  arrived: null,
});

const toldOf = ({ blocked, block, captcha, warnings }: Verdict, reply: WithHeaders, waitedMs: number): Omit<Judgement, 'arrived'> => ({
  block: block && toBlock({ ...block, blocked }, reply, waitedMs),
  captcha,
  warnings,
});

type Found = NonNullable<Verdict['block']> & { blocked: boolean };

const toBlock = ({ blocked, type, vendor, confidence, evidence }: Found, { headers }: WithHeaders, waitedMs: number): Block => ({
  blocked,
  type,
  vendor,
  confidence,
  evidence,
  signatures_version: signaturesVersion,
  challenge_waited_ms: waitedMs,
  retry_after_seconds: retryAfterSeconds(headers),
});

/** A site may ask for any time; no caller waits for more than a day of it. */
const retryAfterMax = 86_400;

/** Seconds, or the site's date by the site's own clock. */
export function retryAfterSeconds(headers: Readonly<Record<string, string>>): number | null {
  const asked = headers['retry-after']?.trim() ?? '';
  const seconds = /^\d{1,9}$/.test(asked) ? Number(asked) : (Date.parse(asked) - Date.parse(headers['date'] ?? '')) / 1000;
  return Number.isFinite(seconds) ? Math.min(retryAfterMax, Math.max(0, Math.round(seconds))) : null;
}

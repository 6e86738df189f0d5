/** Classifies the page after a navigation from its response and its document: blocked, captcha, or neither. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block, BlockDetection, Captcha } from '@berth/contract';
import { PageError, type NavigationResult, type Page } from '../browser/browser.ts';
import { systemClock } from '../lib/clock.ts';
import {
  classify,
  probeScript,
  signaturesVersion,
  type PageInfo,
  type ProbeResult,
  type Classification,
} from '../block-detection/block-detection.ts';

export interface ClassifyOptions {
  strictness: BlockDetection;
  /** The navigation's remaining time, the limit for waiting on a challenge. */
  leftMs: number;
  signal: AbortSignal;
  /** An earlier probe of the page; null when the page did not respond to it. */
  probe?: PageProbe | null;
}

export interface PageClassification {
  /** Also set for weak signals and cleared challenges; see `blocked`. */
  block: Block | null;
  captcha: Captcha;
  warnings: string[];
  /** The document that a cleared challenge was replaced with. */
  committed: { finalUrl: string; title: string; statusCode: number | null } | null;
}

/** A page that does not respond within this time is classified by its response alone. */
const probeMsMax = 500;
const challengeMsMax = 8000;
const challengePollMs = 500;
/** The signatures read no more than this. */
const htmlCharsMax = 256 * 1024;
/** JSON escapes double some characters. */
const answerBytesMax = 4 * htmlCharsMax;
/** Block pages have fewer elements, and serializing more takes long. */
const elementsMax = 20_000;

const noClassification: PageClassification = {
  block: null,
  captcha: { present: false, vendor: null, visible: null },
  warnings: [],
  committed: null,
};

/** What is read in the page. `documentStart` identifies the document, which may change after the navigation. */
export interface PageProbe {
  probe: ProbeResult;
  html: string;
  url: string;
  documentStart: number;
  statusCode: number | null;
}

/** The script expression of a PageProbe, for scripts that read the page's HTML as well. */
export const pageProbeObject = (html: string): string => `({
  probe: ${probeScript},
  html: (${html}).slice(0, ${htmlCharsMax}),
  url: location.href,
  documentStart: performance.timeOrigin,
  statusCode: performance.getEntriesByType('navigation')[0]?.responseStatus || null,
})`;

const pageProbeScript = `() => {
  const root = document.documentElement;
  const count = Document.prototype.getElementsByTagName.call(document, '*').length;
  const read = Object.getOwnPropertyDescriptor(Element.prototype, 'outerHTML').get;
  return ${pageProbeObject(`root === null || count > ${elementsMax} ? '' : read.call(root)`)};
}`;
/**
 * Waits for challenges that clear without interaction. Never throws for what
 * the page does.
 * @throws the signal's reason
 */
export async function classifyPage(page: Page, outcome: NavigationResult, options: ClassifyOptions): Promise<PageClassification> {
  if (options.strictness === 'off' || outcome.statusCode === null) return noClassification;
  const startMs = systemClock.monotonicMs();
  const first = options.probe === undefined ? await probePage(page, options) : options.probe;
  const classification = classify(toPageInfo(outcome, first, first), options.strictness);
  if (!classification.blocked || !classification.selfClearing) return toPageClassification(classification, outcome, 0);
  const leftMs = options.leftMs - (systemClock.monotonicMs() - startMs);
  // The other half of the time is for the next document.
  const challengeMs = Math.min(page.timeoutScale.ms(challengeMsMax, leftMs / 2), leftMs);
  return waitForChallenge(page, { outcome, first, classification }, { ...options, leftMs: challengeMs });
}

/** Classifies a response that was fetched without a browser. */
export function classifyResponse(
  page: PageInfo,
  strictness: BlockDetection,
): Omit<PageClassification, 'committed'> & { classification: Classification } {
  const classification = classify(page, strictness);
  return { classification, ...toBlockAndCaptcha(classification, page, 0) };
}

interface Challenge {
  outcome: NavigationResult;
  first: PageProbe | null;
  classification: Classification;
}

async function waitForChallenge(
  page: Page,
  { outcome, first, classification }: Challenge,
  options: ClassifyOptions,
): Promise<PageClassification> {
  const { leftMs, signal, strictness } = options;
  const startMs = systemClock.monotonicMs();
  const waitedMs = (): number => Math.round(systemClock.monotonicMs() - startMs);
  let latest = classification;
  while (waitedMs() < leftMs) {
    await sleep(Math.min(challengePollMs, leftMs - waitedMs()), undefined, { signal }).catch(() => signal.throwIfAborted());
    const probe = await probePage(page, { ...options, leftMs: leftMs - waitedMs() });
    // A page between two documents does not respond: probe again.
    if (!probe) continue;
    latest = classify(toPageInfo(outcome, first, probe), strictness);
    if (latest.blocked && latest.selfClearing) continue;
    return toClearedClassification(probe, { outcome, first, latest, classification, waitedMs: waitedMs() });
  }
  return toPageClassification(latest, outcome, waitedMs());
}

function toClearedClassification(
  probe: PageProbe,
  probes: { outcome: NavigationResult; first: PageProbe | null; latest: Classification; classification: Classification; waitedMs: number },
): PageClassification {
  const { outcome, latest, classification, waitedMs } = probes;
  const isNew = probes.first !== null && probe.documentStart !== probes.first.documentStart;
  // Report the cleared challenge as well: it explains the time spent.
  const match = latest.block ?? classification.block;
  return {
    block: match && toBlock({ ...match, blocked: latest.blocked }, outcome, waitedMs),
    captcha: latest.captcha,
    warnings: latest.warnings,
    committed: { finalUrl: probe.url, title: probe.probe.title, statusCode: isNew ? probe.statusCode : outcome.statusCode },
  };
}

async function probePage(page: Page, { leftMs, signal }: ClassifyOptions): Promise<PageProbe | null> {
  try {
    const timeoutMs = page.timeoutScale.ms(probeMsMax, leftMs / 2);
    return await page.call<PageProbe>(page.mainFrame(), pageProbeScript, [], { signal, timeoutMs, maxBytes: answerBytesMax });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PageError) return null;
    throw error;
  }
}

/** A content type whose body no signature reads: the page did not respond. */
const unreadContentType = 'application/octet-stream';

/** The response's headers apply only to the document that the navigation loaded. */
function toPageInfo(outcome: NavigationResult, first: PageProbe | null, probe: PageProbe | null): PageInfo {
  const isSame = probe === null || first === null || probe.documentStart === first.documentStart;
  const { headers, cookieNames } = isSame ? outcome : { headers: {}, cookieNames: [] };
  return {
    status: isSame ? outcome.statusCode : probe.statusCode,
    headers,
    cookieNames,
    url: probe?.url ?? outcome.finalUrl,
    contentType: probe ? (outcome.headers['content-type'] ?? null) : unreadContentType,
    title: probe?.probe.title ?? outcome.title,
    html: probe?.html ?? '',
    visibleTextLength: probe?.probe.visibleTextLength ?? null,
    dom: probe?.probe ?? null,
    netError: null,
  };
}

type WithHeaders = Pick<NavigationResult, 'headers'>;

const toPageClassification = (classification: Classification, outcome: WithHeaders, waitedMs: number): PageClassification => ({
  ...toBlockAndCaptcha(classification, outcome, waitedMs),
  committed: null,
});

const toBlockAndCaptcha = (
  { blocked, block, captcha, warnings }: Classification,
  reply: WithHeaders,
  waitedMs: number,
): Omit<PageClassification, 'committed'> => ({
  block: block && toBlock({ ...block, blocked }, reply, waitedMs),
  captcha,
  warnings,
});

type BlockMatch = NonNullable<Classification['block']> & { blocked: boolean };

const toBlock = ({ blocked, type, vendor, confidence, evidence }: BlockMatch, { headers }: WithHeaders, waitedMs: number): Block => ({
  blocked,
  type,
  vendor,
  confidence,
  evidence,
  signatures_version: signaturesVersion,
  challenge_waited_ms: waitedMs,
  retry_after_seconds: retryAfterSeconds(headers),
});

/** One day. */
const retryAfterMax = 86_400;

/** Parses `Retry-After` (RFC 9110): seconds, or a date relative to the response's own `Date`. null when absent or invalid. */
export function retryAfterSeconds(headers: Readonly<Record<string, string>>): number | null {
  const value = headers['retry-after']?.trim() ?? '';
  const seconds = /^\d{1,9}$/.test(value) ? Number(value) : (Date.parse(value) - Date.parse(headers['date'] ?? '')) / 1000;
  return Number.isFinite(seconds) ? Math.min(retryAfterMax, Math.max(0, Math.round(seconds))) : null;
}

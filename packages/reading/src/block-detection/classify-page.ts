/** Classifies the page after a navigation, and waits for challenges that clear without interaction. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block, BlockDetection, Captcha } from '@berth/contract';
import { systemClock } from '@berth/lib/clock.ts';
import { classify, type Classification } from './classify.ts';
import type { PageInfo } from './page-info.ts';
import { pageProbeScript, probeBytesMax, type PageProbe } from './probe.ts';
import { retryAfterSeconds } from './retry-after.ts';

/** The page in the browser. */
export interface ProbedPage {
  /** Scales time limits to the speed of the machine. */
  timeoutScale: { ms(baseMs: number, leftMs?: number): number };
  /**
   * Calls a function, given as source text, in an isolated context. Returns null when the page does not respond in time.
   * @throws the signal's reason
   */
  evaluate<T>(functionSource: string, options: { signal: AbortSignal; timeoutMs: number; maxBytes: number }): Promise<T | null>;
}

/** The response that the navigation ended with. */
export interface NavigationResponse {
  finalUrl: string;
  title: string;
  statusCode: number | null;
  headers: Readonly<Record<string, string>>;
  cookieNames: readonly string[];
}

export interface ClassifyPageOptions {
  strictness: BlockDetection;
  /** The navigation's remaining time, the limit for waiting on a challenge. */
  leftMs: number;
  signal: AbortSignal;
  /** An earlier probe of the page; null when the page did not respond to it. */
  probe?: PageProbe | null | undefined;
}

export interface PageClassification {
  /** Only of a page that is blocked. */
  block: Block | null;
  captcha: Captcha;
  /** `possible_block:TYPE:VENDOR` for a weak sign of a block, `challenge_cleared:TYPE:VENDOR` where one passed by itself. */
  warnings: string[];
  /** Time spent waiting for a challenge, after which the page may be another one. */
  waitedMs: number;
  /** The document that a cleared challenge was replaced with. */
  committed: { finalUrl: string; title: string; statusCode: number | null } | null;
}

/** A page that does not respond within this time is classified by its response alone. */
const probeMsMax = 500;
const challengeMsMax = 8000;
const challengePollMs = 500;

/** Never throws for what the page does. @throws what `evaluate` throws */
export async function classifyPage(
  page: ProbedPage,
  response: NavigationResponse,
  options: ClassifyPageOptions,
): Promise<PageClassification> {
  const { strictness, probe } = options;
  if (strictness === 'off' || response.statusCode === null)
    return { block: null, captcha: { present: false, vendor: null, visible: null }, warnings: [], waitedMs: 0, committed: null };
  const startMs = systemClock.monotonicMs();
  const first = probe === undefined ? await probePage(page, options) : probe;
  const classification = classify(toPageInfo(response, first, first), strictness);
  if (!classification.blocked || !classification.selfClearing) return toPageClassification(classification, 0);
  const leftMs = options.leftMs - (systemClock.monotonicMs() - startMs);
  // The other half of the time is for the next document.
  const challengeMs = Math.min(page.timeoutScale.ms(challengeMsMax, leftMs / 2), leftMs);
  return waitForChallenge(page, { response, first, classification }, { ...options, leftMs: challengeMs });
}

interface Challenge {
  response: NavigationResponse;
  first: PageProbe | null;
  classification: Classification;
}

async function waitForChallenge(page: ProbedPage, challenge: Challenge, options: ClassifyPageOptions): Promise<PageClassification> {
  const { response, first } = challenge;
  const { leftMs, signal, strictness } = options;
  const startMs = systemClock.monotonicMs();
  const waitedMs = (): number => Math.round(systemClock.monotonicMs() - startMs);
  let latest = challenge.classification;
  while (waitedMs() < leftMs) {
    await sleep(Math.min(challengePollMs, leftMs - waitedMs()), undefined, { signal }).catch(() => signal.throwIfAborted());
    const probe = await probePage(page, { ...options, leftMs: leftMs - waitedMs() });
    // A page between two documents does not respond: probe again.
    if (!probe) continue;
    latest = classify(toPageInfo(response, first, probe), strictness);
    if (latest.blocked && latest.selfClearing) continue;
    return toClearedClassification(challenge, { probe, latest, waitedMs: waitedMs() });
  }
  return toPageClassification(latest, waitedMs());
}

function toClearedClassification(
  { response, first, classification }: Challenge,
  { probe, latest, waitedMs }: { probe: PageProbe; latest: Classification; waitedMs: number },
): PageClassification {
  const { statusCode } = isSameDocument(first, probe) ? response : probe;
  const { captcha, block } = latest;
  const { type, vendor } = classification.block ?? {};
  return {
    block: block && { ...block, challenge_waited_ms: waitedMs, retry_after_seconds: retryAfterSeconds(response.headers) },
    captcha,
    // It explains the time spent.
    warnings: [...(block ? [] : [`challenge_cleared:${type}:${vendor}`]), ...latest.warnings],
    waitedMs,
    committed: { finalUrl: probe.url, title: probe.probe.title, statusCode },
  };
}

const toPageClassification = ({ block, captcha, warnings }: Classification, waitedMs: number): PageClassification => ({
  block: block && { ...block, challenge_waited_ms: waitedMs },
  captcha,
  warnings,
  waitedMs,
  committed: null,
});

function probePage(page: ProbedPage, { leftMs, signal }: ClassifyPageOptions): Promise<PageProbe | null> {
  const timeoutMs = page.timeoutScale.ms(probeMsMax, leftMs / 2);
  return page.evaluate<PageProbe>(pageProbeScript, { signal, timeoutMs, maxBytes: probeBytesMax });
}

const isSameDocument = (first: PageProbe | null, probe: PageProbe | null): boolean =>
  probe === null || first === null || probe.documentStart === first.documentStart;

/** A content type whose body no signature reads: the page did not respond. */
const unreadContentType = 'application/octet-stream';

/** The response's headers apply only to the document that the navigation loaded. */
function toPageInfo(response: NavigationResponse, first: PageProbe | null, probe: PageProbe | null): PageInfo {
  const isSame = isSameDocument(first, probe);
  const { headers, cookieNames } = isSame ? response : { headers: {}, cookieNames: [] };
  return {
    status: isSame ? response.statusCode : (probe?.statusCode ?? null),
    headers,
    cookieNames,
    url: probe?.url ?? response.finalUrl,
    contentType: probe ? (response.headers['content-type'] ?? null) : unreadContentType,
    title: probe?.probe.title ?? response.title,
    html: probe?.html ?? '',
    visibleTextLength: probe?.probe.visibleTextLength ?? null,
    dom: probe?.probe ?? null,
    netError: null,
  };
}

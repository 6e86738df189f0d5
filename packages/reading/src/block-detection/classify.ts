/**
 * Classifies a response: the requested page, or a block.
 *
 * `blocked` needs a signal that only blocks show, or a weak signal that the
 * status confirms. Anything less is a warning: a false positive loses the page
 * for the caller, and after a false negative the caller can still read it.
 */
import type { Block, BlockVendor, Captcha, Confidence } from '@berth/contract';
import { section } from '@berth/lib/turns/sections.ts';
import type { PageInfo } from './page-info.ts';
import { detectCaptcha, isError, parsePage, type DetectedCaptcha, type Page } from './parsed-page.ts';
import { retryAfterSeconds } from './retry-after.ts';
import { refusals, smallPageBytes } from './rules/rule.ts';
import { signaturesVersion } from './rules/rules.ts';
import { collectSignals, type Signal } from './signals.ts';

export type Strictness = 'default' | 'strict' | 'off';

export interface Classification {
  blocked: boolean;
  /** Only of a page that is blocked: a weak sign of a block is a warning. */
  block: Block | null;
  /** `possible_block:<type>:<vendor>` when the confidence is too low for `blocked`. */
  warnings: string[];
  captcha: Captcha;
  /** Whether a real browser passes the challenge by waiting. */
  selfClearing: boolean;
}

/** Pure, and linear in the HTML. `strict` counts weak signals as blocks; `off` reports captchas only. */
export const classify = (info: PageInfo, strictness: Strictness = 'default'): Classification =>
  section('classify', () => classifyInfo(info, strictness));

function classifyInfo(info: PageInfo, strictness: Strictness): Classification {
  const page = parsePage(info);
  const captcha = detectCaptcha(page);
  const detection = strictness === 'off' || isProxyFailure(info) ? null : detectBlock(page, collectSignals(page, captcha));
  if (detection === null) return { blocked: false, block: null, warnings: [], captcha, selfClearing: false };
  const { selfClearing, ...match } = detection;
  const { type, vendor, confidence } = match;
  if (!isBlocked(page, confidence, strictness))
    return { blocked: false, block: null, warnings: [`possible_block:${type}:${vendor}`], captcha, selfClearing };
  const block: Block = {
    blocked: true,
    ...match,
    signatures_version: signaturesVersion,
    challenge_waited_ms: 0,
    retry_after_seconds: retryAfterSeconds(info.headers),
  };
  return { blocked: true, block, warnings: [], captcha: type === 'captcha' ? toBlockingCaptcha(captcha, vendor) : captcha, selfClearing };
}

type Detection = Pick<Block, 'type' | 'vendor' | 'confidence' | 'evidence'> & { selfClearing: boolean };

/** Further evidence adds nothing. */
const evidenceMax = 8;
/** A successful response with more visible characters is the page itself. */
const contentChars = 500;
/** The egress failed, not the site. */
const isProxyFailure = ({ status, netError }: PageInfo): boolean =>
  status === 407 || netError === 'net::ERR_TUNNEL_CONNECTION_FAILED' || netError === 'net::ERR_PROXY_CONNECTION_FAILED';

function detectBlock(page: Page, signals: readonly Signal[]): Detection | null {
  const counted = signals.filter(
    ({ rule }) => rule.strength === 'strong' || (page.status !== 404 && (rule.strength === 'shape' || isCorroborated(page))),
  );
  const ranked = (['strong', 'weak', 'shape'] as const).flatMap((strength) => counted.filter(({ rule }) => rule.strength === strength));
  const best = ranked[0];
  if (best === undefined) return null;
  const evidence = ranked.slice(0, evidenceMax).map((signal) => signal.evidence);
  return {
    type: page.status === 429 ? 'rate_limited' : best.rule.type,
    vendor: best.rule.vendor,
    confidence: confidenceOf(page, best),
    evidence,
    selfClearing: best.rule.selfClearing === true,
  };
}

/** A weak signal needs an error status or a nearly empty page. */
const isCorroborated = (page: Page): boolean =>
  isError(page.status) || (!isContent(page) && page.markup !== null && page.htmlLength <= smallPageBytes);

const isContent = ({ status, visibleLength }: Page): boolean => !isError(status) && visibleLength > contentChars;

function confidenceOf({ status }: Page, { rule }: Signal): Confidence {
  if (rule.strength === 'strong') return 'high';
  return rule.strength === 'weak' && isError(status) ? 'medium' : 'low';
}

function isBlocked(page: Page, confidence: Confidence, strictness: Strictness): boolean {
  const { status } = page;
  if (status === 404 || isContent(page)) return false;
  if (confidence === 'high') return true;
  if (strictness === 'strict') return confidence === 'medium' || isError(status);
  return confidence === 'medium' && refusals.includes(status ?? 0);
}

/** A block by captcha is a captcha even when no known widget matched. */
const toBlockingCaptcha = (captcha: DetectedCaptcha, vendor: BlockVendor): DetectedCaptcha => ({
  present: true,
  vendor: captcha.vendor ?? vendor,
  visible: captcha.visible,
});

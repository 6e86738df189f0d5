/**
 * Whether a reply is the page that was asked for, or what stands in its way.
 *
 * A verdict is told only of what was seen: `blocked` on an observation that
 * only a block makes, or on a guess that the status confirms. Everything less
 * is a warning, because a page that is wrongly called blocked is lost to the
 * caller, and one that is wrongly served can still be read.
 */
import type { BlockEvidence, BlockType, BlockVendor, Captcha, Confidence } from '@berth/contract';
import type { PageFacts } from './model.ts';
import { captchaOn, isError, lookAt, type CaptchaFound, type Page } from './page.ts';
import { refusals, smallPageBytes } from './rule.ts';
import { sightingsOn, type Sighting } from './signals.ts';

export type { DomProbe, PageFacts } from './model.ts';
export { probeScript, type Probed } from './probe.ts';
export { signaturesVersion } from './rules.ts';

export type Strictness = 'default' | 'strict' | 'off';

export interface Verdict {
  blocked: boolean;
  /** Told of a mere suspicion as well: `blocked` is the verdict. */
  block: { type: BlockType; vendor: BlockVendor; confidence: Confidence; evidence: BlockEvidence[] } | null;
  /** `possible_block:<type>:<vendor>`, when there is a block in sight that is not sure enough. */
  warnings: string[];
  captcha: Captcha;
  /** Whether a real browser passes it by waiting. */
  selfClearing: boolean;
}

/** Pure, and linear in the html. `strict` takes guesses for blocks; `off` tells of captchas only. */
export function classify(facts: PageFacts, strictness: Strictness = 'default'): Verdict {
  const page = lookAt(facts);
  const captcha = captchaOn(page);
  const suspicion = strictness === 'off' || isProxyTrouble(facts) ? null : suspect(page, sightingsOn(page, captcha));
  if (suspicion === null) return { blocked: false, block: null, warnings: [], captcha, selfClearing: false };
  const { selfClearing, ...block } = suspicion;
  const blocked = isBlocked(page, suspicion.confidence, strictness);
  return {
    blocked,
    block,
    warnings: blocked ? [] : [`possible_block:${block.type}:${block.vendor}`],
    captcha: blocked && block.type === 'captcha' ? solvable(captcha, block.vendor) : captcha,
    selfClearing,
  };
}

type Suspicion = NonNullable<Verdict['block']> & { selfClearing: boolean };

/** More would say the same again. */
const evidenceMax = 8;
/** A page that was served with this much to read is the page. */
const contentChars = 500;
/** The way out failed, not the site. */
const isProxyTrouble = ({ status, netError }: PageFacts): boolean =>
  status === 407 || netError === 'net::ERR_TUNNEL_CONNECTION_FAILED' || netError === 'net::ERR_PROXY_CONNECTION_FAILED';

function suspect(page: Page, sightings: readonly Sighting[]): Suspicion | null {
  const counted = sightings.filter(
    ({ rule }) => rule.strength === 'strong' || (page.status !== 404 && (rule.strength === 'shape' || isBacked(page))),
  );
  const ranked = (['strong', 'weak', 'shape'] as const).flatMap((strength) => counted.filter(({ rule }) => rule.strength === strength));
  const best = ranked[0];
  if (best === undefined) return null;
  const evidence = ranked.slice(0, evidenceMax).map((sighting) => sighting.evidence);
  return {
    type: page.status === 429 ? 'rate_limited' : best.rule.type,
    vendor: best.rule.vendor,
    confidence: confidenceOf(page, best),
    evidence,
    selfClearing: best.rule.selfClearing === true,
  };
}

/** A guess needs an error status or a page with next to nothing on it. */
const isBacked = (page: Page): boolean =>
  isError(page.status) || (!isContent(page) && page.markup !== null && page.htmlLength <= smallPageBytes);

const isContent = ({ status, visibleLength }: Page): boolean => !isError(status) && visibleLength > contentChars;

function confidenceOf({ status }: Page, { rule }: Sighting): Confidence {
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

/** A wall that is a captcha is one also where no known widget was seen. */
const solvable = (captcha: CaptchaFound, vendor: BlockVendor): CaptchaFound => ({
  present: true,
  vendor: captcha.vendor ?? vendor,
  visible: captcha.visible,
});

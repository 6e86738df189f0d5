/** What somebody who automates this site needs to know. */
import type { ApiEndpoint, InspectAutomation } from '@berth/contract';
import { classify } from '@berth/reading';
import { isObject } from '../auth/credentials.ts';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { rawTreeOf, readPages, resolve, toEvidence, type ReportPage } from '../page/pages.ts';
import { quote, selectorOf } from '../page/selector.ts';
import { textCharsOf, type PageElement } from '../page/tree.ts';
import { captchasOf } from './captchas.ts';
import { contentSelectors, readPagination } from './content-selectors.ts';
import { readRobots } from './robots.ts';
import { setCookieNames } from './set-cookies.ts';
import { readRendering } from './site.ts';
import { readTechnologies } from './technologies/technologies.ts';

type AntiAutomation = InspectAutomation['anti_automation'][number];

const framesMax = 20;
const partsMax = 20;

/** `endpoints`: those of the site's API, whose lists may be paged where its pages show no link. */
export function createAutomation(input: ReportInput, endpoints: readonly ApiEndpoint[] = []): InspectAutomation {
  const pages = readPages(input);
  const [page] = pages;
  const selectors = page ? contentSelectors(page.tree) : [];
  const protections = readProtections(input, pages);
  const { mode, ...recommendation } = recommendMode(input, page, protections);
  return {
    recommended_mode: mode,
    ...recommendation,
    wait_for: mode === 'http' || !page ? null : waitFor(page, selectors),
    content_selectors: selectors,
    infinite_scroll: scrollsForever(input, pages),
    pagination: readPagination(input) ?? pagedEndpoint(endpoints),
    consent_banner: readConsentBanner(pages),
    iframes: pages.flatMap((each) => framesOf(each, input.site)).slice(0, framesMax),
    shadow_dom: pages.some(({ tree }) =>
      tree.elements.some(({ name, attributes }) => name.includes('-') || attributes.has('shadowrootmode')),
    ),
    anti_automation: protections,
    robots_note: robotsNote(input),
  };
}

function pagedEndpoint(endpoints: readonly ApiEndpoint[]): InspectAutomation['pagination'] {
  const param = endpoints.find(({ pagination }) => pagination !== null && pagination.params.length > 0)?.pagination?.params[0];
  return param === undefined ? null : { selector: null, param };
}

interface Recommendation {
  mode: InspectAutomation['recommended_mode'];
  reason: string;
  confidence: InspectAutomation['confidence'];
  evidence: string[];
}

const contentCharsMin = 500;

function recommendMode(input: ReportInput, page: ReportPage | undefined, protections: readonly AntiAutomation[]): Recommendation {
  const calls = input.exchanges.filter(isDataCall);
  const challenge = protections.find(({ challenge_seen: isSeen }) => isSeen);
  const document = toEvidence([page?.document ?? null]);
  if (challenge)
    return { mode: 'browser', reason: `${challenge.vendor} challenged the browser.`, confidence: 'medium', evidence: challenge.evidence };
  const { type: rendering, ratio } = readRendering(page);
  if (rendering === 'ssr')
    return { mode: 'http', reason: `The raw HTML has ${percent(ratio)} of the text.`, confidence: 'high', evidence: document };
  if (calls.length > 0)
    return {
      mode: 'api_replay',
      reason: `${calls.length} JSON responses of the site carry data.`,
      confidence: 'medium',
      evidence: toEvidence(calls),
    };
  if (rendering === 'unknown' && page && page.snapshot === null && textCharsOf(page.tree) >= contentCharsMin)
    return { mode: 'http', reason: 'The raw HTML has text, and no JSON response carries data.', confidence: 'low', evidence: document };
  const reason =
    rendering === 'unknown' ? 'Nothing shows where the content comes from.' : `The raw HTML has only ${percent(ratio)} of the text.`;
  return { mode: 'browser', reason, confidence: rendering === 'unknown' ? 'low' : 'medium', evidence: document };
}

const percent = (ratio: number | null): string => `${Math.min(100, Math.round((ratio ?? 0) * 100))} %`;

const dataCharsMin = 200;

/** Sign-in, settings and tracking answer with less. */
function isDataCall({ isFirstParty, resourceType, statusCode, responseText, responseJson, url }: CapturedExchange): boolean {
  if (!isFirstParty || (resourceType !== 'xhr' && resourceType !== 'fetch') || statusCode !== 200) return false;
  if (responseText.length < dataCharsMin || /\.well-known\/|\/(?:config|settings|manifest|translations?|locales?)\b/i.test(url.path))
    return false;
  return Array.isArray(responseJson) || isObject(responseJson);
}

/** The first selector whose element the server did not send. */
function waitFor({ tree, document }: ReportPage, selectors: readonly string[]): string | null {
  const before = new Set(document ? contentSelectors(rawTreeOf(document)) : []);
  const later = selectors.find((selector) => !before.has(selector));
  if (later !== undefined) return later;
  const root = tree.elements.find(
    ({ attributes, children }) => /^(?:root|app|__next|__nuxt|___gatsby|svelte)$/.test(attributes.get('id') ?? '') && children.length > 0,
  );
  return root ? `#${root.attributes.get('id')} > *` : null;
}

const scrollMarks = /(?:^|[\s_-])infinite-?(?:scroll|loader|list)|load-?more-?(?:sentinel|trigger)|scroll-?sentinel/i;

function scrollsForever(input: ReportInput, pages: readonly ReportPage[]): boolean {
  const isMarked = ({ attributes }: PageElement): boolean =>
    scrollMarks.test(`${attributes.get('class') ?? ''} ${attributes.get('id') ?? ''}`) || attributes.has('data-infinite-scroll');
  if (pages.some(({ tree }) => tree.elements.some(isMarked))) return true;
  const scroll = input.capture.actions.find(({ type }) => type === 'scroll');
  if (!scroll) return false;
  const scrolledAt = Date.parse(scroll.startedAt);
  return input.exchanges.some((exchange) => isDataCall(exchange) && Date.parse(exchange.entry.startedDateTime) >= scrolledAt);
}

/** The elements that the consent tools of these vendors write. */
const banners: readonly [vendor: string, id: RegExp][] = [
  ['OneTrust', /^onetrust-(?:banner-sdk|consent-sdk)$/],
  ['Cookiebot', /^CybotCookiebotDialog$/],
  ['Didomi', /^didomi-(?:host|notice|popup)$/],
  ['Quantcast', /^qc-cmp2-(?:container|ui)$/],
  ['Usercentrics', /^usercentrics-(?:root|cmp-ui)$/],
  ['TrustArc', /^(?:truste-consent-track|trustarc-banner-overlay)$/],
  ['CookieYes', /^cky-consent(?:-container)?$/],
  ['Iubenda', /^iubenda-cs-banner$/],
  ['Complianz', /^cmplz-cookiebanner-container$/],
  ['Osano', /^osano-cm-window$/],
  ['Klaro', /^klaro$/],
];
const genericBanner =
  /^(?:(?:js-|site-)?(?:cookie|consent|gdpr|privacy)s?[-_]?(?:banner|bar|notice|consent|dialog|popup|modal|overlay|message|law)|cookies?)$/i;

function readConsentBanner(pages: readonly ReportPage[]): InspectAutomation['consent_banner'] {
  for (const { tree } of pages) {
    for (const element of tree.elements) {
      const [id, label] = [element.attributes.get('id') ?? '', element.attributes.get('aria-label') ?? ''];
      const names = [id, ...(element.attributes.get('class') ?? '').slice(0, 500).split(/\s+/)].filter(
        (name) => name !== '' && name.length <= 80,
      );
      const vendor = banners.find(([, pattern]) => names.some((name) => pattern.test(name)))?.[0] ?? null;
      const isDialog =
        /^(?:dialog|alertdialog|region)$/.test(element.attributes.get('role') ?? '') && /\b(?:cookie|consent)/i.test(label.slice(0, 100));
      if (vendor === null && !isDialog && !(isBlock(element) && names.some((name) => genericBanner.test(name)))) continue;
      const mark = names.find((name) => banners.some(([, pattern]) => pattern.test(name)));
      return {
        vendor,
        selector: vendor !== null && mark !== undefined && mark !== id ? `[class~=${quote(mark)}]` : selectorOf(element, tree),
      };
    }
  }
  return null;
}

const isBlock = ({ name }: PageElement): boolean => /^(?:div|section|aside|dialog|footer|form)$/.test(name);

function framesOf({ tree, url }: ReportPage, site: string): InspectAutomation['iframes'] {
  return tree
    .named('iframe')
    .slice(0, framesMax)
    .map((frame) => {
      const source = frame.attributes.get('src');
      const src = source === undefined || source === '' ? null : resolve(source, url);
      const hostname = src === null ? null : new URL(src).hostname;
      const own = URL.parse(url)?.hostname;
      return {
        src,
        selector: selectorOf(frame, tree),
        first_party: hostname === null || hostname === own || hostname === site || hostname.endsWith(`.${site}`),
      };
    });
}

function readProtections(input: ReportInput, pages: readonly ReportPage[]): AntiAutomation[] {
  const protections = new Map<string, AntiAutomation>();
  const add = (vendor: string, fields: Partial<AntiAutomation> & { reasons: string[] }): void => {
    const before = protections.get(vendor);
    if (before) {
      before.reasons = [...new Set([...before.reasons, ...fields.reasons])].slice(0, 5);
      before.challenge_seen ||= fields.challenge_seen ?? false;
    } else protections.set(vendor, { vendor, challenge_seen: false, confidence: 'high', evidence: [], ...fields });
  };
  for (const page of pages) {
    const block = blockOf(page);
    if (block)
      add(block.vendor, {
        reasons: [`a page of type ${block.type}`],
        challenge_seen: true,
        confidence: block.confidence,
        evidence: toEvidence([page.document]),
      });
    for (const vendor of captchasOf(page.tree)) add(vendor, { reasons: ['a captcha in the page'], evidence: toEvidence([page.document]) });
  }
  for (const { category, name, reasons, evidence, confidence } of readTechnologies(input)) {
    if (!/^(?:bot_protection|waf)$/.test(category)) continue;
    const vendor = vendorNames[name] ?? name.toLowerCase().replaceAll(/[\s-]/g, '_');
    add(vendor, { reasons, confidence, evidence });
  }
  return [...protections.values()].slice(0, partsMax);
}

/** Names of vendors in block detection, by the name of the technology. */
const vendorNames: Readonly<Record<string, string>> = {
  'Cloudflare Bot Management': 'cloudflare',
  'Akamai Bot Manager': 'akamai',
};

function blockOf({
  document,
  snapshot,
  tree,
}: ReportPage): { vendor: string; type: string; confidence: AntiAutomation['confidence'] } | null {
  if (!document) return null;
  const { blocked, block } = classify({
    status: document.statusCode,
    headers: Object.fromEntries(document.responseHeaders),
    cookieNames: setCookieNames(document),
    url: document.url.href,
    contentType: document.responseType,
    title: snapshot?.title ?? '',
    html: snapshot?.html ?? document.responseText,
    visibleTextLength: snapshot?.textChars ?? textCharsOf(tree),
    dom: null,
    netError: null,
  });
  return blocked && block ? block : null;
}

function robotsNote(input: ReportInput): string | null {
  const robots = readRobots(input);
  if (!robots) return null;
  if (robots.allowed_for_us === false) return 'robots.txt disallows this URL: ask the owner of the site before you automate it.';
  const delay = robots.crawl_delay === null ? '' : ` It asks for ${robots.crawl_delay} seconds between two requests.`;
  return `robots.txt allows this URL.${delay}`;
}

/** What a site is made of, as an inspection reports it: site, third parties, cookies, security, search engines, automation. */
import { z } from 'zod';
import { claimFields, countField, countOrNull, flagField, textField, textOrNull, textsField } from './inspect-claims.ts';

const Redirect = z
  .object({
    url: textField('URL that redirected.'),
    status_code: countField('Status of the response.'),
    type: z.enum(['http', 'meta', 'js']).describe('How it redirected.'),
  })
  .meta({ id: 'InspectRedirect' });

const Tls = z
  .object({
    version: textField('Protocol version, such as `TLS 1.3`.'),
    issuer: textOrNull('Issuer of the certificate.'),
    valid_to: textOrNull('End of the certificate, RFC 3339, UTC.'),
    san_count: countOrNull('Number of names in the certificate.'),
  })
  .meta({ id: 'InspectTls' });

export const Technology = z
  .object({
    name: textField('Name of the technology.'),
    category: textField('What it is for, such as `framework` or `analytics`.'),
    version: textOrNull('Version, where the site names it.'),
    reasons: textsField('Where it was seen, such as `response header server`, at most 5.'),
    ...claimFields,
  })
  .meta({ id: 'InspectTechnology' });

const DataBlob = z
  .object({
    name: textField('Name of the blob, such as `__NEXT_DATA__`.'),
    keys: textsField('Names of its top keys, at most 50.'),
    bytes: countField('Size in bytes.'),
  })
  .meta({ id: 'InspectDataBlob' });

/** A detected technology, which `technologies` has with its reasons. */
const Detected = z.object({ name: textField('Name, as in `technologies`.'), ...claimFields }).meta({ id: 'InspectDetected' });

const Rendering = z
  .object({
    type: z.enum(['ssr', 'csr', 'hybrid', 'unknown']).describe('`ssr`: on the server. `csr`: in the browser. `hybrid`: in both.'),
    ratio: z.number().min(0).nullable().describe('Characters of text in the raw HTML, divided by those of the rendered page.'),
    ...claimFields,
  })
  .meta({ id: 'InspectRendering' });

const Robots = z
  .object({
    allowed_for_us: z
      .boolean()
      .nullable()
      .describe('Whether the rules allow the inspected URL to this service; null without a readable file.'),
    crawl_delay: z.number().min(0).nullable().describe('Seconds between two requests that the file asks for.'),
    sitemaps: textsField('Sitemaps that the file names, at most 50.'),
    ai_agents_disallowed: textsField('Known AI crawlers that the file shuts out of the whole site.'),
  })
  .meta({ id: 'InspectRobots' });

const ProbeResult = z
  .object({
    present: z.boolean().nullable().describe('Whether the file exists; null if it was not requested.'),
    bytes: countField('Size in bytes.'),
  })
  .meta({ id: 'InspectProbeResult' });

const SecurityTxt = z
  .object({
    present: flagField('Whether the site has the file (RFC 9116).'),
    contact: textsField('Ways to report a vulnerability, at most 5.'),
    expires: textOrNull('When the file expires.'),
  })
  .meta({ id: 'InspectSecurityTxt' });

const StructuredData = z
  .object({
    type: textField('Type, such as `Product`.'),
    format: z.enum(['json_ld', 'microdata', 'rdfa', 'open_graph', 'twitter']).describe('How it is written.'),
    count: countField('How often it occurs on all pages.'),
  })
  .meta({ id: 'InspectStructuredData' });

const Manifest = z
  .object({
    url: textField('URL of the manifest.'),
    name: textOrNull('Name of the application; null if the manifest was not loaded.'),
  })
  .meta({ id: 'InspectManifest' });

export const InspectSite = z
  .object({
    title: textField('Title of the first page.'),
    description: textOrNull('Description of the first page.'),
    language: textOrNull('Language that the page declares.'),
    redirects: z.array(Redirect).describe('Redirects before the first page, in order.'),
    status_code: countField('Status of the first page; 0 without a response.'),
    ip: textOrNull('Address of the server.'),
    protocol: textOrNull('Protocol of the first page, such as `h2`.'),
    tls: Tls.nullable().describe('TLS of the first page; null without it, or where the capture does not say.'),
    server: textOrNull('The `Server` header.'),
    powered_by: textOrNull('The `X-Powered-By` header.'),
    cdn: Detected.nullable().describe('Content delivery network in front of the site; null if none was seen.'),
    waf: z.array(Detected).describe('Protections in front of the site.'),
    technologies: z.array(Technology).describe('What the site is built with, at most 100.'),
    rendering: Rendering.describe('Where the text of the first page is made.'),
    data_blobs: z.array(DataBlob).describe('Data that frameworks embed in the pages: names and sizes, never values.'),
    service_worker: flagField('Whether a page registered a service worker.'),
    manifest: Manifest.nullable().describe('The web application manifest.'),
    robots: Robots.nullable().describe('What `robots.txt` says; null if the site has none.'),
    llms_txt: ProbeResult.describe('The file `/llms.txt`, which is requested only with `probe`.'),
    security_txt: SecurityTxt.describe('The file `security.txt`.'),
    structured_data: z.array(StructuredData).describe('Structured data of the pages, at most 100 types.'),
  })
  .meta({ id: 'InspectSite' });
export type InspectSite = z.infer<typeof InspectSite>;

export const InspectThirdParty = z
  .object({
    entity: textField('Who runs the hosts; the registrable domain if it is unknown.'),
    category: textField('What it is for, such as `analytics`, `ad` or `cdn`; `unknown` otherwise.'),
    homepage: textOrNull('Home page of the entity.'),
    hosts: textsField('Hosts that were requested, at most 50.'),
    requests: countField('Number of requests.'),
    transfer_bytes: countField('Bytes on the wire.'),
    main_thread_ms: z.number().min(0).nullable().describe('Time of its scripts on the main thread; null if it was not measured.'),
    sets_cookies: flagField('Whether its responses set cookies.'),
    ...claimFields,
  })
  .meta({ id: 'InspectThirdParty' });
export type InspectThirdParty = z.infer<typeof InspectThirdParty>;

export const cookiePurposes = ['auth', 'csrf', 'analytics', 'ads', 'bot_defence', 'preference', 'unknown'] as const;

export const InspectCookie = z
  .object({
    name: textField('Name. The value is never reported.'),
    domain: textField('Domain that receives it; with a leading dot, also the hosts below.'),
    path: textField('Path that receives it.'),
    first_party: flagField('Whether it belongs to the inspected site.'),
    http_only: flagField('Whether scripts of the page cannot read it.'),
    secure: flagField('Whether it is sent over HTTPS only.'),
    same_site: z.enum(['strict', 'lax', 'none']).nullable().describe('The `SameSite` attribute; null if it is not set.'),
    partitioned: flagField('Whether it is bound to the top-level site.'),
    lifetime_s: countOrNull('Seconds from the start of the capture until it expires; null for a session cookie.'),
    size: countField('Characters of name and value.'),
    purpose: z.enum(cookiePurposes).describe('What it seems to be for.'),
    set_by: textOrNull('URL whose response set it; null for a cookie of a script, or from before.'),
    ...claimFields,
  })
  .meta({ id: 'InspectCookie' });
export type InspectCookie = z.infer<typeof InspectCookie>;

const ContentSecurityPolicy = z
  .object({
    present: flagField('Whether the page has an enforced policy.'),
    unsafe_inline: flagField('Whether the policy lets any inline script run.'),
    unsafe_eval: flagField('Whether the policy allows `eval`.'),
    report_only: flagField('Whether the page has a policy that only reports.'),
    in: z.enum(['header', 'meta']).nullable().describe('Where the policy stands.'),
  })
  .meta({ id: 'InspectContentSecurityPolicy' });

const SecurityHeaders = z
  .object({
    hsts: textOrNull('`Strict-Transport-Security`.'),
    csp: ContentSecurityPolicy.describe('`Content-Security-Policy`.'),
    x_frame_options: textOrNull('`X-Frame-Options`.'),
    x_content_type_options: textOrNull('`X-Content-Type-Options`.'),
    referrer_policy: textOrNull('`Referrer-Policy`, of the header or of the page.'),
    permissions_policy: textOrNull('`Permissions-Policy`, at most 500 characters.'),
    coop: textOrNull('`Cross-Origin-Opener-Policy`.'),
    coep: textOrNull('`Cross-Origin-Embedder-Policy`.'),
    corp: textOrNull('`Cross-Origin-Resource-Policy`.'),
  })
  .meta({ id: 'InspectSecurityHeaders' });

const SecurityNote = z
  .object({
    level: z.enum(['info', 'warning']).describe('`warning`: a browser or an attacker could use it. `info`: worth knowing.'),
    code: textField('Stable name of the note, such as `hsts_missing`.'),
    text: textField('What was observed, and what would be better.'),
    ...claimFields,
  })
  .meta({ id: 'InspectSecurityNote' });

export const InspectSecurity = z
  .object({
    headers: SecurityHeaders.describe('Security headers of the first page.'),
    mixed_content: textsField('URLs that a page over HTTPS loaded over HTTP, at most 50.'),
    https_redirect: z.boolean().nullable().describe('Whether HTTP redirected to HTTPS; null if no page was requested over HTTP.'),
    sri_missing: textsField('Scripts and style sheets of other sites without an `integrity` attribute, at most 50.'),
    forms_http: textsField('Targets of forms that are sent over HTTP, at most 50.'),
    tls_ok: z.boolean().nullable().describe('Whether all documents came over TLS 1.2 or later; null where the capture does not say.'),
    score_notes: z.array(SecurityNote).describe('Observations. This is not a vulnerability scan.'),
  })
  .meta({ id: 'InspectSecurity' });
export type InspectSecurity = z.infer<typeof InspectSecurity>;

const Alternate = z
  .object({
    lang: textField('Language of the version, such as `de` or `x-default`.'),
    url: textField('URL of the version.'),
  })
  .meta({ id: 'InspectAlternate' });

export const InspectSeo = z
  .object({
    canonical: textOrNull('Canonical URL of the first page.'),
    robots_meta: textOrNull('The `robots` meta element or the `X-Robots-Tag` header.'),
    indexable: flagField('Whether search engines may index the first page.'),
    h1: textsField('Texts of the first-level headings, at most 10.'),
    headings: countField('Number of all headings.'),
    viewport: textOrNull('The `viewport` meta element.'),
    alternates: z.array(Alternate).describe('Versions in other languages, at most 50.'),
    open_graph: textsField('Names of the Open Graph properties.'),
    images_without_alt: countField('Images without an `alt` attribute on all pages.'),
    links_internal: countField('Links to the same site on the first page.'),
    links_external: countField('Links to other sites on the first page.'),
    feeds: textsField('RSS and Atom feeds, at most 20.'),
    notes: textsField('Observations, such as a missing title.'),
  })
  .meta({ id: 'InspectSeo' });
export type InspectSeo = z.infer<typeof InspectSeo>;

const PaginationHint = z
  .object({
    selector: textOrNull('CSS selector of the link or button to the next page.'),
    param: textOrNull('Query parameter that counts pages.'),
  })
  .meta({ id: 'InspectPagination' });

const ConsentBanner = z
  .object({
    vendor: textOrNull('Vendor of the consent banner.'),
    selector: textField('CSS selector of the banner.'),
  })
  .meta({ id: 'InspectConsentBanner' });

const AntiAutomation = z
  .object({
    vendor: textField('Vendor of the protection.'),
    reasons: textsField('Where it was seen.'),
    challenge_seen: flagField('Whether a challenge or a captcha was shown, or a request was refused.'),
    ...claimFields,
  })
  .meta({ id: 'InspectAntiAutomation' });

const Frame = z
  .object({
    src: textOrNull('URL of the frame; null for one without.'),
    selector: textField('CSS selector of the frame.'),
    first_party: flagField('Whether the frame belongs to the inspected site.'),
  })
  .meta({ id: 'InspectFrame' });

export const InspectAutomation = z
  .object({
    recommended_mode: z
      .enum(['http', 'browser', 'api_replay'])
      .describe('`http`: the raw HTML has the content. `api_replay`: JSON endpoints have it. `browser`: only scripts can make it.'),
    reason: textField('Why this mode is recommended.'),
    wait_for: textOrNull('CSS selector that exists once the content is there; null if it is there at once.'),
    content_selectors: textsField('CSS selectors of repeated items and of the main content, best first, at most 5.'),
    infinite_scroll: flagField('Whether scrolling loads more.'),
    pagination: PaginationHint.nullable().describe('How to get to the next page of a list.'),
    consent_banner: ConsentBanner.nullable().describe('A consent banner that may cover the page.'),
    iframes: z.array(Frame).describe('Frames of the pages, at most 20.'),
    shadow_dom: flagField('Whether the pages use custom elements or shadow trees, which plain CSS selectors do not enter.'),
    anti_automation: z.array(AntiAutomation).describe('Protections against automation, at most 20.'),
    robots_note: textOrNull('What `robots.txt` means for automating this site.'),
    ...claimFields,
  })
  .meta({ id: 'InspectAutomation' });
export type InspectAutomation = z.infer<typeof InspectAutomation>;

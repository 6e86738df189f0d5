/** The site, third parties, cookies, security, search engines and automation. */
import type { InspectAutomation, InspectCookie, InspectSecurity, InspectSeo, InspectSite, InspectThirdParty } from '@berth/contract';
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';
import {
  badge,
  bytes,
  code,
  codeOrNone,
  confidence,
  count,
  cut,
  evidence,
  facets,
  list,
  muted,
  seconds,
  section,
  table,
  yesNo,
} from './parts.ts';

export function siteSection(site: InspectSite): Markup {
  const { tls, robots, technologies } = site;
  return section('site', 'Site', [
    facets([
      ['Title', cut(site.title) || muted('none')],
      ['Description', site.description === null ? muted('none') : cut(site.description)],
      ['Language', site.language ?? muted('not stated')],
      ['Server', codeOrNone([site.server, site.powered_by].filter((name) => name !== null).join(', '), 'not stated')],
      ['Address', html`${codeOrNone(site.ip, 'unknown')} ${site.protocol ? badge(site.protocol) : nothing}`],
      [
        'TLS',
        tls
          ? html`${cut(tls.version, 30)},
            ${cut(tls.issuer ?? 'unknown issuer', 80)}${tls.valid_to ? `, until ${tls.valid_to.slice(0, 10)}` : ''}`
          : muted('unknown'),
      ],
      [
        'Delivery',
        site.cdn ? html`${site.cdn.name} ${confidence(site.cdn.confidence)} ${evidence(site.cdn.evidence)}` : muted('no CDN seen'),
      ],
      [
        'Protection',
        site.waf.length === 0
          ? muted('none seen')
          : html`${site.waf.map((each) => html`${each.name} ${confidence(each.confidence)} ${evidence(each.evidence)} `)}`,
      ],
      [
        'Rendering',
        html`${renderingNames[site.rendering.type]} ${confidence(site.rendering.confidence)} ${evidence(site.rendering.evidence)}`,
      ],
      [
        'robots.txt',
        robots
          ? html`${robots.allowed_for_us === false ? badge('disallows this URL', 'bad') : badge('allows this URL', 'good')}
            ${robots.crawl_delay === null ? '' : `${robots.crawl_delay} s between requests`}`
          : muted('none'),
      ],
      ['Service worker', yesNo(site.service_worker)],
    ]),
    html`<h3>Technologies</h3>`,
    technologies.length === 0
      ? html`<p class="muted">None was recognized.</p>`
      : html`<ul class="chips">
          ${technologies.map(({ name, version, category }) => html`<li>${name}${version ? html` <span class="muted">${cut(version, 20)}</span>` : nothing} <span class="muted">${category.replaceAll('_', ' ')}</span></li>`)}
        </ul>`,
    site.redirects.length === 0
      ? nothing
      : html`<h3>Redirects</h3>
          ${list(site.redirects.map(({ url, status_code: status, type }) => html`${badge(type === 'http' ? String(status) : type)} ${code(url)}`))}`,
    table({
      caption: 'Structured data',
      head: ['Type', 'Format', 'Count'],
      numeric: [2],
      rows: site.structured_data.map(({ type, format, count: times }) => [cut(type, 80), format.replaceAll('_', ' '), count(times)]),
    }),
    table({
      caption: 'Data in the pages',
      head: ['Name', 'Keys', 'Size'],
      numeric: [2],
      rows: site.data_blobs.map(({ name, keys, bytes: size }) => [code(name), cut(keys.join(', ')), bytes(size)]),
    }),
  ]);
}

const renderingNames: Readonly<Record<InspectSite['rendering']['type'], string>> = {
  ssr: 'on the server',
  csr: 'in the browser',
  hybrid: 'on the server and in the browser',
  unknown: 'unknown',
};

export const thirdPartiesSection = (parties: readonly InspectThirdParty[]): Markup =>
  section('third-parties', 'Third parties', [
    parties.length === 0
      ? html`<p class="muted">The pages talked to no other site.</p>`
      : table({
          caption: 'Other sites',
          head: ['Who', 'For', 'Hosts', 'Requests', 'Size', 'Sets cookies'],
          numeric: [3, 4],
          rows: parties.map(({ entity, category, hosts, requests, transfer_bytes: size, sets_cookies: sets }) => [
            cut(entity, 80),
            category.replaceAll('-', ' '),
            code(hosts.slice(0, 3).join(', ') + (hosts.length > 3 ? ` +${hosts.length - 3}` : '')),
            count(requests),
            bytes(size),
            yesNo(sets),
          ]),
        }),
  ]);

export const cookiesSection = (cookies: readonly InspectCookie[]): Markup =>
  section('cookies', 'Cookies', [
    cookies.length === 0
      ? html`<p class="muted">No cookie was seen.</p>`
      : table({
          caption: 'Names and attributes, never values',
          head: ['Name', 'Domain', 'For', 'Lifetime', 'HttpOnly', 'Secure', 'SameSite'],
          rows: cookies.map(
            ({ name, domain, purpose, lifetime_s: lifetime, http_only: http, secure, same_site: site, first_party: isOwn }) => [
              code(name, 80),
              html`${code(domain, 80)} ${isOwn ? nothing : badge('3rd party')}`,
              purpose.replace('_', ' '),
              seconds(lifetime),
              yesNo(http),
              yesNo(secure),
              site ?? muted('not set'),
            ],
          ),
        }),
  ]);

export function securitySection({ headers, score_notes: notes, ...security }: InspectSecurity): Markup {
  const { csp } = headers;
  const policy = !csp.present
    ? muted('none')
    : html`${csp.unsafe_inline ? badge('inline scripts run', 'warn') : badge('no inline scripts', 'good')}
      ${muted(`in ${csp.in ?? 'no'} ${csp.in === 'meta' ? 'element' : 'field'}`)}`;
  return section('security', 'Security', [
    html`<p class="muted">Observations. This is no vulnerability scan.</p>`,
    notes.length === 0
      ? html`<p>${badge('nothing to note', 'good')}</p>`
      : html`<ul class="notes">
          ${notes.map(({ level, text, evidence: ids }) => html`<li>${badge(level, level === 'warning' ? 'warn' : 'plain')} <span>${cut(text)}</span> ${evidence(ids)}</li>`)}
        </ul>`,
    facets([
      ['Content-Security-Policy', policy],
      ['Strict-Transport-Security', codeOrNone(headers.hsts)],
      ['X-Frame-Options', codeOrNone(headers.x_frame_options)],
      ['X-Content-Type-Options', codeOrNone(headers.x_content_type_options)],
      ['Referrer-Policy', codeOrNone(headers.referrer_policy)],
      ['Permissions-Policy', codeOrNone(headers.permissions_policy)],
      ['Cross-Origin-Opener-Policy', codeOrNone(headers.coop)],
      ['HTTP redirects to HTTPS', security.https_redirect === null ? muted('unknown') : yesNo(security.https_redirect)],
    ]),
    security.mixed_content.length === 0
      ? nothing
      : html`<h3>Loaded over HTTP</h3>
          ${list(security.mixed_content.map((url) => code(url, 160)))}`,
    security.sri_missing.length === 0
      ? nothing
      : html`<h3>Without integrity</h3>
          ${list(security.sri_missing.map((url) => code(url, 160)))}`,
  ]);
}

export const seoSection = (seo: InspectSeo): Markup =>
  section('seo', 'Search engines', [
    facets([
      ['Indexable', seo.indexable ? badge('yes', 'good') : badge('no', 'warn')],
      ['Canonical', codeOrNone(seo.canonical)],
      ['First-level headings', seo.h1.length === 0 ? muted('none') : cut(seo.h1.join(' · '))],
      ['Links', `${count(seo.links_internal)} internal, ${count(seo.links_external)} external`],
      ['Languages', seo.alternates.length === 0 ? muted('none') : cut(seo.alternates.map(({ lang }) => lang).join(', '))],
      ['Feeds', seo.feeds.length === 0 ? muted('none') : list(seo.feeds.map((url) => code(url)))],
    ]),
    list(seo.notes),
  ]);

export function automationSection(automation: InspectAutomation): Markup {
  const { pagination, consent_banner: banner } = automation;
  return section('automation', 'Automation', [
    html`<p>${badge(modeNames[automation.recommended_mode], 'good')} ${cut(automation.reason)}</p>`,
    facets([
      ['Wait for', codeOrNone(automation.wait_for, 'nothing')],
      [
        'Content',
        automation.content_selectors.length === 0 ? muted('unknown') : list(automation.content_selectors.map((selector) => code(selector))),
      ],
      [
        'Next page',
        pagination
          ? html`${codeOrNone(pagination.selector, 'no link')}
            ${pagination.param === null ? '' : html`parameter ${code(pagination.param, 60)}`}`
          : muted('none'),
      ],
      ['Infinite scroll', yesNo(automation.infinite_scroll)],
      ['Consent banner', banner ? html`${banner.vendor ?? 'unknown vendor'} ${code(banner.selector)}` : muted('none')],
      ['Shadow trees', yesNo(automation.shadow_dom)],
      [
        'Frames',
        automation.iframes.length === 0
          ? muted('none')
          : list(automation.iframes.map(({ src, selector }) => html`${code(selector, 120)} ${codeOrNone(src, 'without address')}`)),
      ],
      ['robots.txt', automation.robots_note ?? muted('none')],
    ]),
    table({
      caption: 'Protection against automation',
      head: ['Vendor', 'Challenge', 'Seen by'],
      rows: automation.anti_automation.map(({ vendor, challenge_seen: seen, reasons }) => [
        cut(vendor, 60),
        seen ? badge('shown', 'bad') : muted('not shown'),
        cut(reasons.join(', ')),
      ]),
    }),
  ]);
}

const modeNames: Readonly<Record<InspectAutomation['recommended_mode'], string>> = {
  http: 'fetch by plain HTTP',
  browser: 'use a browser',
  api_replay: 'call the API',
};

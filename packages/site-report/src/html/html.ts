/** The report as a page for people: self-contained, printable, without scripts. It loads nothing. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { html, Markup, nothing } from '@berth/lib/text/html.ts';
import { inTurns } from '@berth/lib/turns/turn-budget.ts';
import { apiSection, authSection } from './api.ts';
import { assetsSection } from './assets.ts';
import { findingsList, toFindings } from './findings.ts';
import { badge, bytes, count, countText, cut, duration, facets, list, noun, section, table, type Tone } from './parts.ts';
import { automationSection, cookiesSection, securitySection, seoSection, siteSection, thirdPartiesSection } from './site.ts';
import type { ReportView } from './view.ts';

export type { ReportView } from './view.ts';

const shared = join(import.meta.dirname, '../../../web/src/shared');
const parts = [join(shared, 'palette.css'), join(shared, 'documents.css'), join(import.meta.dirname, 'report.css')];
const style = parts.map((path) => readFileSync(path, 'utf8')).join('\n');
/** The hash is that of the bytes between the tags. */
const styleElement = new Markup(`<style>${style}</style>`);
const styleHash = createHash('sha256').update(style).digest('base64');
/** Only the one style sheet of the page applies, whatever a site manages to write into it. */
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'`;

/** The dashboard shows the page in a frame. */
export const reportHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': `${policy}; frame-ancestors 'self'`,
  'cache-control': 'private, no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface Part {
  id: string;
  title: string;
  content: Markup;
}

/** Linear in what it shows: of long lists, the beginning. Takes no long turn of the event loop. */
export const toReportHtml = (report: ReportView): Promise<string> => inTurns(writeReport(report));

function* writeReport(report: ReportView): Generator<void, string> {
  const parts = yield* partsOf(report);
  const title = `Inspection of ${hostOf(report)}`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="content-security-policy" content="${policy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title} · Berth</title>
        ${styleElement}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header class="bar">
          <span class="brand">${mark} Berth</span>
          <span class="muted">${cut(report.started_at.slice(0, 16).replace('T', ' '), 20)} UTC</span>
        </header>
        <div class="columns">
          <nav class="contents" aria-label="Contents">
            <ul>
              ${parts.map(({ id, title: name }) => html`<li><a href="#${id}">${name}</a></li>`)}
            </ul>
          </nav>
          <main id="content" tabindex="-1">${hero(report, title)} ${parts.map(({ content }) => content)}</main>
        </div>
      </body>
    </html> `.text;
}

const mark = html`<svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
  <rect width="32" height="32" rx="8" fill="#0b6b6b" />
  <path d="M8 9v9a8 8 0 0 0 16 0V9" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" />
  <circle cx="16" cy="11.5" r="3.5" fill="#8fe3dc" />
</svg>`;

const hostOf = ({ final_url: final, url }: ReportView): string => cut(URL.parse(final ?? url ?? '')?.host || 'a HAR', 80);

const statusTones: Readonly<Record<string, Tone>> = { ok: 'good', blocked: 'warn', error: 'bad' };

function hero(report: ReportView, title: string): Markup {
  const { url, final_url: final, status, pages, duration_ms: ms, limits, screenshot } = report;
  const picture = screenshot?.data_base64 && /^image\/(?:png|jpeg|webp)$/.test(screenshot.content_type) ? screenshot : null;
  return html`<div class="hero">
      <div>
        <h1>${title}</h1>
        <p class="address"><code>${cut(url ?? 'uploaded HAR', 300)}</code></p>
        ${final !== null && final !== url ? html`<p class="address muted">ended at <code>${cut(final, 300)}</code></p>` : nothing}
        <p>
          ${badge(status, statusTones[status])} ${limits.truncated ? badge('incomplete', 'warn') : nothing}
          <span class="muted">${countText(pages.length, 'page')} in ${duration(ms)}</span>
        </p>
      </div>
      ${picture ? html`<img src="data:${picture.content_type};base64,${picture.data_base64 ?? ''}" alt="The first page" width="${String(picture.width)}" height="${String(picture.height)}" />` : nothing}
    </div>
    ${overview(report)}`;
}

type Stat = [value: string, label: string];

function overview(report: ReportView): Markup {
  const { api, auth, assets, third_parties: parties, site, security } = report;
  const mechanisms = auth?.mechanisms.filter(({ type }) => type !== 'none') ?? [];
  const counted = (value: number, ...nouns: [singular: string, plural?: string]): Stat => [count(value), noun(value, ...nouns)];
  const stats: (Stat | false | null | undefined | 0)[] = [
    api && counted(api.summary.endpoints, 'API endpoint'),
    auth && counted(mechanisms.length, 'credential'),
    assets && counted(assets.summary.requests, 'request'),
    assets && [bytes(assets.summary.transfer_bytes), 'on the wire'],
    assets?.summary.timings.lcp_ms && [duration(assets.summary.timings.lcp_ms), 'to the largest paint'],
    parties && counted(parties.length, 'third party', 'third parties'),
    site && counted(site.technologies.length, 'technology', 'technologies'),
    security && counted(security.score_notes.filter(({ level }) => level === 'warning').length, 'security warning'),
  ];
  const known = stats.filter((stat) => !!stat);
  return html`${
    known.length === 0
      ? nothing
      : html`<ul class="stats">
          ${known.map(([value, label]) => html`<li><strong>${value}</strong><span>${label}</span></li>`)}
        </ul>`
  }
  ${findingsList(toFindings(report))}`;
}

function* partsOf(report: ReportView): Generator<void, Part[]> {
  const { api, auth, assets, site, third_parties: parties, cookies, security, seo, automation } = report;
  const parts: Part[] = api ? [{ id: 'api', title: 'API', content: yield* apiSection(api) }] : [];
  const others: [id: string, title: string, content: (() => Markup) | null][] = [
    ['auth', 'Authentication', auth ? () => authSection(auth) : null],
    ['assets', 'Loading', assets ? () => assetsSection(assets) : null],
    ['site', 'Site', site ? () => siteSection(site) : null],
    ['automation', 'Automation', automation ? () => automationSection(automation) : null],
    ['third-parties', 'Third parties', parties ? () => thirdPartiesSection(parties) : null],
    ['cookies', 'Cookies', cookies ? () => cookiesSection(cookies) : null],
    ['security', 'Security', security ? () => securitySection(security) : null],
    ['seo', 'Search engines', seo ? () => seoSection(seo) : null],
    ['about', 'About this report', () => aboutSection(report)],
  ];
  for (const [id, title, content] of others) {
    if (content) parts.push({ id, title, content: content() });
    yield;
  }
  return parts;
}

function aboutSection({ pages, limits, redactions, warnings }: ReportView): Markup {
  const places = redactions.headers + redactions.body_keys + redactions.body_values;
  return section('about', 'About this report', [
    table({
      caption: 'Pages',
      head: ['Page', 'Title', 'Status', 'Requests', 'Load'],
      numeric: [3, 4],
      rows: pages.map(({ url, title, status_code: status, requests, load_ms: load }) => [
        html`<code>${cut(url, 160)}</code>`,
        cut(title, 120),
        status === null ? 'none' : String(status),
        count(requests),
        load === null ? '' : duration(load),
      ]),
    }),
    facets([
      [
        'Redacted',
        `Secrets in ${countText(places, 'place')}: ${count(redactions.headers)} in headers, ${count(redactions.body_keys + redactions.body_values)} in bodies. Placeholders stand for them.`,
      ],
      [
        'Left out',
        limits.truncated
          ? `${countText(limits.dropped_requests, 'request')} and ${bytes(limits.dropped_bytes)}: ${cut(limits.reason ?? 'limits', 200)}`
          : 'nothing',
      ],
    ]),
    warnings.length === 0
      ? nothing
      : html`<h3>Warnings</h3>
          ${list(warnings.map((warning) => cut(warning)))}`,
  ]);
}

/** The frame of the pages. They are whole without scripts; one adds buttons to copy code, and remembers the language of examples. */
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';

export interface Page {
  title: string;
  content: Markup;
  /** Navigation beside the content. */
  contents?: Markup;
  outline?: Markup;
  current: 'home' | 'guides' | 'reference';
  /** Address of the same page as Markdown. */
  markdown?: string;
}

export const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'referrer-policy': 'no-referrer',
};

const places = [
  { name: 'dashboard', label: 'Dashboard', address: '/dashboard' },
  { name: 'guides', label: 'Guides', address: '/docs/guides' },
  { name: 'reference', label: 'API reference', address: '/docs' },
] as const;

const barOf = (current: Page['current']): Markup =>
  html`<header class="bar">
    <a class="brand" href="/" ${current === 'home' ? html`aria-current="page"` : nothing}>
      <img src="/favicon.svg" alt="" width="28" height="28" />Berth
    </a>
    <nav aria-label="Pages">
      ${places.map(
        ({ name, label, address }) => html`<a href="${address}" ${name === current ? html`aria-current="true"` : nothing}>${label}</a> `,
      )}
    </nav>
  </header>`;

export const renderPage = ({ title, content, contents = nothing, outline = nothing, current, markdown }: Page): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title === 'Berth' ? title : `${title} · Berth`}</title>
        <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
        <link rel="stylesheet" href="/docs/docs.css" />
        ${markdown === undefined ? nothing : html`<link rel="alternate" type="text/markdown" href="${markdown}" />`}
        <script src="/docs/docs.js" defer></script>
      </head>
      <body class="page page-${current}">
        <a class="skip" href="#content">Skip to the content</a>
        ${barOf(current)}
        <div class="columns">
          ${contents}
          <main id="content" class="content" tabindex="-1">${content}</main>
          ${outline}
        </div>
      </body>
    </html> `.text;

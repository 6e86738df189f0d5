/** The front page: what this is, how it is, and a first session to paste. */
import { apiVersion, type Health } from '@berth/contract';
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';
import { renderPage } from './frame.ts';

/** What is served only where it is set up. */
export type Destination = 'sign-in';

interface Home {
  origin: string;
  health: Health;
  destinations: readonly Destination[];
}

const states: Readonly<Record<Health['status'], { label: string; className: string }>> = {
  ok: { label: 'Ready', className: 'good' },
  starting: { label: 'Starting', className: 'warn' },
  degraded: { label: 'Degraded', className: 'warn' },
  unhealthy: { label: 'Unhealthy', className: 'bad' },
};

const links: readonly { title: string; address: string; text: string; only?: Destination }[] = [
  { title: 'Dashboard', address: '/dashboard', text: 'Create sessions and watch them, fetch pages, see usage and keys.' },
  { title: 'Sign in', address: '/dev-idp', text: 'Create API keys of your own. For development, without a password.', only: 'sign-in' },
  { title: 'Quickstart', address: '/docs/quickstart', text: 'The first session, step by step.' },
  { title: 'Guides', address: '/docs/guides', text: 'Sessions, clients, fetch, live view, and running the service.' },
  { title: 'API reference', address: '/docs', text: 'Every endpoint and field, with samples in four languages.' },
  { title: 'OpenAPI document', address: '/openapi.json', text: 'For generated clients and other tools.' },
];

export const homePage = ({ origin, health, destinations }: Home): string =>
  renderPage({
    title: 'Berth',
    current: 'home',
    content: html`<section class="hero">
        <h1>Berth</h1>
        <p class="lead">
          A self-hosted browser cloud. It runs Chromium browsers, each in a machine of its own, and you drive them over HTTP, or with
          Playwright and Puppeteer.
        </p>
        ${stateOf(health)}
        <p class="address">Version ${apiVersion} at <code>${origin}</code></p>
        <p>To begin in your browser, open the <a href="/dashboard">dashboard</a>; it needs no other program.</p>
      </section>
      ${firstSession(origin)}
      <section aria-labelledby="where">
        <h2 id="where">Where to go next</h2>
        <ul class="cards">
          ${links
            .filter(({ only }) => only === undefined || destinations.includes(only))
            .map(
              ({ title, address, text }) =>
                html`<li>
                  <a href="${address}"><strong>${title}</strong><span>${text}</span></a>
                </li> `,
            )}
        </ul>
      </section>`,
  });

function stateOf({ status, checks }: Health): Markup {
  const { label, className } = states[status];
  const failing = Object.entries(checks).filter(([, check]) => check.status !== 'ok');
  return html`<p><a class="state ${className}" href="/health">${label}</a></p>
    ${
      status === 'ok' || failing.length === 0
        ? nothing
        : html`<ul class="failing">
            ${failing.map(([name, { note }]) => html`<li><strong>${name}</strong>: ${note}</li> `)}
          </ul>`
    }`;
}

const code = (text: string): Markup => html`<pre tabindex="0"><code>${text}</code></pre>`;

const firstSession = (origin: string): Markup =>
  html`<section aria-labelledby="first">
    <h2 id="first">Your first session</h2>
    <p>
      You need an API key. The first start printed one and stored it in the data directory as <code>api-key</code>. On somebody else’s
      service, ask the operator.
    </p>
    ${code(`export BERTH=${origin}
export AUTH="Authorization: Bearer $(cat \${BERTH_DATA_DIR:-data}/api-key)"`)}
    <p>Create a session, open a page, read it, and end the session:</p>
    ${code(`SESSION=$(curl -s $BERTH/v1/session -H "$AUTH" --json '{}' | grep -o 'ses_[a-z0-9]*' | head -1)
curl -s $BERTH/v1/session/$SESSION/navigate -H "$AUTH" --json '{"url":"https://example.com/"}'
curl -s "$BERTH/v1/session/$SESSION/content?format=markdown" -H "$AUTH"
curl -s -X DELETE $BERTH/v1/session/$SESSION -H "$AUTH"`)}
    <p>Or one page in one call:</p>
    ${code(`curl -s $BERTH/v1/fetch -H "$AUTH" --json '{"url":"https://example.com/","formats":["markdown"]}'`)}
    <p>
      For Playwright, Puppeteer and other clients see <a href="/docs/connect">Connect</a>; to watch a session, see
      <a href="/docs/watching">Watching</a>.
    </p>
  </section>`;

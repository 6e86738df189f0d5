/** The OpenAPI document, and Swagger UI that shows it. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { docs, openapi } from '@berth/contract';
import { html } from '@berth/lib/text/html.ts';
import type { Http } from '../http/server/server.ts';
import { barOf, headOf } from './frame.ts';

/** Content security policy: only resources of this service, no inline code. Swagger UI draws its icons from `data:` URLs. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const page = html`<!doctype html>
  <html lang="en">
    <head>
      ${headOf('API reference')}
      <link rel="stylesheet" href="/docs/swagger-ui.css" />
    </head>
    <body class="page page-reference">
      ${barOf('reference')}
      <div id="swagger-ui"></div>
      <script src="/docs/swagger-ui-bundle.js"></script>
      <script src="/docs/initializer.js"></script>
    </body>
  </html> `.text;

/** Starts Swagger UI in the reader's colours, against the address that the reader opened. */
const initializer = `const dark = matchMedia('(prefers-color-scheme: dark)');
const applyScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
applyScheme();
dark.addEventListener('change', applyScheme);

// Every field of the dialog asks for the focus when it opens, and the last one gets it. The first is the API key.
const focusApiKey = () => ({
  wrapComponents: {
    authorizationPopup:
      (Original, { React }) =>
      (props) => {
        React.useEffect(() => document.querySelector('.auth-container input')?.focus(), []);
        return React.createElement(Original, props);
      },
  },
});

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [focusApiKey],
  // The document names the public address. The page may only call the one that it was opened at.
  requestInterceptor: (request) => {
    const { pathname, search } = new URL(request.url, location.href);
    return Object.assign(request, { url: location.origin + pathname + search });
  },
});
`;

/** Content types with a charset: without it, browsers read the bundle as Latin-1, and its regular expressions are syntax errors. */
const bundled: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

/**
 * The document of the repository, without the addresses of servers. To make it from the contract takes a fifth of a
 * second, which a start or all sessions would wait for; the checks keep both equal.
 */
async function readDocument(): Promise<string> {
  const text = await readFile(new URL('../../../../openapi.json', import.meta.url), 'utf8');
  const { servers: _, ...document } = JSON.parse(text) as Record<string, unknown>;
  return JSON.stringify(document);
}

export function mountReference(http: Http): void {
  let document: Promise<string> | undefined;
  const load = async (origin: string): Promise<string> => {
    const rest = await (document ??= readDocument());
    return `{"servers":${JSON.stringify([{ url: origin }])},${rest.slice(1)}\n`;
  };
  const revalidated = { 'cache-control': 'no-cache' };
  http.asset(openapi.path, { contentType: 'application/json; charset=utf-8', headers: revalidated, load, isCompressed: true }, openapi);
  const headers = { 'content-security-policy': contentSecurityPolicy, 'referrer-policy': 'no-referrer' };
  http.asset(docs.path, { contentType: 'text/html; charset=utf-8', headers, load: () => page, isCompressed: true }, docs);
  http.asset('/docs/initializer.js', {
    contentType: 'text/javascript; charset=utf-8',
    headers: {},
    load: () => initializer,
    isCompressed: true,
  });
  for (const [name, contentType] of Object.entries(bundled)) {
    const file = fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`));
    // Read on demand: two megabytes that most workers never need.
    http.asset(`/docs/${name}`, {
      contentType,
      headers: { 'cache-control': 'public, max-age=86400' },
      load: () => readFile(file),
      isCompressed: true,
    });
  }
}

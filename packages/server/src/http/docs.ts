import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { apiVersion, docs, endpoints, createOpenApiDocument, openapi } from '@berth/contract';
import type { Http } from './server.ts';

/** Only resources of this service, no inline scripts or styles. Swagger UI draws its icons from `data:` URLs. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Berth API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/initializer.js"></script>
  </body>
</html>
`;

const initializer = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
`;

/** Without the charset, browsers read the bundle as Latin-1 and its regular expressions become syntax errors. */
const bundled: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** Serves the OpenAPI document and Swagger UI, without external resources. */
export function mountDocs(http: Http): void {
  const document = createOpenApiDocument({ endpoints, version: apiVersion });
  http.on(openapi, ({ origin }) => ({ ...document, servers: [{ url: origin }] }));
  const headers = { 'content-security-policy': contentSecurityPolicy, 'referrer-policy': 'no-referrer' };
  http.asset(docs.path, { contentType: 'text/html; charset=utf-8', headers, load: () => Buffer.from(page) }, docs);
  http.asset('/docs/initializer.js', { contentType: 'text/javascript; charset=utf-8', headers: {}, load: () => Buffer.from(initializer) });
  for (const [name, contentType] of Object.entries(bundled)) {
    const file = fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`));
    // Read on demand: two megabytes that most workers never need.
    http.asset(`/docs/${name}`, { contentType, headers: { 'cache-control': 'public, max-age=86400' }, load: () => readFile(file) });
  }
}

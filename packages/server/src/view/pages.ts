/** The built web pages. Read once at startup and served from memory. */
import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { ErrorPage } from '../http/error-page.ts';

export type PageName = 'live-view' | 'player' | 'vnc';

export interface HtmlPage {
  html: string;
  /** Without the content type. */
  headers: Record<string, string>;
}

export interface StaticFile {
  contentType: string;
  data: Buffer;
}

const pageNames: readonly PageName[] = ['live-view', 'player', 'vnc'];
const errorPageName = 'link-error';
/** Replaced in the error page. */
const statusPlaceholder = '<!--status-->';
const messagePlaceholder = '<!--message-->';

/** With the charset, as browsers guess one otherwise. */
const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
};

/** Allows only our own resources, no inline scripts or styles, and no framing. */
function contentSecurityPolicy(origin: string): string {
  // Some browsers do not treat a WebSocket of the same host as `'self'`.
  const socket = origin.replace(/^http/, 'ws');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "media-src 'self' blob:",
    `connect-src 'self' ${socket}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

export class Pages {
  readonly #pages: ReadonlyMap<string, string>;
  /** By name, as in `/static/NAME`. */
  readonly files: ReadonlyMap<string, StaticFile>;

  /** Reads the folder that the pages are built into. @throws Error when they are not built */
  constructor(folder: string) {
    this.#pages = new Map([...pageNames, errorPageName].map((name) => [name, readPage(folder, name)]));
    this.files = readStatic(join(folder, 'static'));
    const errorPage = this.#html(errorPageName);
    if (!errorPage.includes(messagePlaceholder))
      throw new Error(`The page ${errorPageName}.html must contain ${messagePlaceholder}. Run scripts/setup.sh.`);
  }

  /** `origin` is the service's origin as the caller sees it. */
  page(name: PageName, origin: string): HtmlPage {
    return { html: this.#html(name), headers: pageHeaders(origin) };
  }

  /** Renders the error page of a link. `message` is HTML that the caller has escaped. */
  readonly errorPage: ErrorPage = (status, message) =>
    this.#html(errorPageName)
      .replaceAll(statusPlaceholder, String(status))
      .replaceAll(messagePlaceholder, () => message);

  #html(name: string): string {
    const html = this.#pages.get(name);
    if (html === undefined) throw new Error(`unknown page ${name}`);
    return html;
  }
}

const pageHeaders = (origin: string): Record<string, string> => ({
  'content-security-policy': contentSecurityPolicy(origin),
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
});

function readPage(folder: string, name: string): string {
  try {
    return readFileSync(join(folder, `${name}.html`), 'utf8');
  } catch (cause) {
    throw new Error(`The pages are not built: ${name}.html is missing. Run scripts/setup.sh.`, { cause });
  }
}

/** Files of unknown types are skipped, as no page requests them. */
function readStatic(folder: string): Map<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const contentType = contentTypes[extname(entry.name)];
    if (entry.isFile() && contentType !== undefined) files.set(entry.name, { contentType, data: readFileSync(join(folder, entry.name)) });
  }
  return files;
}

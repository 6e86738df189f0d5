/** The built pages: read once at the start, and found by name in an index of what was there. */
import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { ErrorPage } from '../http/error-page.ts';

export type PageName = 'live-view' | 'player' | 'vnc';

export interface HtmlPage {
  html: string;
  /** All but its content type. */
  headers: Record<string, string>;
}

export interface StaticFile {
  contentType: string;
  data: Buffer;
}

const pageNames: readonly PageName[] = ['live-view', 'player', 'vnc'];
const errorPageName = 'link-error';
/** What the error page holds in their places. */
const statusMark = '<!--status-->';
const messageMark = '<!--message-->';

/** With the charset, without which a browser guesses one. */
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

/** Only what we serve ourselves, no script or style inside the page, and no page of others around it. */
function policyFor(origin: string): string {
  // Some browsers do not count the socket of the same host as the same origin.
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

  /** Reads the folder that the pages were built into. Throws where they were not. */
  constructor(folder: string) {
    this.#pages = new Map([...pageNames, errorPageName].map((name) => [name, readPage(folder, name)]));
    this.files = readStatic(join(folder, 'static'));
    const errorPage = this.#html(errorPageName);
    if (!errorPage.includes(messageMark)) throw new Error(`The page ${errorPageName}.html has no place for a message: ${messageMark}.`);
  }

  /** `origin`: where the caller reaches us. */
  page(name: PageName, origin: string): HtmlPage {
    return { html: this.#html(name), headers: headersFor(origin) };
  }

  /** For a person whose link does not open what it was made for. `message` is HTML: who answers has escaped it. */
  readonly errorPage: ErrorPage = (status, message) =>
    this.#html(errorPageName)
      .replaceAll(statusMark, String(status))
      .replaceAll(messageMark, () => message);

  #html(name: string): string {
    const html = this.#pages.get(name);
    if (html === undefined) throw new Error(`there is no page ${name}`);
    return html;
  }
}

const headersFor = (origin: string): Record<string, string> => ({
  'content-security-policy': policyFor(origin),
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

/** A file of a kind that is not known is none that a page of ours asks for. */
function readStatic(folder: string): Map<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const contentType = contentTypes[extname(entry.name)];
    if (entry.isFile() && contentType !== undefined) files.set(entry.name, { contentType, data: readFileSync(join(folder, entry.name)) });
  }
  return files;
}

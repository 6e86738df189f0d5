/** The built web pages. Read once at startup and served from memory. */
import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { ErrorPage } from '../../http/error-page.ts';
import type { Encodings } from '../../http/options.ts';

export type PageName = 'live-view' | 'player' | 'vnc' | 'dashboard';

export interface HtmlPage {
  html: string;
  /** The response headers without the content type. */
  headers: Record<string, string>;
}

export interface StaticFile {
  contentType: string;
  data: Buffer;
  /** The compressed forms, made by the build for what compresses. */
  encodings: Encodings;
}

/** Suffixes of compressed files by encoding, the preferred first. */
const suffixes = { br: '.br', gzip: '.gz' };
const pageNames: readonly PageName[] = ['live-view', 'player', 'vnc', 'dashboard'];
const errorPageName = 'link-error';
/** Replaced in the error page. */
const placeholders = { title: '<!--title-->', message: '<!--message-->', hint: '<!--hint-->', status: '<!--status-->' };
const missingPage = { title: 'This page does not exist', hint: 'Check the address, or start at the <a href="/">front page</a>.' };
const missingLink = {
  title: 'A link is needed to see this',
  hint:
    'If the session is yours, <a href="/dashboard">sign in to the dashboard</a> and open it there: its page shows the live view and ' +
    'makes links. If it is not, ask its owner for a link.',
};
const unusableLink = {
  title: 'This link cannot be opened',
  hint: 'Links expire. If this one has expired, ask the person who sent it for a new link.',
};

/** The content types by file extension. Text has its charset, because browsers guess one otherwise. */
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

/** Pages that have another page in them, and pages that are that one. Both are of this origin. */
const framing: Readonly<Partial<Record<PageName, string>>> = {
  dashboard: "frame-src 'self'; frame-ancestors 'none'",
  player: "frame-ancestors 'self'",
};

/** Allows only our own resources, no inline scripts or styles, and no framing by other origins. */
function contentSecurityPolicy(name: PageName, origin: string): string {
  // Some browsers do not treat a WebSocket of the same host as `'self'`.
  const socket = origin.replace(/^http/, 'ws');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "media-src 'self' blob:",
    `connect-src 'self' ${socket}`,
    framing[name] ?? "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

export class Pages {
  readonly #pages: ReadonlyMap<string, string>;
  /** The static files by name, as in `/static/NAME`. */
  readonly files: ReadonlyMap<string, StaticFile>;

  /** Reads the folder that the pages are built into. @throws Error when they are not built */
  constructor(folder: string) {
    this.#pages = new Map([...pageNames, errorPageName].map((name) => [name, readPage(folder, name)]));
    this.files = readStatic(join(folder, 'static'));
    const errorPage = this.#html(errorPageName);
    for (const placeholder of Object.values(placeholders))
      if (!errorPage.includes(placeholder))
        throw new Error(`The page ${errorPageName}.html must contain ${placeholder}. Run scripts/setup.sh.`);
  }

  /** `origin` is the service's origin as the caller sees it. */
  page(name: PageName, origin: string): HtmlPage {
    return { html: this.#html(name), headers: pageHeaders(name, origin) };
  }

  /** Renders the error page. `message` is HTML that the caller has escaped. */
  readonly errorPage: ErrorPage = (status, message) => {
    const { title, hint } = status === 404 ? missingPage : status === 401 ? missingLink : unusableLink;
    return this.#html(errorPageName)
      .replaceAll(placeholders.title, title)
      .replaceAll(placeholders.hint, hint)
      .replaceAll(placeholders.status, String(status))
      .replaceAll(placeholders.message, () => message);
  };

  #html(name: string): string {
    const html = this.#pages.get(name);
    if (html === undefined) throw new Error(`unknown page ${name}`);
    return html;
  }
}

const pageHeaders = (name: PageName, origin: string): Record<string, string> => ({
  'content-security-policy': contentSecurityPolicy(name, origin),
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
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  const names = new Set(entries.map(({ name }) => name));
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  for (const name of names) {
    const contentType = contentTypes[extname(name)];
    if (contentType === undefined) continue;
    const encoded = Object.entries(suffixes).filter(([, suffix]) => names.has(name + suffix));
    const encodings = new Map(encoded.map(([encoding, suffix]) => [encoding, read(name + suffix)]));
    files.set(name, { contentType, data: read(name), encodings });
  }
  return files;
}

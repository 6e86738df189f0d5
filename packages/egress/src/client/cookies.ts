/** The cookies of one request: the caller's, and those that its sites set. */
import { Cookie, CookieJar } from 'tough-cookie';

export interface RequestCookie {
  name: string;
  value: string;
  /** Only the host of the request's URL when absent. */
  domain?: string | undefined;
  path?: string | undefined;
}

/** What browsers keep for a site; a reply that sets more only wants to be a burden. */
const cookiesMax = 180;
/** Name, value and attributes: browsers refuse a name and value beyond 4096 bytes. */
const cookieBytesMax = 8192;

const unsayable = /[\x00-\x08\x0a-\x1f\x7f]/; // oxlint-disable-line no-control-regex

export class RequestCookies {
  readonly #jar = new CookieJar(undefined, { looseMode: true });
  readonly #names = new Set<string>();
  #taken = 0;

  /** The names that sites have set. */
  get names(): string[] {
    return [...this.#names];
  }

  /** Puts in the caller's cookies. False when one was refused: it is no cookie, or it is for a public suffix. */
  give(cookies: readonly RequestCookie[], url: URL): boolean {
    return cookies.map((each) => this.#give(each, url)).every(Boolean);
  }

  #give({ name, value, domain, path = '/' }: RequestCookie, url: URL): boolean {
    if (unsayable.test(name + value + path) || /[;=]/.test(name) || value.includes(';')) return false;
    const bare = domain?.replace(/^\./, '') ?? '';
    // A header is bytes, and what is beyond ASCII is sent in UTF-8.
    const cookie = new Cookie({
      key: asBytes(name),
      value: asBytes(value),
      path: path.startsWith('/') ? path : '/',
      // What was given for an encrypted page is not sent in the clear by a redirect.
      secure: url.protocol === 'https:',
      ...(bare === '' ? {} : { domain: bare }),
    });
    const home = bare === '' ? url.href : URL.parse(`https://${bare}/`)?.href;
    try {
      return home !== undefined && this.#jar.setCookieSync(cookie, home) !== undefined;
    } catch {
      return false;
    }
  }

  take(lines: readonly string[], url: URL): void {
    for (const line of lines) {
      if (this.#taken >= cookiesMax) return;
      const cookie = line.length > cookieBytesMax || unsayable.test(line) ? undefined : Cookie.parse(line, { loose: true });
      if (!cookie) continue;
      this.#taken += 1;
      this.#names.add(cookie.key);
      this.#jar.setCookieSync(cookie, url.href, { ignoreError: true });
    }
  }

  /** The value of `Cookie` for this address; empty when there is none to send. */
  header(url: URL): string {
    return this.#jar.getCookieStringSync(url.href);
  }
}

const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

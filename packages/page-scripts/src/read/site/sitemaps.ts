/** Reads sitemaps as sites really serve them: compressed or not, in any charset, well-formed or not. Sent as text, see `page-scripts.ts`. */

export interface SitemapEntry {
  url: string;
  lastmod: string | null;
}

export interface SitemapReply {
  /** 0: it could not be requested. */
  status: number;
  /** False: the response is no sitemap, such as a page. */
  isSitemap: boolean;
  /** The document is not well-formed, and what could be found in it is here. */
  isMalformed: boolean;
  /** The document or its entries were cut. */
  isCut: boolean;
  urls: SitemapEntry[];
  sitemaps: string[];
}

export interface SitemapLimits {
  /** Maximum bytes of the document, before and after it is decompressed. */
  bytesMax: number;
  entriesMax: number;
  /** Maximum characters of all addresses together. */
  charsMax: number;
}

/** Requests a URL of the page's own origin and reads it as a sitemap, an index of sitemaps, a feed, or a list of addresses. */
export async function readSitemap(url: string, limits: SitemapLimits): Promise<SitemapReply> {
  const nothing = { status: 0, isSitemap: false, isMalformed: false, isCut: false, urls: [], sitemaps: [] };
  try {
    const reply = await fetch(url, { redirect: 'follow', credentials: 'include', signal: AbortSignal.timeout(12_000) });
    if (!reply.ok || !reply.body) {
      await reply.body?.cancel();
      return { ...nothing, status: reply.status };
    }
    const file = await readAtMost(reply.body, limits.bytesMax);
    const isGzip = file.bytes[0] === 0x1f && file.bytes[1] === 0x8b;
    const read = isGzip ? await decompress(file.bytes, limits.bytesMax) : file;
    const text = decodeText(read.bytes, reply.headers.get('content-type') ?? '');
    return { ...nothing, status: reply.status, ...parseSitemap(text, reply.url, limits, file.isCut || read.isCut) };
  } catch {
    return nothing;
  }
}

/** What arrives before an error, such as of compressed data that end too early, is kept. */
export async function readAtMost(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
      size += part.value.length;
      if (size <= bytesMax) continue;
      isCut = true;
      await reader.cancel();
      break;
    }
  } catch {
    isCut = true;
  }
  const bytes = new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer());
  return { bytes: bytes.subarray(0, bytesMax), isCut };
}

export function decompress(bytes: Uint8Array, bytesMax: number): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const compressed = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  return readAtMost(compressed.pipeThrough(new DecompressionStream('gzip')), bytesMax);
}

/** Decodes by the byte order mark, the zeros of UTF-16, the declaration, the header, or as UTF-8. */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const [first, second] = bytes;
  let label = 'utf-8';
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) label = 'utf-16le';
  else if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) label = 'utf-16be';
  else if (first !== 0xef || second !== 0xbb) {
    const head = new TextDecoder('latin1').decode(bytes.subarray(0, 300));
    const declared = /<\?xml[^>]{0,200}?encoding=["']([\w-]{1,40})/i.exec(head) ?? /charset="?([\w-]{1,40})/i.exec(contentType);
    // A document in UTF-16 has no readable declaration: one that says so is wrong.
    if (declared?.[1] !== undefined && !/^utf-?16/i.test(declared[1])) label = declared[1];
  }
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

export function parseSitemap(
  whole: string,
  base: string,
  { entriesMax, charsMax }: SitemapLimits,
  isCut: boolean,
): Pick<SitemapReply, 'isSitemap' | 'isMalformed' | 'isCut' | 'urls' | 'sitemaps'> {
  const text = whole.replace(/^\ufeff/, '').trim();
  const content = text.startsWith('<') ? readDocument(text) : { ...readList(text), isMalformed: false };
  const seen = new Set<string>();
  let chars = 0;
  const resolve = ({ url, lastmod }: SitemapEntry): SitemapEntry[] => {
    const address = URL.parse(url, base);
    if (!address || !/^https?:$/.test(address.protocol) || address.href.length > 8192 || seen.has(address.href)) return [];
    seen.add(address.href);
    chars += address.href.length + (lastmod?.length ?? 0);
    return chars > charsMax ? [] : [{ url: address.href, lastmod: lastmod?.slice(0, 100) ?? null }];
  };
  const urls = content.urls.slice(0, entriesMax).flatMap(resolve);
  const sitemaps = content.sitemaps.slice(0, entriesMax).flatMap((url) => resolve({ url, lastmod: null }).map((each) => each.url));
  return {
    isSitemap: content.isSitemap,
    isMalformed: content.isMalformed && content.isSitemap,
    isCut: content.isSitemap && (isCut || chars > charsMax || content.urls.length > entriesMax),
    urls,
    sitemaps,
  };
}

/** Each line an address, as the protocol allows. */
export function readList(text: string): { isSitemap: boolean; urls: SitemapEntry[]; sitemaps: string[] } {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim());
  const urls = lines.filter((line) => /^https?:\/\/\S+$/i.test(line)).map((url) => ({ url, lastmod: null }));
  return { isSitemap: urls.length > 0, urls, sitemaps: [] };
}

/** Reads XML, or if malformed, tags as the browser does: a bare `&`, an undeclared prefix or a missing end loses no entry then. */
export function readDocument(text: string): { isSitemap: boolean; isMalformed: boolean; urls: SitemapEntry[]; sitemaps: string[] } {
  const parsed = new DOMParser().parseFromString(text, 'application/xml');
  const isMalformed = parsed.getElementsByTagName('parsererror').length > 0;
  return { ...readEntries(isMalformed ? parseTags(text) : parsed), isMalformed };
}

export function parseTags(text: string): Document {
  const escape = (inner: string): string => inner.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const parts = text.split('<![CDATA[').map((part, index) => {
    const end = index === 0 ? -1 : part.indexOf(']]>');
    return end < 0 ? part : escape(part.slice(0, end)) + part.slice(end + 3);
  });
  const whole = parts.join('');
  // What comes after the last tag is an address that was cut. `link` has no content in HTML. `&copy=3` is no ©.
  const tags = whole
    .slice(0, whole.lastIndexOf('>') + 1)
    .replace(/(<\/?)(?:[a-z][\w.-]{0,50}:)?link(?=[\s>])/gi, '$1x-link')
    .replace(/&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-f]{1,6});)/gi, '&amp;');
  return new DOMParser().parseFromString(tags, 'text/html');
}

export function readEntries(parsed: Document): { isSitemap: boolean; urls: SitemapEntry[]; sitemaps: string[] } {
  const nameOf = ({ localName }: Element): string => localName.slice(localName.indexOf(':') + 1).replace('x-link', 'link');
  const elements = [...parsed.getElementsByTagName('*')];
  const all = (name: string): Element[] => elements.filter((each) => nameOf(each) === name);
  const valueOf = (parent: Element, ...names: string[]): string | null => {
    const child = [...parent.children].find((each) => names.includes(nameOf(each)) && each.textContent?.trim() !== '');
    return child?.textContent?.trim() ?? null;
  };
  const toEntry = (url: string | null | undefined, lastmod: string | null): SitemapEntry[] => (url ? [{ url, lastmod }] : []);
  const root = ['sitemapindex', 'urlset', 'rss', 'RDF', 'rdf', 'feed'].find((name) =>
    elements.slice(0, 10).some((each) => nameOf(each) === name),
  );
  const locations = all('url').flatMap((each) => toEntry(valueOf(each, 'loc'), valueOf(each, 'lastmod')));
  const items = all('item').flatMap((each) => toEntry(valueOf(each, 'link'), valueOf(each, 'pubDate', 'pubdate', 'date')));
  const entries = all('entry').flatMap((each) => {
    const links = [...each.children].filter(
      (child) => nameOf(child) === 'link' && (child.getAttribute('rel') ?? 'alternate') === 'alternate',
    );
    return toEntry(links[0]?.getAttribute('href'), valueOf(each, 'updated', 'published'));
  });
  const urls = root === undefined || root === 'sitemapindex' || root === 'urlset' ? locations : root === 'feed' ? entries : items;
  const sitemaps = all('sitemap').flatMap((each) => valueOf(each, 'loc') ?? []);
  return { isSitemap: root !== undefined || urls.length + sitemaps.length > 0, urls, sitemaps };
}

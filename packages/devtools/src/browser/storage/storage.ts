/** Reads and writes cookies and local storage. */
import type { Protocol } from 'devtools-protocol';
import { StoredCookie, type StorageState } from '@berth/contract';
import { ProtocolError, type Connection } from '../cdp/connection.ts';
import { type Page, PageError } from '../page/page.ts';
import type { CookieParam } from '../page/private-model.ts';
import type { Tab } from '../tabs/tab.ts';

/** Local storage is limited to 5 MB an origin. */
export const originBytesMax = 12 * 1024 * 1024;
export const originTimeoutMs = 3000;

export interface StorageDeps {
  connection: Connection;
  /** The session's own tabs. */
  tabs: readonly Tab[];
  page: (tabId: string) => Page;
  /** Pauses the requests of a tab that its settings ask for, and no others. */
  pauseRequests: (tab: Tab) => Promise<void>;
}

export const readLocalStorage = `() => {
  if (!/^https?:$/.test(location.protocol)) return null;
  try {
    return { origin: location.origin, items: Object.keys(localStorage).map((name) => ({ name, value: localStorage.getItem(name) ?? '' })) };
  } catch {
    return null;
  }
}`;

/** Takes the items as JSON, whose escapes keep NUL and unpaired surrogates on the path to the page. */
export const writeLocalStorage = `(json, origin) => {
  if (location.origin !== origin) throw new Error('another origin');
  for (const { name, value } of JSON.parse(json)) localStorage.setItem(name, value);
}`;

/** The browser refused a cookie. */
export class CookieRefusedError extends PageError {
  /** The cookie's position among those of the call. */
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super('not_possible', 'The browser refused a cookie.', { cause });
    this.name = 'CookieRefusedError';
    this.index = index;
  }
}

/** All cookies of a browser context, also those that no script reads. */
export async function readCookies(
  connection: Connection,
  contextId: string | undefined,
  signal: AbortSignal,
): Promise<Protocol.Network.Cookie[]> {
  const context = contextId === undefined ? {} : { browserContextId: contextId };
  return (await connection.send('Storage.getCookies', context, { signal })).cookies;
}

export async function readStorageState(
  { connection, tabs, page }: Omit<StorageDeps, 'pauseRequests'>,
  signal: AbortSignal,
): Promise<StorageState> {
  // First, because a browser that does not answer fails here, instead of in each tab.
  const cookies = await readStoredCookies(connection, tabs[0]?.contextId, signal);
  const origins = new Map<string, { name: string; value: string }[]>();
  for (const tab of tabs)
    for (const { origin, items } of await originsOf(page(tab.id), signal)) if (items.length > 0) origins.set(origin, items);
  return {
    cookies,
    origins: [...origins].map(([origin, localStorage]) => ({ origin, localStorage })),
  };
}

/** The ones that can be set again. */
export async function readStoredCookies(
  connection: Connection,
  contextId: string | undefined,
  signal: AbortSignal,
): Promise<StorageState['cookies']> {
  const cookies = await readCookies(connection, contextId, signal);
  // A cookie of an opaque partition belongs to one document; some that sites set, such as with a tab, no client can set.
  return cookies
    .filter(({ partitionKeyOpaque }) => partitionKeyOpaque !== true)
    .map(toStoredCookie)
    .filter((cookie) => StoredCookie.safeParse(cookie).success);
}

interface OriginItems {
  origin: string;
  items: { name: string; value: string }[];
}

async function originsOf(page: Page, signal: AbortSignal): Promise<OriginItems[]> {
  const results: OriginItems[] = [];
  // A tab that closed or hangs must not prevent reading the others.
  const frames = await page.frames({ signal }).catch((error: unknown) => {
    if (error instanceof PageError) return [];
    throw error;
  });
  for (const frame of frames) {
    try {
      const within = { signal, timeoutMs: page.timeoutScale.ms(originTimeoutMs), maxBytes: originBytesMax, exactText: true };
      const result = await page.call<OriginItems | null>(frame.id, readLocalStorage, [], within);
      if (result) results.push(result);
    } catch (error) {
      // A frame that closed or hangs must not prevent reading the others.
      if (!(error instanceof PageError)) throw error;
    }
  }
  return results;
}

export async function writeStorageState(deps: StorageDeps, state: StorageState, signal: AbortSignal): Promise<void> {
  const { connection, tabs } = deps;
  const [tab] = tabs;
  if (!tab) return;
  await setCookies(connection, tab.contextId, state.cookies.map(toCookieParam), signal);
  const items = new Map(state.origins.map(({ origin, localStorage }) => [origin, localStorage]));
  const origins = [...items.keys()].filter((origin) => items.get(origin)?.length);
  const timeoutMs = connection.timeoutScale.ms(originTimeoutMs);
  await visitOrigins(deps, tab, { origins, signal }, async (origin, page, open) => {
    await open();
    await page.call(page.mainFrame(), writeLocalStorage, [JSON.stringify(items.get(origin)), origin], { signal, timeoutMs });
  });
}

/** Calls `work` for each origin, which opens an empty page of it. Then the tab is empty, and has no history. */
export async function visitOrigins(
  deps: StorageDeps,
  tab: Tab,
  { origins, signal }: { origins: readonly string[]; signal: AbortSignal },
  work: (origin: string, page: Page, open: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  if (origins.length === 0) return;
  const { connection } = deps;
  const page = deps.page(tab.id);
  const timeoutMs = connection.timeoutScale.ms(originTimeoutMs);
  const open = (url: string) => page.navigate({ url, waitUntil: 'commit', timeoutMs }, { signal });
  await withBlankSites(deps, tab, signal, async () => {
    for (const origin of origins) await work(origin, page, () => open(origin));
    await open('about:blank');
  });
  await connection.send('Page.resetNavigationHistory', undefined, { sessionId: tab.sessionId, signal });
}

function toStoredCookie(cookie: Protocol.Network.Cookie): StorageState['cookies'][number] {
  const { name, value, domain, path, expires, httpOnly, secure, sameSite, partitionKey: partition } = cookie;
  return {
    name,
    value,
    domain,
    path,
    expires: expires < 0 ? -1 : expires,
    httpOnly,
    secure,
    ...(sameSite ? { sameSite } : {}),
    ...(partition ? { partitionKey: partition.topLevelSite } : {}),
    ...(partition?.hasCrossSiteAncestor ? { _crHasCrossSiteAncestor: true } : {}),
  };
}

/** A page may ask whether it is to be left. */
const leave = () => ({ accept: true });

/** Serves an empty page for every site while `work` runs, so that storage can be written without requests to the sites. */
async function withBlankSites(
  { connection, pauseRequests }: StorageDeps,
  tab: Tab,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const { sessionId } = tab;
  const undo = connection.on('Fetch.requestPaused', ({ requestId, responseStatusCode }, from) => {
    if (from !== sessionId || responseStatusCode !== undefined) return;
    const blank = { requestId, responseCode: 200, responseHeaders: [{ name: 'content-type', value: 'text/html' }], body: '' };
    void connection.send('Fetch.fulfillRequest', blank, { sessionId }).catch(() => {});
  });
  tab.showsBlankSites = true;
  tab.onDialog = leave;
  try {
    await connection.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] }, { sessionId, signal });
    await work();
  } finally {
    undo();
    tab.showsBlankSites = false;
    tab.onDialog = null;
    await pauseRequests(tab);
  }
}

/** @throws CookieRefusedError, ProtocolError, CommandTimeoutError, BrowserClosedError, or the signal's reason */
export async function setCookies(
  connection: Connection,
  contextId: string | undefined,
  cookies: readonly CookieParam[],
  signal: AbortSignal,
): Promise<void> {
  const set = async (some: readonly CookieParam[]): Promise<ProtocolError | null> => {
    if (some.length === 0) return null;
    // JSON omits undefined.
    const params = some as Protocol.Network.CookieParam[];
    const context = contextId === undefined ? {} : { browserContextId: contextId };
    try {
      await connection.send('Storage.setCookies', { cookies: params, ...context }, { signal });
      return null;
    } catch (error) {
      if (error instanceof ProtocolError) return error;
      throw error;
    }
  };
  const failure = await set(cookies);
  if (!failure) return;
  if (failure.code !== invalidParamsCode) throw failure;
  throw new CookieRefusedError(await findRefused(cookies, set), failure);
}

/** The protocol's error code for parameters that a command does not accept. */
const invalidParamsCode = -32602;

/** The position of the first cookie that is refused, by halves: the browser does not name it. */
async function findRefused(
  cookies: readonly CookieParam[],
  set: (some: readonly CookieParam[]) => Promise<ProtocolError | null>,
): Promise<number> {
  let [accepted, refused] = [0, cookies.length];
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2);
    if (await set(cookies.slice(accepted, middle))) refused = middle;
    else accepted = middle;
  }
  return accepted;
}

export function toCookieParam(stored: StorageState['cookies'][number]): CookieParam {
  const { expires, partitionKey: topLevelSite, _crHasCrossSiteAncestor: hasCrossSiteAncestor = false, ...cookie } = stored;
  const partition = topLevelSite === undefined ? {} : { partitionKey: { topLevelSite, hasCrossSiteAncestor } };
  return { ...cookie, ...partition, ...(expires < 0 ? {} : { expires }) };
}

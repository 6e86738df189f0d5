/** Reads and writes cookies and local storage. */
import type { Protocol } from 'devtools-protocol';
import type { StorageState } from '@berth/contract';
import type { Connection } from '../cdp/connection.ts';
import type { Page } from '../page/model.ts';
import { PageError } from '../page/model.ts';
import type { CookieParam } from '../page/private-model.ts';
import type { Tab } from '../tabs/tab.ts';

/** Local storage is limited to 5 MB an origin. */
const originBytesMax = 12 * 1024 * 1024;
const originTimeoutMs = 3000;

export interface StorageDeps {
  connection: Connection;
  /** The session's own tabs. */
  tabs: readonly Tab[];
  page: (tabId: string) => Page;
}

const readLocalStorage = `() => {
  if (!/^https?:$/.test(location.protocol)) return null;
  try {
    return { origin: location.origin, items: Object.keys(localStorage).map((name) => ({ name, value: localStorage.getItem(name) ?? '' })) };
  } catch {
    return null;
  }
}`;

const writeLocalStorage = `(items) => {
  for (const { name, value } of items) localStorage.setItem(name, value);
}`;

export async function readStorageState({ connection, tabs, page }: StorageDeps, signal: AbortSignal): Promise<StorageState> {
  const contextId = tabs[0]?.contextId;
  const { cookies } = await connection.send('Storage.getCookies', contextId === undefined ? {} : { browserContextId: contextId }, {
    signal,
  });
  const origins = new Map<string, { name: string; value: string }[]>();
  for (const tab of tabs)
    for (const { origin, items } of await originsOf(page(tab.id), signal)) if (items.length > 0) origins.set(origin, items);
  return {
    cookies: cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite, partitionKey }) => ({
      name,
      value,
      domain,
      path,
      expires: expires < 0 ? -1 : expires,
      httpOnly,
      secure,
      ...(sameSite ? { sameSite } : {}),
      ...(partitionKey ? { partitionKey: partitionKey.topLevelSite } : {}),
    })),
    origins: [...origins].map(([origin, localStorage]) => ({ origin, localStorage })),
  };
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
      const within = { signal, timeoutMs: page.timeoutScale.ms(originTimeoutMs), maxBytes: originBytesMax };
      const result = await page.call<OriginItems | null>(frame.id, readLocalStorage, [], within);
      if (result) results.push(result);
    } catch (error) {
      // The same for a frame.
      if (!(error instanceof PageError)) throw error;
    }
  }
  return results;
}

export async function writeStorageState({ connection, tabs, page }: StorageDeps, state: StorageState, signal: AbortSignal): Promise<void> {
  const [tab] = tabs;
  if (!tab) return;
  await setCookies(connection, tab.contextId, state.cookies.map(toCookieParam), signal);
  const origins = state.origins.filter(({ localStorage }) => localStorage.length > 0);
  if (origins.length === 0) return;
  const timeoutMs = connection.timeoutScale.ms(originTimeoutMs);
  await withBlankSites(connection, tab, signal, async () => {
    for (const { origin, localStorage } of origins) {
      await page(tab.id).navigate({ url: origin, waitUntil: 'commit', timeoutMs }, { signal });
      await page(tab.id).call(page(tab.id).mainFrame(), writeLocalStorage, [localStorage], { signal, timeoutMs });
    }
    await page(tab.id).navigate({ url: 'about:blank', waitUntil: 'commit', timeoutMs }, { signal });
  });
  await connection.send('Page.resetNavigationHistory', undefined, { sessionId: tab.sessionId, signal });
}

/** Serves an empty page for every site while `work` runs, so that storage can be written without requests to the sites. */
async function withBlankSites(connection: Connection, tab: Tab, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const { sessionId } = tab;
  const undo = connection.on('Fetch.requestPaused', ({ requestId, responseStatusCode }, from) => {
    if (from !== sessionId || responseStatusCode !== undefined) return;
    const blank = { requestId, responseCode: 200, responseHeaders: [{ name: 'content-type', value: 'text/html' }], body: '' };
    void connection.send('Fetch.fulfillRequest', blank, { sessionId }).catch(() => {});
  });
  tab.showsBlankSites = true;
  try {
    await connection.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] }, { sessionId, signal });
    await work();
  } finally {
    undo();
    tab.showsBlankSites = false;
    await connection.send('Fetch.disable', undefined, { sessionId }).catch(() => {});
  }
}

export async function setCookies(
  connection: Connection,
  contextId: string | undefined,
  cookies: readonly CookieParam[],
  signal: AbortSignal,
): Promise<void> {
  if (cookies.length === 0) return;
  // JSON omits undefined.
  const params = cookies as Protocol.Network.CookieParam[];
  await connection.send(
    'Storage.setCookies',
    contextId === undefined ? { cookies: params } : { cookies: params, browserContextId: contextId },
    { signal },
  );
}

function toCookieParam({ expires, partitionKey, ...cookie }: StorageState['cookies'][number]): CookieParam {
  const partition = partitionKey === undefined ? {} : { partitionKey: { topLevelSite: partitionKey, hasCrossSiteAncestor: false } };
  return { ...cookie, ...partition, ...(expires < 0 ? {} : { expires }) };
}

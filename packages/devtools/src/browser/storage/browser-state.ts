/** The state that a browser keeps of visited sites: cookies, and the local storage and databases of origins. */
import * as databaseScripts from '@berth/page-scripts/read/databases.ts';
import type { ReadDatabases } from '@berth/page-scripts/read/databases.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { CommandTimeoutError } from '../cdp/connection.ts';
import { NavigationError } from '../interface.ts';
import { PageError, type Page } from '../page/page.ts';
import type { Tab } from '../tabs/tab.ts';
import type { BrowserState, OriginState, ReadBrowserState } from './origin-state.ts';
import {
  CookieRefusedError,
  originBytesMax,
  originTimeoutMs,
  readStoredCookies,
  readLocalStorage,
  toCookieParam,
  setCookies,
  visitOrigins,
  writeLocalStorage,
  type StorageDeps,
} from './storage.ts';

/** Maximum characters of an origin's databases as JSON. Larger ones are caches rather than data that a user would miss. */
const databaseCharsMax = 2 * 1024 * 1024;

const { readDatabases, writeDatabases } = scriptsOf(databaseScripts);

/**
 * Reads cookies and these origins. `tab` shows an empty page of each; nothing is requested from the sites.
 * @throws ProtocolError, CommandTimeoutError, BrowserClosedError, or the signal's reason
 */
export async function readBrowserState(
  deps: StorageDeps,
  tab: Tab | undefined,
  { origins, timeoutMs, signal }: { origins: readonly string[]; timeoutMs: number; signal: AbortSignal },
): Promise<ReadBrowserState> {
  const deadline = new Deadline({ signal, timeoutMs });
  const state: ReadBrowserState = {
    cookies: await readStoredCookies(deps.connection, tab?.contextId, signal),
    origins: [],
    unread: [],
    omitted: { databases: 0, records: 0 },
  };
  if (!tab) return { ...state, unread: [...origins] };
  // The pages of a service worker would run, and may be anything.
  await deps.connection.send('Network.setBypassServiceWorker', { bypass: true }, { sessionId: tab.sessionId, signal });
  await visitOrigins(deps, tab, { origins, signal }, async (origin, page, open) => {
    if (deadline.isOver) return void state.unread.push(origin);
    try {
      await open();
      const [read, omitted] = await readOrigin(page, origin, signal);
      state.origins.push(read);
      state.omitted.databases += read.databases.length === 0 ? omitted.databases : 0;
      state.omitted.records += omitted.records;
    } catch (error) {
      if (!isOfPage(error)) throw error;
      state.unread.push(origin);
    }
  });
  return state;
}

async function readOrigin(
  page: Page,
  origin: string,
  signal: AbortSignal,
): Promise<[state: OriginState, omitted: ReadBrowserState['omitted']]> {
  const within = { signal, timeoutMs: page.timeoutScale.ms(originTimeoutMs), maxBytes: originBytesMax, exactText: true };
  const shown = await page.call<{ origin: string; items: OriginState['localStorage'] } | null>(
    page.mainFrame(),
    readLocalStorage,
    [],
    within,
  );
  if (shown?.origin !== origin) throw new PageError('not_possible', 'The browser shows another origin.');
  const read = await page.call<ReadDatabases | undefined>(page.mainFrame(), readDatabases, [databaseCharsMax], within);
  const { databases = [], omitted = 0 } = read ?? {};
  const state = { origin, localStorage: shown.items, databases: databases ?? [] };
  return [state, { databases: databases === null ? 1 : 0, records: omitted }];
}

/**
 * Writes cookies and origins into a browser that has none. What this browser refuses is left out.
 * @returns the origins that could not be written
 * @throws ProtocolError, CommandTimeoutError, BrowserClosedError, or the signal's reason
 */
export async function writeBrowserState(
  deps: StorageDeps,
  tab: Tab,
  { state, signal }: { state: BrowserState; signal: AbortSignal },
): Promise<string[]> {
  const refused: string[] = [];
  await setAcceptedCookies(deps, tab, { cookies: state.cookies, signal });
  const byOrigin = new Map(state.origins.map((each) => [each.origin, each]));
  await visitOrigins(deps, tab, { origins: [...byOrigin.keys()], signal }, async (origin, page, open) => {
    const stored = byOrigin.get(origin);
    if (!stored) return;
    try {
      await open();
      const within = { signal, timeoutMs: page.timeoutScale.ms(originTimeoutMs) };
      await page.call(page.mainFrame(), writeLocalStorage, [JSON.stringify(stored.localStorage), origin], within);
      if (stored.databases.length > 0) await page.call(page.mainFrame(), writeDatabases, [JSON.stringify(stored.databases)], within);
    } catch (error) {
      if (!isOfPage(error)) throw error;
      refused.push(origin);
    }
  });
  return refused;
}

/** A cookie that a browser of another version has stored may be refused by this one. */
async function setAcceptedCookies(
  { connection }: StorageDeps,
  { contextId }: Tab,
  { cookies, signal }: { cookies: BrowserState['cookies']; signal: AbortSignal },
): Promise<void> {
  let rest = cookies.map(toCookieParam);
  for (;;) {
    try {
      return await setCookies(connection, contextId, rest, signal);
    } catch (error) {
      if (!(error instanceof CookieRefusedError)) throw error;
      const { index } = error;
      await setCookies(connection, contextId, rest.slice(0, index), signal);
      rest = rest.slice(index + 1);
    }
  }
}

/** One origin cannot be read or written; the others can. */
const isOfPage = (error: unknown): boolean =>
  error instanceof PageError || error instanceof NavigationError || error instanceof CommandTimeoutError;

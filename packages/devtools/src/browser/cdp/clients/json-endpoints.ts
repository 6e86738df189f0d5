/** Replies of Chromium's `/json` endpoints from our own state: customers' clients read them before they connect. */
import type { BrowserVersion, TabInfo } from '../../interface.ts';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isHiddenAddress } from './client-rules.ts';

export interface VersionDocument {
  Browser: string;
  'Protocol-Version': string;
  'User-Agent': string;
  'V8-Version': string;
  'WebKit-Version': string;
  webSocketDebuggerUrl: string;
}

/** The reply to `/json/version`. `webSocketDebuggerUrl` is the session's, as the caller can reach it. */
export function versionDocument(version: BrowserVersion, webSocketDebuggerUrl: string): VersionDocument {
  return {
    Browser: version.product,
    'Protocol-Version': version.protocolVersion,
    'User-Agent': version.userAgent,
    'V8-Version': version.jsVersion,
    'WebKit-Version': engineVersion(version),
    webSocketDebuggerUrl,
  };
}

/** The version as Chromium writes it, `537.36 (@commit)`: ChromeDriver refuses a browser without the commit. */
function engineVersion({ userAgent, revision }: BrowserVersion): string {
  const version = /AppleWebKit\/([\d.]+)/.exec(userAgent)?.[1] ?? '';
  return version && revision ? `${version} (${revision})` : version;
}

export interface TargetDocument {
  id: string;
  type: 'page';
  title: string;
  url: string;
  description: string;
  webSocketDebuggerUrl: string;
}

/** The reply to `/json/list`, oldest tab first. Every entry has the session's one URL: clients attach to pages over it. */
export function listDocument(tabs: readonly TabInfo[], webSocketDebuggerUrl: string): TargetDocument[] {
  // A person may have a new tab of the window open, which clients cannot attach to.
  const visible = tabs.filter(({ url }) => !isHiddenAddress(url));
  return visible.map(({ tabId, title, url }) => ({
    id: tabId,
    type: 'page',
    title: title || url,
    url,
    description: '',
    webSocketDebuggerUrl,
  }));
}

export interface ProtocolDocument {
  version: { major: string; minor: string };
  domains: unknown[];
}

/**
 * The protocol description for `/json/protocol`. A browser does not provide it
 * over the pipe, so it is read from the package that our types come from.
 */
export async function protocolDocument(): Promise<ProtocolDocument> {
  const [browser, script] = await Promise.all(['browser_protocol', 'js_protocol'].map(read));
  if (!browser || !script) throw new Error('a file of the devtools-protocol package is missing');
  return { version: browser.version, domains: [...browser.domains, ...script.domains] };
}

async function read(name: string): Promise<ProtocolDocument> {
  const path = fileURLToPath(import.meta.resolve(`devtools-protocol/json/${name}.json`));
  return JSON.parse(await readFile(path, 'utf8')) as ProtocolDocument;
}

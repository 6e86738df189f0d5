/**
 * What a customer's DevTools client may ask of the browser.
 *
 * The machine is the wall; these rules keep a client from the parts of the
 * browser that are the machine's and not the session's: its files, its
 * internal pages, its way out, its command line. Pure: a table and a judge.
 */
import { posix } from 'node:path';

export type ClientParams = Readonly<Record<string, unknown>>;

export interface RuleFacts {
  /** The one folder of the machine that a client may name. */
  downloadsPath: string;
  acceptDownloads: boolean;
  /** How many more tabs may be opened. */
  tabsFree: number;
}

export type Verdict =
  | { kind: 'forward' }
  | { kind: 'rewrite'; params: Record<string, unknown> }
  | { kind: 'refuse'; message: string }
  /** Answered here and never told to the browser. */
  | { kind: 'close' };

type Rule = (params: ClientParams, facts: RuleFacts) => Verdict;

const forward: Verdict = { kind: 'forward' };
const refuse = (message: string): Verdict => ({ kind: 'refuse', message });

const never =
  (message: string): Rule =>
  () =>
    refuse(message);
const hostFacts = never('Facts about the machine are not available in this session');
const whole = never('This command belongs to the machine and is not available in this session');
const unfiltered = never('Only flat DevTools sessions are available: attach with flatten: true');

const needsFlat: Rule = (params) => (params['flatten'] === true ? forward : unfiltered(params, {} as RuleFacts));

/** Schemes that show what belongs to sites. `about:` has pages of the browser's own, so only two of its names are here. */
const browsable = new Set(['http:', 'https:', 'data:', 'blob:', 'javascript:']);

function isBrowsable(address: string): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  return browsable.has(url.protocol) || /^about:(blank|srcdoc)$/i.test(url.href.replace(/[?#].*$/s, ''));
}

const navigates: Rule = ({ url }) => {
  if (typeof url !== 'string') return forward; // The browser itself says what is wrong with it.
  return isBrowsable(url)
    ? forward
    : refuse('Cannot navigate to this URL: only http, https, data, blob and about:blank are available in this session');
};

const createsTarget: Rule = (params, facts) => {
  if (facts.tabsFree <= 0) return refuse('The tab limit of this session is reached');
  if (params['url'] === undefined || params['url'] === '') return forward;
  return navigates(params, facts);
};

const createsContext: Rule = (params) => {
  // Such a proxy would go around the machine's only way out, and universal access around the same-origin policy.
  if (params['proxyServer'] || params['proxyBypassList'])
    return refuse('A browser context cannot have a proxy of its own: set the proxy of the session');
  return params['originsWithUniversalNetworkAccess'] ? refuse('Universal network access is not available in this session') : forward;
};

/**
 * Where downloads go is the machine's business, and a path of the client's own
 * disk means nothing there. Playwright always names one when it connects and
 * fails on an error, so the command is not refused but told the machine's folder.
 */
const placesDownloads: Rule = ({ browserContextId, eventsEnabled }, { downloadsPath, acceptDownloads }) => ({
  kind: 'rewrite',
  params: {
    ...(acceptDownloads ? { behavior: 'allowAndName', downloadPath: downloadsPath } : { behavior: 'deny' }),
    ...(browserContextId === undefined ? {} : { browserContextId }),
    ...(eventsEnabled === undefined ? {} : { eventsEnabled }),
  },
});

/** The page-wide form knows no names by id: files keep the server's names in the same folder. */
const placesPageDownloads: Rule = (_, { downloadsPath, acceptDownloads }) => ({
  kind: 'rewrite',
  params: acceptDownloads ? { behavior: 'allow', downloadPath: downloadsPath } : { behavior: 'deny' },
});

function inFolder(path: unknown, folder: string): boolean {
  if (typeof path !== 'string' || path.includes('\0')) return false;
  return path.startsWith(`${folder}/`) && posix.normalize(path) === path;
}

const onlyOwnFiles = (files: unknown, { downloadsPath }: RuleFacts): Verdict =>
  files === undefined || (Array.isArray(files) && files.every((path) => inFolder(path, downloadsPath)))
    ? forward
    : refuse("Only files of the session's own folder can be given to a page");

const dropsFiles: Rule = ({ data }, facts) =>
  onlyOwnFiles(typeof data === 'object' && data !== null ? (data as ClientParams)['files'] : undefined, facts);

const rules = new Map<string, Rule>(
  Object.entries({
    'Browser.close': () => ({ kind: 'close' }),
    'Browser.crash': whole,
    'Browser.crashGpuProcess': whole,
    'Browser.executeBrowserCommand': whole,
    'Browser.getBrowserCommandLine': hostFacts,
    'Browser.setDownloadBehavior': placesDownloads,
    'Page.setDownloadBehavior': placesPageDownloads,
    'Page.navigate': navigates,
    'Network.loadNetworkResource': navigates,
    'Fetch.continueRequest': navigates,
    'Network.continueInterceptedRequest': navigates,
    'Target.createTarget': createsTarget,
    'Target.createBrowserContext': createsContext,
    'Target.attachToTarget': needsFlat,
    'Target.setAutoAttach': (params) => (params['autoAttach'] === false ? forward : needsFlat(params, {} as RuleFacts)),
    'Target.sendMessageToTarget': unfiltered,
    'Target.exposeDevToolsProtocol': whole,
    'Target.setRemoteLocations': whole,
    'Target.openDevTools': whole,
    'DOM.setFileInputFiles': ({ files }, facts) => onlyOwnFiles(files, facts),
    'Input.dispatchDragEvent': dropsFiles,
    'Tracing.start': ({ tracingBackend }) =>
      tracingBackend === 'system' ? refuse('Only traces of the browser are available in this session') : forward,
  } satisfies Record<string, Rule>),
);

/** Domains that reach the machine, its devices or its other programs, whatever the command. */
const closedDomains = new Map<string, Rule>([
  ['SystemInfo', hostFacts],
  ['Tethering', whole],
  ['Extensions', whole],
  ['PWA', whole],
  ['Cast', whole],
]);

/** Parameters by which any other command could name an address. */
const addressNames = ['url', 'initialUrl', 'targetUrl'];
const forbiddenSchemes = /^(file|filesystem|chrome|chrome-[a-z]+|devtools|view-source|about|isolated-app):$/;

/** Judges one command. Forwarded unless a rule says otherwise. */
export function judge(method: string, params: ClientParams, facts: RuleFacts): Verdict {
  const rule = rules.get(method) ?? closedDomains.get(method.slice(0, method.indexOf('.')));
  if (rule) return rule(params, facts);
  for (const name of addressNames) {
    const value = params[name];
    if (typeof value !== 'string') continue;
    const protocol = URL.parse(value)?.protocol;
    if (protocol !== undefined && forbiddenSchemes.test(protocol) && !isBrowsable(value))
      return refuse('This address is not available in this session');
  }
  return forward;
}

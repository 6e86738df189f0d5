/**
 * Which DevTools commands a customer's client may send.
 *
 * The machine is the security boundary; these rules keep a client from the
 * parts of the browser that belong to the machine and not to the session: its
 * files, internal pages, egress and command line. Pure: a table and a lookup.
 */
import { posix } from 'node:path';

type ClientParams = Readonly<Record<string, unknown>>;

export interface RuleContext {
  /** The only folder of the machine that a client may name. */
  downloadsPath: string;
  acceptDownloads: boolean;
  /** How many more tabs may be opened. */
  tabsFree: number;
}

type RuleDecision =
  | { kind: 'forward' }
  | { kind: 'rewrite'; params: Record<string, unknown> }
  | { kind: 'refuse'; message: string }
  /** Answered here and never sent to the browser. */
  | { kind: 'close' };

type Rule = (params: ClientParams, context: RuleContext) => RuleDecision;

const forward: RuleDecision = { kind: 'forward' };
const refuse = (message: string): RuleDecision => ({ kind: 'refuse', message });

const alwaysRefuse =
  (message: string): Rule =>
  () =>
    refuse(message);
const refuseHostInfo = alwaysRefuse('Information about the machine is not available in this session');
const refuseMachineCommand = alwaysRefuse('This command belongs to the machine and is not available in this session');
const refuseNonFlat = alwaysRefuse('Only flat DevTools sessions are available: attach with flatten: true');

const requireFlat: Rule = (params) => (params['flatten'] === true ? forward : refuseNonFlat(params, {} as RuleContext));

/** Schemes of site content. `about:` also has internal pages, so only two of its names are allowed. */
const browsable = new Set(['http:', 'https:', 'data:', 'blob:', 'javascript:']);

function isBrowsable(address: string): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  return browsable.has(url.protocol) || /^about:(blank|srcdoc)$/i.test(url.href.replace(/[?#].*$/s, ''));
}

const checkNavigation: Rule = ({ url }) => {
  if (typeof url !== 'string') return forward; // The browser reports what is wrong with it.
  return isBrowsable(url)
    ? forward
    : refuse('Cannot navigate to this URL: only http, https, data, blob and about:blank are available in this session');
};

const checkNewTarget: Rule = (params, context) => {
  if (context.tabsFree <= 0) return refuse('The tab limit of this session is reached');
  if (params['url'] === undefined || params['url'] === '') return forward;
  return checkNavigation(params, context);
};

const checkNewContext: Rule = (params) => {
  // Such a proxy would bypass the machine's egress, and universal access the same-origin policy.
  if (params['proxyServer'] || params['proxyBypassList'])
    return refuse('A browser context cannot have a proxy of its own: set the proxy of the session');
  return params['originsWithUniversalNetworkAccess'] ? refuse('Universal network access is not available in this session') : forward;
};

/**
 * The machine decides where downloads go; a path of the client's own disk means
 * nothing there. Playwright always sends one when it connects and fails on an
 * error, so the command is rewritten to the machine's folder and not refused.
 */
const rewriteDownloads: Rule = ({ browserContextId, eventsEnabled }, { downloadsPath, acceptDownloads }) => ({
  kind: 'rewrite',
  params: {
    ...(acceptDownloads ? { behavior: 'allowAndName', downloadPath: downloadsPath } : { behavior: 'deny' }),
    ...(browserContextId === undefined ? {} : { browserContextId }),
    ...(eventsEnabled === undefined ? {} : { eventsEnabled }),
  },
});

/** The page-wide form cannot name files by id: they keep the server's names in the same folder. */
const rewritePageDownloads: Rule = (_, { downloadsPath, acceptDownloads }) => ({
  kind: 'rewrite',
  params: acceptDownloads ? { behavior: 'allow', downloadPath: downloadsPath } : { behavior: 'deny' },
});

function isInFolder(path: unknown, folder: string): boolean {
  if (typeof path !== 'string' || path.includes('\0')) return false;
  return path.startsWith(`${folder}/`) && posix.normalize(path) === path;
}

const checkFiles = (files: unknown, { downloadsPath }: RuleContext): RuleDecision =>
  files === undefined || (Array.isArray(files) && files.every((path) => isInFolder(path, downloadsPath)))
    ? forward
    : refuse("Only files of the session's own folder can be given to a page");

const checkDroppedFiles: Rule = ({ data }, context) =>
  checkFiles(typeof data === 'object' && data !== null ? (data as ClientParams)['files'] : undefined, context);

const rules = new Map<string, Rule>(
  Object.entries({
    'Browser.close': () => ({ kind: 'close' }),
    'Browser.crash': refuseMachineCommand,
    'Browser.crashGpuProcess': refuseMachineCommand,
    'Browser.executeBrowserCommand': refuseMachineCommand,
    'Browser.getBrowserCommandLine': refuseHostInfo,
    'Browser.setDownloadBehavior': rewriteDownloads,
    'Page.setDownloadBehavior': rewritePageDownloads,
    'Page.navigate': checkNavigation,
    'Network.loadNetworkResource': checkNavigation,
    'Fetch.continueRequest': checkNavigation,
    'Network.continueInterceptedRequest': checkNavigation,
    'Target.createTarget': checkNewTarget,
    'Target.createBrowserContext': checkNewContext,
    'Target.attachToTarget': requireFlat,
    'Target.setAutoAttach': (params) => (params['autoAttach'] === false ? forward : requireFlat(params, {} as RuleContext)),
    'Target.sendMessageToTarget': refuseNonFlat,
    'Target.exposeDevToolsProtocol': refuseMachineCommand,
    'Target.setRemoteLocations': refuseMachineCommand,
    'Target.openDevTools': refuseMachineCommand,
    'DOM.setFileInputFiles': ({ files }, context) => checkFiles(files, context),
    'Input.dispatchDragEvent': checkDroppedFiles,
    'Tracing.start': ({ tracingBackend }) =>
      tracingBackend === 'system' ? refuse('Only traces of the browser are available in this session') : forward,
  } satisfies Record<string, Rule>),
);

/** Domains that reach the machine, its devices or its other programs, whatever the command. */
const closedDomains = new Map<string, Rule>([
  ['SystemInfo', refuseHostInfo],
  ['Tethering', refuseMachineCommand],
  ['Extensions', refuseMachineCommand],
  ['PWA', refuseMachineCommand],
  ['Cast', refuseMachineCommand],
]);

/** Parameters in which any other command could pass an address. */
const addressNames = ['url', 'initialUrl', 'targetUrl'];
const forbiddenSchemes = /^(file|filesystem|chrome|chrome-[a-z]+|devtools|view-source|about|isolated-app):$/;

/** Decides about one command. Forwarded unless a rule says otherwise. */
export function applyRules(method: string, params: ClientParams, context: RuleContext): RuleDecision {
  const rule = rules.get(method) ?? closedDomains.get(method.slice(0, method.indexOf('.')));
  if (rule) return rule(params, context);
  for (const name of addressNames) {
    const value = params[name];
    if (typeof value !== 'string') continue;
    const protocol = URL.parse(value)?.protocol;
    if (protocol !== undefined && forbiddenSchemes.test(protocol) && !isBrowsable(value))
      return refuse('This address is not available in this session');
  }
  return forward;
}

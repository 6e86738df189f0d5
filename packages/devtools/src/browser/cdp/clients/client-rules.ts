/**
 * Which DevTools commands a customer's client may send.
 *
 * The machine is the security boundary; these rules keep a client from the
 * parts of the browser that belong to the machine and not to the session: its
 * files, internal pages, egress and command line. Pure: a table and a lookup.
 */
import { posix } from 'node:path';
import { allowedCommands, refusedCommands } from './client-commands.ts';

type ClientParams = Readonly<Record<string, unknown>>;

export interface RuleContext {
  /** The only folder of the machine that a client may name. */
  downloadsPath: string;
  /** The path in the machine of an uploaded file, by its id or its name; null: there is none. */
  uploadPath(name: string): string | null;
  acceptDownloads: boolean;
  /** How many more tabs may be opened. */
  tabsFree: number;
  /** How many more browser contexts may be created. */
  contextsFree: number;
  /** The page that the command is for; null: a frame, a worker or the browser. */
  pageId: string | null;
}

type RuleDecision =
  | { kind: 'forward' }
  | { kind: 'rewrite'; params: Record<string, unknown> }
  /** `code` is that of JSON-RPC; default -32000, as the browser's own refusals. */
  | { kind: 'refuse'; message: string; code?: number }
  /** Answered here and never sent to the browser. */
  | { kind: 'close' }
  /** Crashes the page in place of a navigation. */
  | { kind: 'crash' };

type Rule = (params: ClientParams, context: RuleContext) => RuleDecision;

const forward: RuleDecision = { kind: 'forward' };
const refuse = (message: string): RuleDecision => ({ kind: 'refuse', message });

const requireFlat: Rule = ({ flatten }) =>
  flatten === true ? forward : refuse('Only flat DevTools sessions are available: attach with flatten: true');

/** Schemes of site content. `about:` also has internal pages, so only two of its names are allowed. */
const browsable = new Set(['http:', 'https:', 'data:', 'blob:', 'javascript:']);

function isBrowsable(url: URL): boolean {
  return browsable.has(url.protocol) || /^about:(blank|srcdoc)$/i.test(url.href.replace(/[?#].*$/s, ''));
}

const checkNavigation: Rule = ({ url }) => {
  if (typeof url !== 'string') return forward; // The browser reports what is wrong with it.
  const address = URL.parse(url);
  // The browser's own words. It does not get the text, which its parser could read as something else.
  if (!address) return refuse('Cannot navigate to invalid URL');
  return isBrowsable(address)
    ? forward
    : refuse('Cannot navigate to this URL: only http, https, data, blob and about:blank are available in this session');
};

/** Tests crash their pages by an address of the browser's own. It shows nothing, and they could send `Page.crash`. */
const checkPageNavigation: Rule = (params, context) => {
  const { url, frameId = context.pageId } = params;
  const isCrash = url === 'chrome://crash' && context.pageId !== null && frameId === context.pageId;
  return isCrash ? { kind: 'crash' } : checkNavigation(params, context);
};

const checkNewTarget: Rule = (params, context) => {
  if (context.tabsFree <= 0) return refuse('The tab limit of this session is reached');
  if (params['url'] === undefined || params['url'] === '') return forward;
  return checkNavigation(params, context);
};

const checkNewContext: Rule = (params, { contextsFree }) => {
  if (contextsFree <= 0) return refuse('The limit of browser contexts of this session is reached: dispose one first');
  // Such a proxy would bypass the machine's egress, and universal access the same-origin policy.
  // An empty one bypasses it, too.
  if (params['proxyServer'] !== undefined || params['proxyBypassList'] !== undefined)
    return refuse(
      'A browser context cannot have a proxy of its own here. Set `proxy` when you create the session and leave it out of the context ' +
        '(in Crawlee, set options.proxy = undefined in a hook of prePageCreateHooks)',
    );
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

/** Characters of a file's name in an error. */
const shownNameMax = 100;

/** The path in the machine of a file that a client names. Clients put the folder that they run in before a plain name. */
function toMachinePath(path: unknown, { downloadsPath, uploadPath }: RuleContext): string | null {
  if (typeof path !== 'string' || path.includes('\0')) return null;
  return isInFolder(path, downloadsPath) ? path : uploadPath(fileNameOf(path));
}

/** The file name at the end of a path, also of a client on Windows. */
const fileNameOf = (path: string): string => path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);

const refuseFile = (path: unknown): RuleDecision =>
  refuse(
    `The browser cannot read ${typeof path === 'string' ? `"${fileNameOf(path).slice(-shownNameMax)}"` : 'a file'} from your computer. ` +
      'Upload the file with POST /v1/session/SESSION_ID/uploads and name it here by its file_id or its name, ' +
      "or send its content, as Playwright's setInputFiles does",
  );

/** Gives the browser the paths of uploaded files for their ids and names. */
const rewriteFiles: Rule = (params, context) => {
  const { files } = params;
  if (files === undefined) return forward;
  if (!Array.isArray(files)) return refuse('files should be an array');
  const paths: string[] = [];
  for (const file of files as unknown[]) {
    const path = toMachinePath(file, context);
    if (path === null) return refuseFile(file);
    paths.push(path);
  }
  return { kind: 'rewrite', params: { ...params, files: paths } };
};

const rewriteDroppedFiles: Rule = (params, context) => {
  const { data } = params;
  if (typeof data !== 'object' || data === null) return forward;
  const decision = rewriteFiles(data as ClientParams, context);
  return decision.kind === 'rewrite' ? { kind: 'rewrite', params: { ...params, data: decision.params } } : decision;
};

/**
 * A key with a native code is passed to the browser's own window when the page
 * does not take it, and a shortcut even before the page: it opens tabs,
 * settings and DevTools. Without the code the page alone gets the key.
 */
const rewriteKey: Rule = (params) => {
  const rest: Record<string, unknown> = { ...params };
  delete rest['nativeVirtualKeyCode'];
  return { kind: 'rewrite', params: rest };
};

const rules = new Map<string, Rule>(
  Object.entries({
    'Browser.close': () => ({ kind: 'close' }),
    'Browser.setDownloadBehavior': rewriteDownloads,
    'Page.setDownloadBehavior': rewritePageDownloads,
    'Page.navigate': checkPageNavigation,
    'Page.startScreenRecording': ({ captureArea }) =>
      captureArea === undefined || captureArea === 'target' ? forward : refuse('Only the page can be recorded in this session'),
    'Network.loadNetworkResource': checkNavigation,
    'Fetch.continueRequest': checkNavigation,
    'Target.createTarget': checkNewTarget,
    'Target.createBrowserContext': checkNewContext,
    'Target.attachToTarget': requireFlat,
    'Target.setAutoAttach': (params, context) => (params['autoAttach'] === false ? forward : requireFlat(params, context)),
    'DOM.setFileInputFiles': rewriteFiles,
    'Input.dispatchDragEvent': rewriteDroppedFiles,
    'Input.dispatchKeyEvent': rewriteKey,
    'Tracing.start': ({ tracingBackend }) =>
      tracingBackend === 'system' ? refuse('Only traces of the browser are available in this session') : forward,
  } satisfies Record<string, Rule>),
);

/** The commands whose parameters decide. */
export const ruledCommands: ReadonlySet<string> = new Set(rules.keys());

/** Parameters in which any other command could pass an address. */
export const addressNames = ['url', 'initialUrl', 'targetUrl'];
const forbiddenSchemes = /^(file|filesystem|chrome|chrome-[a-z]+|devtools|view-source|about|isolated-app):$/;

/** Decides about one command. One that no table names is refused with the browser's own reply to an unknown one. */
export function applyRules(method: string, params: ClientParams, context: () => RuleContext): RuleDecision {
  const rule = rules.get(method);
  if (rule) return rule(params, context());
  if (refusedCommands.has(method)) return refuse('This command belongs to the machine and is not available in this session');
  if (!allowedCommands.has(method)) return { kind: 'refuse', message: `'${method.slice(0, 100)}' wasn't found`, code: -32601 };
  for (const name of addressNames) {
    const value = params[name];
    if (typeof value !== 'string') continue;
    const url = URL.parse(value);
    if (url && forbiddenSchemes.test(url.protocol) && !isBrowsable(url)) return refuse('This address is not available in this session');
  }
  return forward;
}

/** The browser's own pages, files and extensions. `chrome-error:` is the page of a failed navigation. */
const hiddenSchemes = /^(chrome|chrome-(?!error:)[a-z]+|devtools|file|filesystem|view-source|isolated-app):/i;

/** Whether a target with this URL is hidden from clients. */
export const isHiddenAddress = (url: string): boolean => hiddenSchemes.test(url);

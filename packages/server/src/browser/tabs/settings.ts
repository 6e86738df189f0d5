/** What a session asked for, as DevTools commands. Pure: who sends them, and when, is in `tabs.ts`. */
import type { BrowserSettings, BrowserVersion } from '../model.ts';
import type { Command, Params } from '../cdp/connection.ts';

export type Order = { [C in Command]: readonly [C, Params<C>] }[Command];

/** Typed at the call and widened for a list. */
export const order = <C extends Command>(method: C, params: Params<C>): Order => [method, params] as unknown as Order;

/** Kinds of targets that are never anybody's business are left out: the browser's own user interface, and the wrappers around pages. */
type TargetFilter = { type?: string; exclude?: boolean }[];
export const pagesOnly: TargetFilter = [{ type: 'page' }, { exclude: true }];
export const pagesAndWorkers: TargetFilter = [{ type: 'page' }, { type: 'service_worker' }, { type: 'shared_worker' }, { exclude: true }];
export const deepTargets: TargetFilter = [
  { type: 'iframe' },
  { type: 'worker' },
  { type: 'shared_worker' },
  { type: 'service_worker' },
  { exclude: true },
];

const resourceTypes = { image: 'Image', media: 'Media', font: 'Font', stylesheet: 'Stylesheet' } as const;

/**
 * Chromium's blocked addresses and paused requests both let websockets pass, so
 * a document's constructor is led to a port that no browser opens: the page
 * sees an ordinary socket that fails. Workers keep theirs.
 */
const withoutWebsockets = `(() => {
  const native = globalThis.WebSocket;
  if (!native) return;
  const blocked = new Proxy(native, { construct: (target, args, self) => Reflect.construct(target, ['wss://127.0.0.1:1/'], self) });
  native.prototype.constructor = blocked;
  globalThis.WebSocket = blocked;
})();`;

/** Whether frames in other processes and workers need settings of their own; attaching to each of them has a price. */
export function reachesDeep(settings: BrowserSettings): boolean {
  return (
    settings.userAgent !== null ||
    settings.locale !== null ||
    settings.timezone !== null ||
    settings.blockResources.length > 0 ||
    Object.keys(settings.extraHeaders).length > 0 ||
    settings.ignoreHttpsErrors ||
    settings.keepNetworkLog
  );
}

/** What most sessions ask for. A machine is made so before it has an owner, and such a session then costs no message at all. */
export const usualSettings: BrowserSettings = {
  viewport: { width: 1280, height: 720, device_scale_factor: 1 },
  userAgent: null,
  locale: null,
  timezone: null,
  extraHeaders: {},
  blockResources: [],
  acceptDownloads: true,
  ignoreHttpsErrors: false,
  keepNetworkLog: false,
  tabLimit: Infinity,
};

/** The page, and the screen where there is none; the window is the browser's own and is sized apart. */
export function viewportOrder(
  { width, height, device_scale_factor: deviceScaleFactor }: BrowserSettings['viewport'],
  hasDisplay: boolean,
): Order {
  const page = { width, height, deviceScaleFactor, mobile: false };
  // A window is no higher than its screen.
  const screen = hasDisplay ? {} : { screenWidth: width, screenHeight: height, positionX: 0, positionY: 0 };
  return order('Emulation.setDeviceMetricsOverride', { ...page, ...screen });
}

export function downloadOrder(accept: boolean, downloadsPath: string): Params<'Browser.setDownloadBehavior'> {
  return accept
    ? { behavior: 'allowAndName', downloadPath: downloadsPath, eventsEnabled: true }
    : { behavior: 'deny', eventsEnabled: true };
}

/** For a page, before its first script. */
export function pageOrders(settings: BrowserSettings, version: BrowserVersion): Order[] {
  const orders = frameOrders(settings, version);
  if (settings.ignoreHttpsErrors) orders.push(order('Security.setIgnoreCertificateErrors', { ignore: true }));
  return orders;
}

/** For a frame in a process of its own. */
export function frameOrders(settings: BrowserSettings, version: BrowserVersion): Order[] {
  const orders = workerOrders(settings, version);
  if (settings.locale) orders.push(order('Emulation.setLocaleOverride', { locale: settings.locale }));
  if (settings.timezone) orders.push(order('Emulation.setTimezoneOverride', { timezoneId: settings.timezone }));
  if (settings.blockResources.includes('websocket'))
    orders.push(
      order('Page.enable', {}),
      order('Page.addScriptToEvaluateOnNewDocument', { source: withoutWebsockets, runImmediately: true }),
    );
  return orders;
}

/** The requests that wait for our word: those of blocked kinds as they start, and documents as they are answered. */
export function pausedPatterns(
  settings: BrowserSettings,
  documents: boolean,
): NonNullable<NonNullable<Params<'Fetch.enable'>>['patterns']> {
  const blocked = settings.blockResources.filter((kind) => kind !== 'websocket');
  const patterns: ReturnType<typeof pausedPatterns> = blocked.map((kind) => ({ urlPattern: '*', resourceType: resourceTypes[kind] }));
  if (documents) patterns.push({ urlPattern: '*', resourceType: 'Document', requestStage: 'Response' });
  return patterns;
}

/** For a worker, which has neither a screen nor a locale of its own. */
export function workerOrders(settings: BrowserSettings, version: BrowserVersion): Order[] {
  const orders: Order[] = [];
  const headers = settings.extraHeaders;
  if (Object.keys(headers).length > 0) orders.push(order('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }));
  if (Object.keys(headers).length > 0) orders.push(order('Network.setExtraHTTPHeaders', { headers: { ...headers } }));
  if (settings.userAgent !== null || settings.locale !== null)
    orders.push(order('Emulation.setUserAgentOverride', identityOrder(settings, version)));
  return orders;
}

function identityOrder(settings: BrowserSettings, version: BrowserVersion): Params<'Emulation.setUserAgentOverride'> {
  const userAgent = settings.userAgent ?? version.userAgent;
  const override: Params<'Emulation.setUserAgentOverride'> = { userAgent };
  if (settings.locale) override.acceptLanguage = settings.locale;
  const metadata = settings.userAgent === null ? undefined : clientHints(settings.userAgent);
  if (metadata) override.userAgentMetadata = metadata;
  return override;
}

/** Client hints that agree with a user agent; none where its browser sends none (then Chromium sends none either). */
export function clientHints(userAgent: string): NonNullable<Params<'Emulation.setUserAgentOverride'>['userAgentMetadata']> | undefined {
  const full = /\b(?:Headless)?Chrome\/(\d+(?:\.\d+){0,3})/.exec(userAgent)?.[1];
  if (full === undefined) return undefined;
  const brand = /\bEdg\//.test(userAgent) ? 'Microsoft Edge' : userAgent.includes('HeadlessChrome') ? 'HeadlessChrome' : 'Google Chrome';
  const list = (version: string): { brand: string; version: string }[] => [
    { brand: 'Chromium', version },
    { brand, version },
    { brand: 'Not)A;Brand', version: version.includes('.') ? '8.0.0.0' : '8' },
  ];
  const android = /Android (\d+)/.exec(userAgent);
  const platform = android
    ? 'Android'
    : /Windows/.test(userAgent)
      ? 'Windows'
      : /Mac OS X/.test(userAgent)
        ? 'macOS'
        : /CrOS/.test(userAgent)
          ? 'Chrome OS'
          : 'Linux';
  const platformVersion =
    { Windows: '15.0.0', macOS: '14.0.0', Android: `${android?.[1] ?? '14'}.0.0`, 'Chrome OS': '16000.0.0', Linux: '' }[platform] ?? '';
  const mobile = /\bMobile\b/.test(userAgent);
  return {
    brands: list(full.split('.')[0] ?? full),
    fullVersionList: list(full),
    platform,
    platformVersion,
    architecture: mobile ? '' : 'x86',
    bitness: mobile ? '' : '64',
    model: '',
    mobile,
    wow64: false,
  };
}

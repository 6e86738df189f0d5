/** Browser settings as DevTools commands. Pure: `preparation.ts` sends them. */
import type { BrowserSettings, BrowserVersion } from '../interface.ts';
import type { Command, Params } from '../cdp/connection.ts';

export type CommandCall = { [C in Command]: readonly [C, Params<C>] }[Command];

/** Typed at the call and widened for a list. */
export const commandCall = <C extends Command>(method: C, params: Params<C>): CommandCall => [method, params] as unknown as CommandCall;

/** Excludes the browser's own user interface and the wrapper targets of pages. */
type TargetFilter = { type?: string; exclude?: boolean }[];
export const pagesOnly: TargetFilter = [{ type: 'page' }, { exclude: true }];
export const pagesAndWorkers: TargetFilter = [{ type: 'page' }, { type: 'service_worker' }, { type: 'shared_worker' }, { exclude: true }];
/** All but the wrappers of pages. */
export const allTargets: TargetFilter = [{ type: 'browser', exclude: true }, { type: 'tab', exclude: true }, {}];
export const childTargets: TargetFilter = [
  { type: 'iframe' },
  { type: 'worker' },
  { type: 'shared_worker' },
  { type: 'service_worker' },
  { exclude: true },
];

const resourceTypes = { image: 'Image', media: 'Media', font: 'Font', stylesheet: 'Stylesheet' } as const;

/**
 * Neither blocked URLs nor paused requests affect WebSockets in Chromium, so the
 * constructor is redirected to a port that never accepts: the page sees an
 * ordinary socket that fails. Workers are not affected.
 */
const withoutWebsockets = `(() => {
  const native = globalThis.WebSocket;
  if (!native) return;
  const blocked = new Proxy(native, { construct: (target, args, self) => Reflect.construct(target, ['wss://127.0.0.1:1/'], self) });
  native.prototype.constructor = blocked;
  globalThis.WebSocket = blocked;
})();`;

/** Whether out-of-process frames and workers need settings too; attaching to each of them costs time. */
export function needsChildTargets(settings: BrowserSettings): boolean {
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

/** Applied to a machine before it has an owner; a session with these settings needs no message at all. */
export const defaultSettings: BrowserSettings = {
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

/** Sets the page size, and that of the screen where there is no display: null. The window is sized separately. */
export function viewportCommand(
  { width, height, device_scale_factor: deviceScaleFactor }: BrowserSettings['viewport'],
  screen: { width: number; height: number } | null,
): CommandCall {
  const page = { width, height, deviceScaleFactor, mobile: false };
  if (!screen) return commandCall('Emulation.setDeviceMetricsOverride', page);
  const emulated = { screenWidth: screen.width, screenHeight: screen.height, positionX: 0, positionY: 0 };
  return commandCall('Emulation.setDeviceMetricsOverride', { ...page, ...emulated });
}

/** Gives the page in a window this size. Chromium refuses it while the window is minimised or full screen. */
export const contentsCommand = (windowId: number, { width, height }: { width: number; height: number }): CommandCall =>
  commandCall('Browser.setContentsSize', { windowId, width, height });

export function downloadParams(accept: boolean, downloadsPath: string): Params<'Browser.setDownloadBehavior'> {
  return accept
    ? { behavior: 'allowAndName', downloadPath: downloadsPath, eventsEnabled: true }
    : { behavior: 'deny', eventsEnabled: true };
}

/** The commands for a page, sent before its first script. */
export function pageCommands(settings: BrowserSettings, version: BrowserVersion): CommandCall[] {
  const commands = frameCommands(settings, version);
  if (settings.ignoreHttpsErrors) commands.push(commandCall('Security.setIgnoreCertificateErrors', { ignore: true }));
  return commands;
}

/** The commands for an out-of-process frame. */
export function frameCommands(settings: BrowserSettings, version: BrowserVersion): CommandCall[] {
  const commands = workerCommands(settings, version);
  if (settings.locale) commands.push(commandCall('Emulation.setLocaleOverride', { locale: settings.locale }));
  if (settings.timezone) commands.push(commandCall('Emulation.setTimezoneOverride', { timezoneId: settings.timezone }));
  if (settings.blockResources.includes('websocket'))
    commands.push(
      commandCall('Page.enable', {}),
      commandCall('Page.addScriptToEvaluateOnNewDocument', { source: withoutWebsockets, runImmediately: true }),
    );
  return commands;
}

/** Requests to pause: those of blocked types when they start, and documents at their response. */
export function pausedRequestPatterns(
  settings: BrowserSettings,
  documents: boolean,
): NonNullable<NonNullable<Params<'Fetch.enable'>>['patterns']> {
  const blocked = settings.blockResources.filter((kind) => kind !== 'websocket');
  const patterns: ReturnType<typeof pausedRequestPatterns> = blocked.map((kind) => ({
    urlPattern: '*',
    resourceType: resourceTypes[kind],
  }));
  if (documents) patterns.push({ urlPattern: '*', resourceType: 'Document', requestStage: 'Response' });
  return patterns;
}

/** The commands for a worker, which has neither a screen nor a locale of its own. */
export function workerCommands(settings: BrowserSettings, version: BrowserVersion): CommandCall[] {
  const commands: CommandCall[] = [];
  const headers = settings.extraHeaders;
  if (Object.keys(headers).length > 0) commands.push(commandCall('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }));
  if (Object.keys(headers).length > 0) commands.push(commandCall('Network.setExtraHTTPHeaders', { headers: { ...headers } }));
  if (settings.userAgent !== null || settings.locale !== null)
    commands.push(commandCall('Emulation.setUserAgentOverride', toUserAgentOverride(settings, version)));
  return commands;
}

/** An empty one ends the override. */
export function toUserAgentOverride(
  settings: Pick<BrowserSettings, 'userAgent' | 'locale'>,
  version: BrowserVersion,
): Params<'Emulation.setUserAgentOverride'> {
  if (settings.userAgent === null && settings.locale === null) return { userAgent: '' };
  const userAgent = settings.userAgent ?? version.userAgent;
  const override: Params<'Emulation.setUserAgentOverride'> = { userAgent };
  if (settings.locale) override.acceptLanguage = settings.locale;
  const metadata = settings.userAgent === null ? undefined : clientHints(settings.userAgent);
  if (metadata) override.userAgentMetadata = metadata;
  return override;
}

/** Client hints that match a user agent; undefined for browsers without client hints (Chromium then sends none). */
function clientHints(userAgent: string): NonNullable<Params<'Emulation.setUserAgentOverride'>['userAgentMetadata']> | undefined {
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

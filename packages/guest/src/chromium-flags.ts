/**
 * How Chromium is started. Nothing here depends on the session: whatever a
 * session asks for is set over DevTools, so that any machine fits any session.
 */

import { initialDisplay } from './display-start.ts';

/** Features that cost memory, processor time or connections at start and that nobody sees in a headless browser. */
const disabledFeatures = [
  // The address bar's popups are pages with a renderer of their own: together 57 MB in each browser.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  // Each of these opens connections of its own, which would be counted as the session's traffic.
  'AutofillServerCommunication',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'OptimizationGuideModelDownloading',
  'OptimizationGuideOnDeviceModel',
  'PreconnectToSearch',
  'AimEnabled',
  'MediaRouter',
  'DnsOverHttps',
  'Translate',
  'LensOverlay',
  // An http address that is asked for stays one.
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  // What driving clients rely on: no paint held back, no redirect restarted under interception.
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'PaintHolding',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'DestroyProfileOnBrowserClose',
];

const enabledFeatures = ['CDPScreenshotNewSurface', 'SkipListAccountsWithoutGaiaCookies'];

const headlessFlags = [
  '--headless',
  '--window-size=1280,720',
  // The screen is 800 × 600 otherwise, smaller than the window on it.
  '--screen-info={1280x720}',
];

/** The window is as large as the display from its first moment. What would ask a person is answered with no: nobody may be there. */
const windowFlags = [
  '--ozone-platform=x11',
  `--window-size=${initialDisplay.width},${initialDisplay.height}`,
  '--start-maximized',
  '--deny-permission-prompts',
];

const fixedFlags = [
  '--remote-debugging-pipe',
  // The first page is made over DevTools when somebody wants it: a third of the processor time of a start goes into its window.
  '--no-startup-window',
  '--disable-gpu',
  // WebGL is drawn by the processor; without the flag Chromium says on each use that this will be refused one day.
  '--enable-unsafe-swiftshader',
  '--force-color-profile=srgb',
  '--disable-quic',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--disable-extensions',
  '--disable-component-extensions-with-background-pages',
  '--disable-default-apps',
  '--disable-field-trial-config',
  '--metrics-recording-only',
  '--no-pings',
  '--disable-breakpad',
  '--no-first-run',
  '--no-default-browser-check',
  '--no-service-autorun',
  '--disable-search-engine-choice-screen',
  '--disable-infobars',
  '--password-store=basic',
  '--use-mock-keychain',
  '--mute-audio',
  // A page in the background is driven like the one in front: no throttling, no dialogs that wait for a person.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-back-forward-cache',
  '--disable-hang-monitor',
  '--disable-popup-blocking',
  '--disable-prompt-on-repost',
  '--allow-pre-commit-input',
  '--unsafely-disable-devtools-self-xss-warnings',
  // The browser asks its maker's account service at start; this name never resolves, so the question goes nowhere.
  '--gaia-url=https://accounts.invalid',
  // The profile lives in memory: its cache is bounded well below the size of that file system.
  `--disk-cache-size=${64 * 1024 * 1024}`,
  `--enable-features=${enabledFeatures.join(',')}`,
];

export interface BrowserNeeds {
  proxyPort: number;
  profilePath: string;
  smallSharedMemory: boolean;
  /** The proxy is the only way out there is. */
  jailed: boolean;
  windows: boolean;
  /** Whether the browser, once it has had a page, keeps a process ready for the next; it does when absent. */
  pagesAhead?: boolean;
}

/**
 * The flags of one browser.
 *
 * `<-loopback>` sends a page's connections to loopback to the proxy as well.
 * Names that bypass the proxy have no way out at all in a jail: the updater's
 * and the one that never resolves.
 */
export function chromiumFlags(place: BrowserNeeds): string[] {
  const disabled = [...disabledFeatures, ...(place.pagesAhead === false ? ['SpareRendererForSitePerProcess'] : [])];
  const bypass = ['<-loopback>', '*.invalid', ...(place.jailed ? ['update.googleapis.com'] : [])];
  return [
    ...(place.windows ? windowFlags : headlessFlags),
    ...fixedFlags,
    `--disable-features=${disabled.join(',')}`,
    `--proxy-server=http://127.0.0.1:${place.proxyPort}`,
    `--proxy-bypass-list=${bypass.join(';')}`,
    `--user-data-dir=${place.profilePath}`,
    ...(place.smallSharedMemory ? ['--disable-dev-shm-usage'] : []),
  ];
}

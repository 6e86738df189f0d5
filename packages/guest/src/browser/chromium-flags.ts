/**
 * Command line of Chromium. Nothing here depends on the session: its options are
 * set over DevTools, so that any machine fits any session.
 */

import { fileURLToPath } from 'node:url';
import { initialDisplay } from './display-start.ts';

/**
 * Managed policy of a machine's browser: its own pages, files and extensions
 * cannot be opened, whoever asks, except the PDF viewer and a new tab in the
 * window. Nothing is loaded ahead of a navigation: Chromium prefetches and then
 * does not prerender where the worker is attached, and Puppeteer waits for ever
 * for the page.
 */
export const chromiumPolicyFile = fileURLToPath(new URL('./chromium-policy.json', import.meta.url));
/** Where the builds of Chromium and Chrome look for it. */
export const chromiumPolicyPaths = ['/etc/chromium/policies/managed/berth.json', '/etc/opt/chrome/policies/managed/berth.json'];

/** Features that cost memory, CPU time or connections at start and have no use here. */
const disabledFeatures = [
  // The address bar's popups are pages with a renderer of their own: together 57 MB in each browser.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  // These open connections of their own, which would count as the session's traffic.
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
  // Keep http addresses as requested.
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  // Automation clients rely on these: no delayed paint, no redirect restarted under interception.
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'PaintHolding',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'DestroyProfileOnBrowserClose',
];

const enabledFeatures = ['CDPScreenshotNewSurface', 'SkipListAccountsWithoutGaiaCookies'];

const headlessFlags = [
  '--headless',
  `--window-size=${initialDisplay.width},${initialDisplay.height}`,
  '--window-position=0,0',
  // The screen is 800 × 600 otherwise, smaller than the window on it.
  `--screen-info={${initialDisplay.width}x${initialDisplay.height}}`,
];

/** The window fills the display from the start. Permission prompts are denied, as nobody may be there to answer. */
const windowFlags = [
  '--ozone-platform=x11',
  `--window-size=${initialDisplay.width},${initialDisplay.height}`,
  '--start-maximized',
  '--deny-permission-prompts',
];

const fixedFlags = [
  '--remote-debugging-pipe',
  // The first page is created over DevTools on demand: a startup window takes a third of the CPU time of a start.
  '--no-startup-window',
  '--disable-gpu',
  // Software WebGL. Without the flag Chromium logs a deprecation on each use.
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
  // Sites see a mouse, as on a desktop: (hover: hover) and (pointer: fine). The machine has no device that says so.
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  // Background pages behave like the front one: no throttling, no dialogs that wait for a person.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-back-forward-cache',
  '--disable-hang-monitor',
  '--disable-popup-blocking',
  '--disable-prompt-on-repost',
  '--allow-pre-commit-input',
  '--unsafely-disable-devtools-self-xss-warnings',
  // The browser contacts Google's account service at start; this name never resolves.
  '--gaia-url=https://accounts.invalid',
  // The profile is on tmpfs: the cache is limited well below the size of that file system.
  `--disk-cache-size=${64 * 1024 * 1024}`,
  `--enable-features=${enabledFeatures.join(',')}`,
];

interface ChromiumFlagsOptions {
  proxyPort: number;
  profilePath: string;
  smallSharedMemory: boolean;
  /** The proxy is the only egress. */
  jailed: boolean;
  windows: boolean;
  /** Whether the browser keeps a spare renderer for the next page. Default true. */
  spareRenderer?: boolean;
}

/**
 * Flags of one browser.
 *
 * `<-loopback>` sends connections to loopback through the proxy as well. Names
 * that bypass the proxy have no egress in a jail: the updater's and the one that
 * never resolves.
 */
export function chromiumFlags(options: ChromiumFlagsOptions): string[] {
  const disabled = [...disabledFeatures, ...(options.spareRenderer === false ? ['SpareRendererForSitePerProcess'] : [])];
  const bypass = ['<-loopback>', '*.invalid', ...(options.jailed ? ['update.googleapis.com'] : [])];
  return [
    ...(options.windows ? windowFlags : headlessFlags),
    ...fixedFlags,
    `--disable-features=${disabled.join(',')}`,
    `--proxy-server=http://127.0.0.1:${options.proxyPort}`,
    `--proxy-bypass-list=${bypass.join(';')}`,
    `--user-data-dir=${options.profilePath}`,
    ...(options.smallSharedMemory ? ['--disable-dev-shm-usage'] : []),
  ];
}

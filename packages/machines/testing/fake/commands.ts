/** What the fake browser answers to commands that change nothing in it. */
import type { Json } from './page.ts';

/** Domains whose commands are accepted and ignored. */
export const acceptedDomains = new Set([
  'Emulation',
  'Network',
  'Security',
  'Fetch',
  'Log',
  'Console',
  'Performance',
  'Input',
  'DOM',
  'CSS',
  'Accessibility',
  'Inspector',
  'ServiceWorker',
  'Audits',
  'WebAuthn',
  'Storage',
  'Overlay',
]);
export const acceptedMethods = new Set([
  'Browser.setDownloadBehavior',
  'Browser.setPermission',
  'Browser.setContentsSize',
  'Browser.setWindowBounds',
  'Browser.grantPermissions',
  'Browser.resetPermissions',
  'Target.setRemoteLocations',
  'Page.setInterceptFileChooserDialog',
  'Page.setBypassCSP',
  'Page.setDownloadBehavior',
  'Page.bringToFront',
  'Page.setAdBlockingEnabled',
  'Page.setPrerenderingAllowed',
  'Page.setWebLifecycleState',
  'Page.resetNavigationHistory',
  'Page.removeScriptToEvaluateOnNewDocument',
  'Page.handleJavaScriptDialog',
  'Runtime.disable',
  'Runtime.addBinding',
  'Runtime.releaseObject',
  'Runtime.releaseObjectGroup',
  'Runtime.runIfWaitingForDebugger',
]);
export const fixedAnswers: Record<string, Json> = {
  'Page.addScriptToEvaluateOnNewDocument': { identifier: '1' },
  'Page.createIsolatedWorld': { executionContextId: 2 },
  // One transparent pixel.
  'Page.captureScreenshot': { data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' },
  'Page.printToPDF': { stream: '1' },
  'IO.read': { data: Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64'), base64Encoded: true, eof: true },
  'IO.close': {},
  'Browser.getVersion': {
    protocolVersion: '1.3',
    product: 'HeadlessChrome/156.0.0.0',
    revision: '@fake',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/156.0.0.0',
    jsVersion: '15.6',
  },
  'Browser.getWindowForTarget': { windowId: 1, bounds: { left: 0, top: 0, width: 1280, height: 807, windowState: 'normal' } },
  'Storage.getCookies': { cookies: [] },
  'Network.getCookies': { cookies: [] },
};

/** Methods that a page answers itself, and not at all when it hangs. */
export const asksPage = new Set([
  'Runtime.callFunctionOn',
  'Runtime.evaluate',
  'Page.captureScreenshot',
  'Page.printToPDF',
  'Page.getLayoutMetrics',
  'Page.getFrameTree',
]);

/** Drives a browser by the DevTools protocol: the connection, its tabs and pages (`browser/`), and the step language (`steps/`). */
export * from './browser/browser.ts';
export * from './steps/steps.ts';

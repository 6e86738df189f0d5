/** Drives a browser by the DevTools protocol: the connection, its tabs and pages (`browser/`), the step language (`steps/`), and use by coordinates (`computer/`). */
export * from './browser/browser.ts';
export * from './steps/steps.ts';
export * from './computer/computer.ts';

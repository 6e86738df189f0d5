/** A step context on a browser's tab, and a site with pages by path, for the tests of this folder. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { Steps, type StepResult } from '@berth/contract';
import type { Browser, DownloadInfo } from '../src/browser/browser.ts';
import type { Content } from '@berth/reading';
import { systemClock } from '@berth/lib/clock.ts';
import { runSteps, type StepRunOptions, type StepRunResult } from '../src/steps/steps.ts';
import type { StepContext } from '../src/steps/context.ts';

export interface TestContextOptions {
  browser: Browser;
  content: Pick<Content, 'for'>;
  files?: Record<string, string>;
}

export function createContext({ browser, content, files = {} }: TestContextOptions): StepContext {
  return {
    mainTabId: browser.activeTab().tabId,
    tabs: () => browser.tabs(),
    page: (tabId) => browser.page(tabId),
    filePath: async (fileId) => files[fileId] ?? null,
    waitForDownload: async (trigger, { signal }) => {
      const finished = Promise.withResolvers<DownloadInfo>();
      const undo = browser.onEvent((event) => event.type === 'download.finished' && finished.resolve(event.download));
      const onAbort = (): void => finished.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      finished.promise.catch(() => {});
      try {
        await trigger();
        return await finished.promise;
      } finally {
        undo();
        signal.removeEventListener('abort', onAbort);
      }
    },
    setCookie: (cookie, options) => browser.setCookies([cookie], options),
    cookies: (options) => browser.cookies(options),
    content: content.for('own_test'),
    clock: systemClock,
  };
}

/** Runs steps as written in a request. */
export const run = (
  context: StepContext,
  steps: object[],
  options: Partial<StepRunOptions> & { signal?: AbortSignal } = {},
): Promise<StepRunResult> => {
  const { signal = AbortSignal.timeout(90_000), ...rest } = options;
  const runOptions = { steps: Steps.parse(steps), stopOnError: true, timeoutMs: 60_000, allowEvaluate: false, ...rest };
  return runSteps(context, runOptions, { signal });
};

/** Type, status and error code of each step. */
export const summarize = (results: readonly StepResult[]): string[] =>
  results.map(({ type, status, error }) => `${type} ${status}${error ? ` ${error.code}` : ''}`);

export const evaluate = (expression: string): object => ({ type: 'evaluate', expression });

export type Reply = string | ((request: IncomingMessage, response: ServerResponse) => void);

export interface TestSite {
  /** Two names of one server, which are two sites to a browser. */
  url: string;
  otherUrl: string;
  pages: Map<string, Reply>;
  close(): Promise<void>;
}

export async function openPages(): Promise<TestSite> {
  const pages = new Map<string, Reply>();
  const server = createServer((request, response) => {
    const reply = pages.get(new URL(request.url ?? '/', 'http://site').pathname);
    if (typeof reply === 'function') reply(request, response);
    else if (reply === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html>${reply}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${port}`, otherUrl: `http://localhost:${port}`, pages, close };
}

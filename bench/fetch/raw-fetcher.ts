/**
 * The fetch baseline, in a separate process like the service: a script with one
 * warm Chromium and a context per page. Its argument is the DevTools URL;
 * requests and results are IPC messages.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { htmlToMarkdownResult, initSync } from 'mdream/wasm';
import { type Browser, type Page, type Response, chromium as playwright } from 'playwright-core';
import type { RawFetchResult, RawFetchRequest } from './fetchers.ts';

const gotoTimeoutMs = 30_000;

initSync({ module: readFileSync(fileURLToPath(import.meta.resolve('mdream/wasm/mdream_edge_bg.wasm'))) });

/** Converts like the service, so that only the browser work differs. */
function toMarkdown(html: string, url: string): string {
  const { markdown = '' } = htmlToMarkdownResult(html, {
    origin: url,
    plugins: { filter: { exclude: ['script', 'style', 'template', 'noscript', 'iframe'] } },
  });
  return markdown;
}

/** A response without a document makes `goto` throw, but counts as a response. */
async function navigate(page: Page, { url, settled }: RawFetchRequest): Promise<Response | null> {
  let lastResponse: Response | null = null;
  page.on('response', (response) => {
    if (response.request().isNavigationRequest() && response.frame() === page.mainFrame()) lastResponse = response;
  });
  try {
    return await page.goto(url, { waitUntil: settled ? 'networkidle' : 'load', timeout: gotoTimeoutMs });
  } catch (error) {
    if (lastResponse) return lastResponse;
    throw error;
  }
}

async function fetchPage(browser: Browser, request: RawFetchRequest): Promise<RawFetchResult> {
  const { id, whole } = request;
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const response = await navigate(page, request);
    const html = await page.content();
    const markdown = toMarkdown(html, page.url());
    const status = response?.status() ?? null;
    const contentType = response?.headers()['content-type'] ?? null;
    return { id, status, finalUrl: response?.url() ?? page.url(), contentType, content: whole ? html + markdown : '', error: null };
  } catch (error) {
    return { id, status: null, finalUrl: null, contentType: null, content: '', error: String(error).split('\n', 1)[0] ?? '' };
  } finally {
    await context.close();
  }
}

const browser = await playwright.connectOverCDP(process.argv[2] ?? '');
process.on('message', (request: RawFetchRequest) => void fetchPage(browser, request).then((result) => process.send?.(result)));
process.once('disconnect', () => process.exit(0));
process.send?.('ready');

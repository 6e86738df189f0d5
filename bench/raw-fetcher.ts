/**
 * The yardstick for fetches, in a process of its own as the service is: what a
 * careful script does with one warm Chromium, each page in a context of its own.
 * Its argument is the DevTools address; orders come and answers go as messages.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { htmlToMarkdownResult, initSync } from 'mdream/wasm';
import { type Browser, type Page, type Response, chromium as playwright } from 'playwright-core';
import type { RawAnswer, RawOrder } from './fetchers.ts';

const gotoMsMax = 30_000;

initSync({ module: readFileSync(fileURLToPath(import.meta.resolve('mdream/wasm/mdream_edge_bg.wasm'))) });

/** As the service converts a page, so that only the work with the browser differs. */
function markdownOf(html: string, url: string): string {
  const { markdown = '' } = htmlToMarkdownResult(html, {
    origin: url,
    plugins: { filter: { exclude: ['script', 'style', 'template', 'noscript', 'iframe'] } },
  });
  return markdown;
}

/** An answer without a document makes `goto` throw, yet it is an answer. */
async function go(page: Page, { url, settled }: RawOrder): Promise<Response | null> {
  let answered: Response | null = null;
  page.on('response', (response) => {
    if (response.request().isNavigationRequest() && response.frame() === page.mainFrame()) answered = response;
  });
  try {
    return await page.goto(url, { waitUntil: settled ? 'networkidle' : 'load', timeout: gotoMsMax });
  } catch (error) {
    if (answered) return answered;
    throw error;
  }
}

async function fetchPage(browser: Browser, order: RawOrder): Promise<RawAnswer> {
  const { id, whole } = order;
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const response = await go(page, order);
    const html = await page.content();
    const markdown = markdownOf(html, page.url());
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
process.on('message', (order: RawOrder) => void fetchPage(browser, order).then((answer) => process.send?.(answer)));
process.once('disconnect', () => process.exit(0));
process.send?.('ready');

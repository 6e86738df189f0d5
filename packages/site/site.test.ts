/** The built site, as a person reads it: every link leads somewhere, nothing asks another host, and it is accessible. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';

const dist = join(import.meta.dirname, 'dist');
const docs = join(import.meta.dirname, '../../docs');
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

/** The file of an address, as any server of static files finds it. */
function fileOf(path: string): string | undefined {
  const file = join(dist, decodeURIComponent(path), path.endsWith('/') ? 'index.html' : '');
  return existsSync(file) && statSync(file).isFile() ? file : undefined;
}

let server: Server;
let browser: Browser;
let origin = '';
before(async () => {
  server = createServer(({ url = '/' }, response) => {
    const file = fileOf(new URL(url, 'http://site').pathname);
    if (file === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await chromium.launch({ executablePath: process.env['BERTH_CHROMIUM'] ?? '/usr/bin/chromium' });
});
after(async () => {
  await browser?.close();
  server?.close();
});

const htmlFiles = (): string[] => globSync('**/*.html', { cwd: dist }).toSorted();
const addressOf = (file: string): string => `/${file.replace(/index\.html$/, '')}`;

describe('the site', () => {
  it('each guide of docs/ is a page, and is there as Markdown', () => {
    const names = globSync('{,adr/,measurements/}*.md', { cwd: docs }).filter((name) => !name.endsWith('README.md'));
    assert.ok(names.length > 50);
    for (const name of names) {
      assert.ok(fileOf(`/${name.replace('.md', '/')}`), name);
      const [heading = ''] = readFileSync(join(docs, name), 'utf8').split('\n');
      assert.ok(readFileSync(join(dist, name), 'utf8').startsWith(heading), name);
    }
  });

  it('each link of each page leads to a page and a heading that are there', () => {
    const pages = new Map(htmlFiles().map((file) => [addressOf(file), readFileSync(join(dist, file), 'utf8')]));
    const idsOf = new Map(
      [...pages].map(([address, text]) => [address, new Set(Array.from(text.matchAll(/ id="([^"]+)"/g), ([, id]) => id))]),
    );
    const broken: string[] = [];
    for (const [address, text] of pages)
      for (const [, href = ''] of text.matchAll(/<a\b[^>]* href="([^"]+)"/g)) {
        const { origin: host, pathname, hash } = new URL(href.replaceAll('&amp;', '&'), `http://site${address}`);
        if (host !== 'http://site') continue;
        const ids = idsOf.get(pathname);
        const id = decodeURIComponent(hash.slice(1));
        if (!fileOf(pathname) || (id !== '' && ids !== undefined && !ids.has(id))) broken.push(`${address} -> ${href}`);
      }
    assert.deepEqual(broken, []);
  });

  it('the lists for language models name pages that are there', () => {
    const list = readFileSync(join(dist, 'llms.txt'), 'utf8');
    const targets = Array.from(list.matchAll(/\]\(([^)]+)\)/g), ([, target = '']) => target);
    assert.ok(targets.length > 40);
    assert.deepEqual(
      targets.filter((target) => fileOf(target) === undefined),
      [],
    );
    const whole = readFileSync(join(dist, 'llms-full.txt'), 'utf8');
    for (const part of ['# Quickstart', '# Sessions', '# Troubleshooting']) assert.ok(whole.includes(part), part);
  });

  /** Opens a page and returns the requests that went to another host than the site's. */
  async function open(page: Page, path: string): Promise<string[]> {
    const elsewhere: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:')) elsewhere.push(request.url());
    });
    await page.goto(origin + path, { waitUntil: 'networkidle' });
    return elsewhere;
  }

  it('a reader who searches and follows a result asks no other host', async () => {
    const page = await browser.newPage();
    const elsewhere = await open(page, '/');
    await page.keyboard.press('Control+k');
    await page.getByRole('textbox', { name: 'Search' }).fill('rotate');
    const result = page.locator('.pagefind-ui__result-link').first();
    await result.click();
    await page.waitForURL(({ pathname }) => pathname !== '/');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await sleep(200);
    assert.deepEqual(elsewhere, []);
    await page.close();
  });

  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1440, 390])
      it(`pages break no rule of axe in ${colorScheme} colours at ${width} px, and do not scroll sideways`, async () => {
        const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
        const faults: string[] = [];
        for (const path of ['/', '/comparison/', '/errors/', '/task-csv/']) {
          const page = await context.newPage();
          const elsewhere = await open(page, path);
          faults.push(...elsewhere.map((url) => `${path} asked ${url}`));
          await page.addScriptTag({ content: axe.source });
          const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
          faults.push(...violations.map(({ id, nodes }) => `${path}: ${id} ${nodes[0]?.html.slice(0, 200)}`));
          const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
          if (isWide) faults.push(`${path} is wider than the screen`);
          await page.close();
        }
        assert.deepEqual(faults, []);
        await context.close();
      });
});

/** An exported flow, run by Playwright in a browser of its own, has the result that the flow has here. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';
import { ada } from '../../../../tests/shop/pages/account.ts';
import { jobs } from '../../../../tests/shop/data.ts';
import { startShop, type Shop } from '../../../../tests/shop/shop.ts';
import { launch, settings, type Launched } from '@berth/devtools/testing/launch.ts';
import { createContext, run, summarize } from '@berth/devtools/testing/steps.ts';
import { templates } from '../registry.ts';
import { exportPlaywright } from './playwright.ts';

const content = { for: () => ({ convert: () => Promise.reject(new Error('not needed')) }) };
const folder = mkdtempSync(join(tmpdir(), 'berth-export-'));
let launched: Launched;
let browser: Browser;
let shop: Shop;
before(async () => {
  const args = ['--no-sandbox', '--disable-gpu'];
  [launched, browser, shop] = await Promise.all([
    launch(),
    chromium.launch({ executablePath: '/usr/lib/chromium/chromium-headless-shell', args }),
    startShop({ consent: false }),
  ]);
  await launched.browser.prepare(settings());
});
after(async () => {
  await Promise.all([launched?.end(), browser?.close(), shop?.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** What a test of `@playwright/test` gets from its runner, which is no dependency here. */
interface Runner {
  test(title: string, body: (fixtures: { page: Page }) => Promise<void>): void;
  expect(locator: Locator): { toBeVisible(): Promise<void>; toContainText(text: string): Promise<void> };
  report(vars: object): void;
}

let files = 0;

/** Runs an exported test and returns its variables. The code is the export, but for its import and a last line. */
async function play(code: string, environment: Record<string, string>): Promise<unknown> {
  let body: ((fixtures: { page: Page }) => Promise<void>) | undefined;
  let vars: unknown;
  const runner: Runner = {
    test: (_, fn) => (body = fn),
    expect: (locator) => ({
      toBeVisible: () => locator.waitFor({ state: 'visible' }),
      toContainText: (text) => locator.filter({ hasText: text }).waitFor(),
    }),
    report: (value) => (vars = structuredClone(value)),
  };
  Object.assign(globalThis, { berthRunner: runner });
  const file = join(folder, `${(files += 1)}.ts`);
  const last = code.lastIndexOf('});');
  writeFileSync(
    file,
    `${code.slice(0, last)}  report(vars);\n${code.slice(last)}`.replace(
      /^import .*$/m,
      'const { expect, test, report } = globalThis.berthRunner;',
    ),
  );
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    await import(pathToFileURL(file).href);
    const page = await browser.newPage();
    page.setDefaultTimeout(30_000);
    await body?.({ page });
    await page.close();
    return vars;
  } finally {
    process.env = before;
  }
}

const steps = [
  { type: 'navigate', url: '{{inputs.url}}/login', description: 'Open the sign-in.' },
  { type: 'fill', selectors: ['label/E-mail address'], value: '{{inputs.email}}' },
  { type: 'type', selectors: ['#no-such-field', 'label/Password'], text: '{{secret.password}}' },
  { type: 'check', selectors: ['#login [name=remember]'] },
  { type: 'click', selectors: ['aria/Log in[role="button"]'] },
  { type: 'wait', url: '/account' },
  { type: 'assert', text: 'Ada Vermeer' },
  { type: 'extract', selectors: ['h1'], save_as: 'heading' },
  { type: 'click', selectors: ['#no-such-button'], optional: true, timeout_ms: 200 },
  { type: 'navigate', url: '{{inputs.url}}/products' },
  { type: 'extract', selectors: ['main h3'], list: true, save_as: 'names' },
  { type: 'extract', selectors: ['main a[href^="/products/"]'], list: true, attribute: 'href', save_as: 'links' },
  { type: 'select', selectors: ['#sort'], value: 'price' },
  { type: 'wait', url: 'sort=price' },
  { type: 'navigate', url: '{{inputs.url}}/products/{{inputs.slug}}' },
  { type: 'fill', selectors: ['#quantity'], value: '2' },
  { type: 'click', selectors: ['#add-to-cart'] },
  { type: 'wait', text: 'Added to your cart' },
  { type: 'extract', selectors: ['testid/cart-count'], save_as: 'count' },
  { type: 'scroll', to: 'bottom' },
  { type: 'screenshot' },
];

it('an exported Playwright test of most kinds of steps does what the steps do', async () => {
  const inputs = { url: shop.url, email: ada.email, slug: 'amber-desk-lamp' };
  const secrets = { password: ada.password };
  const ours = await run(createContext({ browser: launched.browser, content }), steps, { inputs, secrets });
  assert.deepEqual(
    summarize(ours.results).filter((each) => !each.endsWith(' ok')),
    ['click skipped not_found'],
  );
  const code = exportPlaywright('Order two lamps', steps) ?? assert.fail('no export');
  const theirs = await play(code, { URL: shop.url, EMAIL: ada.email, SLUG: 'amber-desk-lamp', PASSWORD: ada.password });
  assert.deepEqual(theirs, { ...ours.vars });
  assert.ok(((theirs as { names: unknown[] }).names ?? []).length > 3, JSON.stringify(theirs));
});

it('an exported Playwright test of a template does what the template does', async () => {
  const { title, steps: ofTemplate } = templates.find(({ name }) => name === 'job_listings') ?? assert.fail('no template');
  const list = [...(ofTemplate ?? [])];
  const inputs = { url: `${shop.url}/jobs`, item_selector: '.job' };
  const ours = await run(createContext({ browser: launched.browser, content }), list, { inputs });
  const code = exportPlaywright(title, list) ?? assert.fail('no export');
  assert.deepEqual(await play(code, { URL: inputs.url, ITEM_SELECTOR: inputs.item_selector }), { ...ours.vars });
  assert.equal((ours.vars['jobs'] as unknown[]).length, jobs.length);
});

/** Elements of the fixture shop, found again after its pages changed, by the scripts that find them in flows. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import * as finds from '@berth/page-scripts/locate/find.ts';
import * as fingerprints from '@berth/page-scripts/locate/fingerprint.ts';
import * as shared from '@berth/page-scripts/locate/natives.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import { startShop, type Shop } from '../shop/shop.ts';
import { mutations, targets, type Mutation, type Target } from './mutations.ts';

const scripts = scriptsOf(fingerprints, finds, shared);
const args = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-pings'];
/** None of the searches ends for lack of time, on the slowest machine. */
const msMax = 60_000;

let shop: Shop;
let browser: Browser;
let page: Page;
before(async () => {
  shop = await startShop({ consent: false });
  browser = await chromium.launch({ executablePath: '/usr/lib/chromium/chromium-headless-shell', args });
  page = await browser.newPage({ baseURL: shop.url, javaScriptEnabled: true });
});
after(async () => {
  await browser?.close();
  await shop?.close();
});

interface Result {
  what: string;
  result: 'right' | 'wrong' | 'nothing';
  level: number | null;
  score: number | null;
}

/** Learns the element, changes the page, and finds the element again. */
async function healAfter({ path, css }: Target, mutation: Mutation): Promise<Result> {
  // Each from the same document: what the mutation did is undone by the copy.
  const outcome = await page.evaluate<Omit<Result, 'what'>>(`(() => {
    const before = document.body.cloneNode(true);
    const meant = document.querySelector(${JSON.stringify(css)});
    const known = (${scripts.fingerprint})(meant, ${msMax});
    meant.setAttribute('data-meant', '');
    (() => { ${mutation.script} })();
    const similar = (${scripts.findSimilar})(null, known, ${msMax});
    const [match] = globalThis.berthMatches ?? [];
    const result = similar === null ? 'nothing' : match.hasAttribute('data-meant') ? 'right' : 'wrong';
    document.body.replaceWith(before);
    return { result, level: similar?.level ?? null, score: similar?.score ?? null };
  })()`);
  return { what: `${path} ${css}: ${mutation.name}`, ...outcome };
}

it('healing finds what a person would find, and nothing where the element is gone', async () => {
  const results: (Result & { isTrap: boolean })[] = [];
  let path = '';
  for (const target of targets) {
    if (target.path !== path) await page.goto(target.path);
    path = target.path;
    for (const mutation of mutations) results.push({ ...(await healAfter(target, mutation)), isTrap: mutation.isTrap === true });
  }
  const listed = (some: readonly Result[]): string[] =>
    some.map(({ what, result, level, score }) => `${what}: ${result}, level ${level}, ${score?.toFixed(2)}`);
  const wrong = results.filter(({ result, isTrap }) => result === 'wrong' || (isTrap && result !== 'nothing'));
  assert.deepEqual(listed(wrong), [], 'an element was taken for another');
  const open = results.filter(({ isTrap }) => !isTrap);
  const missed = open.filter(({ result }) => result !== 'right');
  assert.ok(missed.length <= open.length * 0.05, `${missed.length} of ${open.length} were missed:\n${listed(missed).join('\n')}`);
});

it('healing finds nothing in a page that is too large for its time', async () => {
  await page.goto('/');
  const found = await page.evaluate<unknown[]>(`(() => {
    const known = (${scripts.fingerprint})(document.querySelector('a.account'), ${msMax});
    return [${msMax}, -1].map((msMax) => (${scripts.findSimilar})(null, known, msMax) !== null);
  })()`);
  assert.deepEqual(found, [true, false]);
});

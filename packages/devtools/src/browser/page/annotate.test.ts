import assert from 'node:assert/strict';
import { it } from 'node:test';
import { withAnnotations } from './annotate.ts';
import { openPages } from '../../../testing/steps.ts';
import { launch, settings } from '../../../testing/launch.ts';

it(
  'an annotated picture shows the references of what is in view, lists them, and leaves the page as it was',
  { timeout: 120_000 },
  async () => {
    const [launched, site] = await Promise.all([launch(), openPages()]);
    try {
      const { browser } = launched;
      await browser.prepare(settings());
      site.pages.set(
        '/',
        '<style>body { margin: 0 } * { display: revert !important } div { visibility: hidden !important }</style><main><button style="margin:40px">Buy</button><a href="/">Home</a></main>' +
          '<button style="position:absolute;top:5000px">Below</button><script>changes = 0; new MutationObserver((all) => { for (const each of all) for (const node of each.addedNodes) if (node.shadowRoot) changes += 1; }).observe(document, { childList: true, subtree: true })</script>',
      );
      const page = browser.page(browser.activeTab().tabId);
      const signal = AbortSignal.timeout(100_000);
      const call = { signal, timeoutMs: 60_000 };
      await page.navigate({ url: `${site.url}/`, waitUntil: 'load', timeoutMs: 60_000 }, { signal });
      const picture = async (): Promise<string> => {
        const options = { format: 'png', fullPage: false, scrollFirst: false } as const;
        const { tiles } = await page.screenshot(options, { ...call, maxBytes: 10_000_000 });
        return tiles.map(({ data }) => data.toString('base64')).join();
      };
      const read = (expression: string) => page.evaluate<unknown>(page.mainFrame(), expression, call);
      const [plain, html] = [await picture(), await read('document.documentElement.outerHTML')];
      const annotated = await withAnnotations(page, call, picture);
      assert.deepEqual(
        annotated.annotations.map(({ role, name }) => `${role} ${name}`),
        ['button Buy', 'link Home'],
      );
      assert.notEqual(annotated.picture, plain);
      assert.deepEqual([await read('document.documentElement.outerHTML'), await picture(), await read('changes')], [html, plain, 0]);
      const element = await page.resolveRef(annotated.annotations[0]?.ref ?? '', call);
      assert.equal(await page.call(element.frameId, '(element) => element.textContent', [element], call), 'Buy');
      page.release([element]);
      await assert.rejects(
        withAnnotations(page, call, () => Promise.reject(new Error('no picture'))),
        /no picture/,
      );
      assert.equal(await read('document.documentElement.outerHTML'), html);
    } finally {
      await launched.end();
      await site.close();
    }
  },
);

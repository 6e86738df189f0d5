import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { launch, settings, type Launched } from '@berth/devtools/testing/launch.ts';
import { call } from '@berth/devtools/testing/on-page.ts';
import { flowScripts } from '../page-scripts.ts';

const html = `<!doctype html><main id=main><ul><li>a<li id="1 b">b<li id=twice>c<li id=twice><b>d</b></ul></main><div id=host></div>
  <script>
    const inner = document.querySelector('#host').attachShadow({ mode: 'open' });
    inner.innerHTML = '<p><i id=main>e</i><u>f</u></p>';
  </script>`;

let launched: Launched;
before(async () => {
  launched = await launch();
  await launched.browser.prepare(settings());
});
after(() => launched.end());

it('a CSS path matches its element alone, from the nearest id that no other element has', async () => {
  const page = launched.browser.page(launched.browser.activeTab().tabId);
  await page.navigate({ url: `data:text/html,${encodeURIComponent(html)}`, waitUntil: 'load', timeoutMs: 20_000 }, call());
  const paths = await page.call<[string | null, boolean][]>(
    page.mainFrame(),
    `() => {
      const elements = [...document.querySelectorAll('body *')];
      const paths = (${flowScripts.cssPathsOf})(...elements);
      return paths.map((path, i) => [path, document.querySelectorAll(path).length === 1 && document.querySelector(path) === elements[i]]);
    }`,
    [],
    call(),
  );
  assert.ok(paths.length >= 8 && paths.every(([, isOwn]) => isOwn), JSON.stringify(paths));
  assert.ok(paths.some(([path]) => path === '#main'));
  assert.ok(paths.some(([path]) => path === '#main > ul:nth-child(1) > li:nth-child(4) > b:nth-child(1)'));
});

it('a chain of CSS paths leads into shadow trees, whose ids count there alone', async () => {
  const page = launched.browser.page(launched.browser.activeTab().tabId);
  const chains = await page.call<(string | null)[]>(
    page.mainFrame(),
    `() => {
      const inner = document.querySelector('#host').shadowRoot;
      const chainOf = ${flowScripts.selectorChainOf};
      return [chainOf(inner.querySelector('i')), chainOf(inner.querySelector('u')), (${flowScripts.cssPathsOf})(inner.querySelector('u'))];
    }`,
    [],
    call(),
  );
  assert.deepEqual(chains, [['#host', '#main'], ['#host', ':host > p:nth-child(1) > u:nth-child(2)'], [null]]);
});

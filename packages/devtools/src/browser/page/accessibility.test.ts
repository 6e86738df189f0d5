import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from './page.ts';
import { openPages } from '../../../testing/steps.ts';
import { launch, settings } from '../../../testing/launch.ts';

it('the accessibility tree has frames of any site in their place, with the elements that hold them', { timeout: 120_000 }, async () => {
  const [launched, site] = await Promise.all([launch(), openPages()]);
  try {
    const { browser } = launched;
    await browser.prepare(settings());
    site.pages.set('/in', '<button>Pay now</button><iframe srcdoc="<button>Innermost</button>"></iframe>');
    site.pages.set(
      '/',
      '<button disabled>Save</button><iframe role=presentation srcdoc="<label>Card number <input></label>"></iframe>' +
        `<iframe src="${site.otherUrl}/in"></iframe><iframe srcdoc="<button>Gone</button>" style="display:none"></iframe><button>Last</button>`,
    );
    const page = browser.page(browser.activeTab().tabId);
    const signal = AbortSignal.timeout(100_000);
    await page.navigate({ url: `${site.url}/`, waitUntil: 'load', timeoutMs: 60_000 }, { signal });
    const { nodes, frames, framesLeftOut, isTruncated } = await page.accessibilityTree({ signal, timeoutMs: 60_000, nodesMax: 100 });
    assert.deepEqual(
      nodes.filter(({ role }) => role === 'button' || role === 'textbox').map(({ name }) => name),
      ['Save', 'Card number', 'Pay now', 'Innermost', 'Last'],
    );
    assert.deepEqual([framesLeftOut, isTruncated], [0, false]);
    const main = page.mainFrame();
    const depthOf = (name: string): number => {
      let depth = 0;
      const element = nodes.find((node) => node.name === name && node.element)?.element;
      for (let frameId = element?.frameId ?? main; frameId !== main; depth += 1) frameId = frames.get(frameId)?.frameId ?? main;
      return depth;
    };
    assert.deepEqual(['Last', 'Card number', 'Pay now', 'Innermost'].map(depthOf), [0, 1, 1, 2]);
    const few = await page.accessibilityTree({ signal, timeoutMs: 60_000, nodesMax: 3 });
    assert.deepEqual([few.nodes.length, few.isTruncated], [3, true]);
  } finally {
    await launched.end();
    await site.close();
  }
});

it('the accessibility tree has clickable elements that take no focus, with their text as name', { timeout: 120_000 }, async () => {
  const [launched, site] = await Promise.all([launch(), openPages()]);
  const signal = AbortSignal.timeout(100_000);
  const clickablesOf = async (page: Page, body: string): Promise<string[]> => {
    site.pages.set('/', `<style>.p{cursor:pointer}</style><main>${body}</main>`);
    await page.navigate({ url: `${site.url}/`, waitUntil: 'load', timeoutMs: 60_000 }, { signal });
    const { nodes } = await page.accessibilityTree({ signal, timeoutMs: 60_000, nodesMax: 1000 });
    return nodes.filter(({ states, element }) => 'clickable' in states && element !== null).map(({ role, name }) => `${role} ${name}`);
  };
  try {
    const { browser } = launched;
    await browser.prepare(settings());
    const page = browser.page(browser.activeTab().tabId);
    const listed: [body: string, clickables: string[]][] = [
      ['<div class=p onclick="1">Card</div>', ['generic Card']],
      ['<div class=p id=d>Pointed</div><script>d.addEventListener("click", () => {})</script>', ['generic Pointed']],
      ['<span onclick="1">Attribute</span>', ['generic Attribute']],
      ['<ul><li class=p>One<li class=p>Two</ul>', ['listitem One', 'listitem Two']],
      ['<div class=p><b>In</b> <i>parts</i></div>', ['generic In parts']],
      ['<div class=p aria-label="Close">×</div>', ['generic Close']],
      ['<img class=p alt="Picture" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" width=9 height=9>', ['image Picture']],
      ['<div class=p><h3>Title</h3><a href="/x">More</a></div>', ['generic ']],
      ['<div id=h></div><script>h.attachShadow({mode:"open"}).innerHTML = "<div onclick=1>Inside</div>"</script>', ['generic Inside']],
      // What is operable by itself, or not there, is not listed twice.
      ['<button class=p>B</button><a class=p href="/">A</a><label class=p>L <input></label><div tabindex=0 class=p>T</div>', []],
      ['<a href="/"><span class=p onclick="1">In a link</span></a><div class=p style="display:none">Gone</div><p>Text</p>', []],
    ];
    for (const [body, clickables] of listed) assert.deepEqual(await clickablesOf(page, body), clickables, body);
    const many = await clickablesOf(page, '<div onclick="1">x</div>'.repeat(310));
    assert.equal(many.length, 300);
  } finally {
    await launched.end();
    await site.close();
  }
});

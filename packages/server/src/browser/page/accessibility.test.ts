import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openPages } from '../../steps/testing.ts';
import { launch, settings } from '../testing/launch.ts';

it('reads frames of any site in their place, with the elements that hold them', { timeout: 120_000 }, async () => {
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

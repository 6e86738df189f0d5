/** Tabs of sessions that are driven while another one is in front. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connectSession, createSession, endSession, openTab, screenshot } from '@berth/contract';
import { nightly } from '../../nightly.ts';
import { connectPlaywright } from '../playwright.ts';
import { Service, eventually } from '../service.ts';
import { startSite, type Site } from '../site.ts';

describe('a tab behind another one', () => {
  let site: Site;
  let service: Service;
  before(async () => {
    site = await startSite();
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
  });
  after(async () => {
    await service.close();
    await site.close();
  });

  for (const kind of ['headless', 'full_browser'] as const)
    // `background-rendering.test.ts` of the DevTools package proves it without windows.
    it(`a tab behind another one is drawn like the one in front, of the kind ${kind}`, kind === 'headless' ? nightly : {}, async () => {
      const { client } = service;
      const params = { session_id: (await client.call(createSession, { body: { kind } })).body.session_id };
      const tabs = [];
      for (const path of ['/second?behind', '/second'])
        tabs.push((await client.call(openTab, { params, body: { url: site.url + path } })).body.tab_id);
      const browser = await connectPlaywright((await client.call(connectSession, { params })).body.cdp_url);
      const page = browser
        .contexts()[0]
        ?.pages()
        .find((each) => each.url().endsWith('?behind'));
      const draw = `new Promise((done) => { let drawn = 0;
        const next = () => { document.body.style.marginTop = (drawn += 1) + 'px'; requestAnimationFrame(next); };
        next(); setTimeout(() => done(drawn), 1000); })`;
      // Otherwise some dozens after the client has connected, and then three and one a second.
      let seconds = 0;
      const isFast = async (): Promise<boolean> => {
        seconds = Number(await page?.evaluate(draw)) >= 10 ? seconds + 1 : 0;
        return seconds === 5;
      };
      await eventually('it has many frames for five seconds', isFast, 60_000);
      await browser.close();
      const { body } = await client.call(screenshot, { params, body: { tab_id: tabs[0], full_page: true } });
      assert.ok((body.data_base64?.length ?? 0) > 1000);
      await client.call(endSession, { params });
    });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { launch } from '@berth/devtools/testing/launch.ts';
import { until } from '@berth/devtools/testing/on-page.ts';
import { neverReturns, openPages } from '@berth/devtools/testing/pages.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { CaptchaWatch } from './captcha.ts';
import { captchas, limit, TestTab } from '../../../testing/test-tab.ts';

const tab = new TestTab({ launch, openPages });

describe('detection', () => {
  const expectedByPath: Record<string, [type: string | null, siteKey: string | null, visible: boolean, asks: boolean]> = {
    '/plain': [null, null, false, false],
    '/recaptcha': ['recaptcha', 'key-v2', true, true],
    '/recaptcha-rendered': ['recaptcha', 'key-rendered', true, true],
    '/recaptcha-invisible': ['recaptcha', 'key-invisible', false, true],
    '/recaptcha-puzzle': ['recaptcha', 'key-puzzle', true, true],
    '/recaptcha-score': ['recaptcha', 'key-score', false, false],
    '/hcaptcha': ['hcaptcha', 'key-h', true, true],
    '/turnstile': ['turnstile', 'key-t', true, true],
    '/challenge': ['cloudflare_challenge', null, true, true],
    '/arkose': ['arkose', '11111111-2222-3333-4444-555555555555', true, true],
    '/px': ['other', null, true, true],
    '/loading': ['turnstile', null, false, false],
    '/framed': ['turnstile', 'key-t', true, true],
    '/shadow': ['hcaptcha', 'key-shadow', false, true],
    '/two': ['hcaptcha', 'key-second', true, true],
    '/hostile': ['hcaptcha', 'key-hostile', false, true],
  };
  for (const [path, [type, siteKey, visible, asks]] of Object.entries(expectedByPath))
    it(`captcha detection reports the captcha on ${path}`, async () => {
      await tab.goTo(path);
      const detection = await captchas().detect(tab.page, limit());
      assert.deepEqual(
        {
          present: detection.present,
          type: detection.type,
          siteKey: detection.siteKey,
          visible: detection.visible,
          asks: detection.asks,
          answered: detection.answered,
        },
        { present: type !== null, type, siteKey, visible, asks, answered: false },
      );
    });

  it('captcha detection reports what the token is bound to', async () => {
    await tab.goTo('/turnstile');
    const { vendor, action, data } = await captchas().detect(tab.page, limit());
    assert.deepEqual({ vendor, action, data }, { vendor: 'turnstile', action: 'sign-up', data: 'more' });
  });

  it('captcha detection leaves no trace in the page', async () => {
    await tab.goTo('/turnstile');
    const state = 'JSON.stringify([Object.keys(window).length, document.documentElement.outerHTML])';
    const before = await tab.evaluate(state);
    await captchas().detect(tab.page, limit());
    assert.equal(await tab.evaluate(state), before);
  });

  it('captcha detection reports a captcha that is answered', async () => {
    await tab.goTo('/recaptcha');
    await tab.evaluate(`document.querySelector('textarea').value = 'by the visitor'`);
    assert.equal((await captchas().detect(tab.page, limit())).answered, true);
  });
});

describe('the status of a tab', () => {
  it('the captcha status of a tab follows the page, and keeps the start of each state', async () => {
    const watch = new CaptchaWatch(systemClock);
    const status = () => captchas().status(tab.page, { ...limit(), watch });
    assert.equal((await status()).state, 'undetected');
    await tab.goTo('/hcaptcha');
    const current = await status();
    assert.deepEqual({ ...current, since: null }, { present: true, vendor: 'hcaptcha', type: 'hcaptcha', state: 'detected', since: null });
    assert.deepEqual(await status(), current);
    await tab.evaluate(`document.querySelector('textarea').value = 'by the visitor'`);
    assert.equal((await status()).state, 'solved');
    await tab.goTo('/plain');
    assert.deepEqual({ ...(await status()), since: null }, { present: false, vendor: null, type: null, state: 'undetected', since: null });
  });

  it('the captcha status of a tab is failed_to_detect when the page does not answer', async () => {
    await tab.goTo('/plain');
    const asked = tab.site.requests.length;
    await tab.evaluate(`setTimeout(() => ${neverReturns}, 0)`);
    await until(() => tab.site.requests.slice(asked).some(({ path }) => path === '/never'));
    const watch = new CaptchaWatch(systemClock);
    assert.equal((await captchas().status(tab.page, { ...limit(), watch })).state, 'failed_to_detect');
  });
});

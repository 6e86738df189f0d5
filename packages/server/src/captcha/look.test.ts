import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { launch } from '../browser/testing/launch.ts';
import { openPages } from '../browser/testing/pages.ts';
import { systemClock } from '../lib/clock.ts';
import { CaptchaWatch } from './captcha.ts';
import { captchas, limit, Visit } from './visit.fixture.ts';

const visit = new Visit({ launch, openPages });

describe('a look', () => {
  const seen: Record<string, [type: string | null, siteKey: string | null, visible: boolean, asks: boolean]> = {
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
  for (const [path, [type, siteKey, visible, asks]] of Object.entries(seen))
    it(`tells what stands on ${path}`, async () => {
      await visit.goTo(path);
      const sight = await captchas().look(visit.page, limit());
      assert.deepEqual(
        {
          present: sight.present,
          type: sight.type,
          siteKey: sight.siteKey,
          visible: sight.visible,
          asks: sight.asks,
          answered: sight.answered,
        },
        { present: type !== null, type, siteKey, visible, asks, answered: false },
      );
    });

  it('tells what a site has bound the answer to', async () => {
    await visit.goTo('/turnstile');
    const { vendor, action, data } = await captchas().look(visit.page, limit());
    assert.deepEqual({ vendor, action, data }, { vendor: 'turnstile', action: 'sign-up', data: 'more' });
  });

  it('leaves nothing of itself in the page', async () => {
    await visit.goTo('/turnstile');
    const facts = 'JSON.stringify([Object.keys(window).length, document.documentElement.outerHTML])';
    const before = await visit.say(facts);
    await captchas().look(visit.page, limit());
    assert.equal(await visit.say(facts), before);
  });

  it('tells a captcha that is answered', async () => {
    await visit.goTo('/recaptcha');
    await visit.say(`document.querySelector('textarea').value = 'by the visitor'`);
    assert.equal((await captchas().look(visit.page, limit())).answered, true);
  });
});

describe('the status of a tab', () => {
  it('follows what the page shows, and keeps since when', async () => {
    const watch = new CaptchaWatch(systemClock);
    const status = () => captchas().status(visit.page, { ...limit(), watch });
    assert.equal((await status()).state, 'undetected');
    await visit.goTo('/hcaptcha');
    const found = await status();
    assert.deepEqual({ ...found, since: null }, { present: true, vendor: 'hcaptcha', type: 'hcaptcha', state: 'detected', since: null });
    assert.deepEqual(await status(), found);
    await visit.say(`document.querySelector('textarea').value = 'by the visitor'`);
    assert.equal((await status()).state, 'solved');
    await visit.goTo('/plain');
    assert.deepEqual({ ...(await status()), since: null }, { present: false, vendor: null, type: null, state: 'undetected', since: null });
  });

  it('is failed_to_detect where the page does not answer', async () => {
    await visit.goTo('/plain');
    await visit.say('setTimeout(() => { for (;;); }, 0)');
    const watch = new CaptchaWatch(systemClock);
    assert.equal((await captchas().status(visit.page, { ...limit(), watch })).state, 'failed_to_detect');
  });
});

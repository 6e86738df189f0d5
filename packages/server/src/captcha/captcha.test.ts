import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { launch } from '../browser/testing/launch.ts';
import { openPages } from '../browser/testing/pages.ts';
import type { Log } from '../lib/log.ts';
import { json, obliging, openEndpoint, secret, type Answer } from './captcha.fixture.ts';
import type { CaptchaEvent } from './captcha.ts';
import { captchas, limit, Told, Visit, withEndpoint } from './visit.fixture.ts';

const visit = new Visit({ launch, openPages });

describe('without a provider', () => {
  it('nobody is asked, and nothing is told', async () => {
    await visit.goTo('/recaptcha');
    const service = captchas();
    assert.deepEqual(service.configured, []);
    const { events, options } = new Told();
    const { result, units, waited, state } = await service.solve(visit.page, options);
    assert.deepEqual(
      { result, units, waited, state, events },
      { result: 'none', units: 0, waited: false, state: 'undetected', events: [] },
    );
  });

  it('one that is not configured is nobody as well', async () => {
    await visit.goTo('/recaptcha');
    const { options } = new Told({ provider: 'http' });
    assert.equal((await captchas({ human: true }).solve(visit.page, options)).result, 'none');
  });
});

describe('an answer of the endpoint', () => {
  const answered: Record<string, string[]> = {
    '/recaptcha': ['g-recaptcha-response'],
    '/recaptcha-rendered': ['g-recaptcha-response'],
    '/hcaptcha': ['h-captcha-response', 'g-recaptcha-response'],
    '/turnstile': ['mine'],
    '/turnstile-bare': ['cf-turnstile-response'],
    '/arkose': ['fc-token'],
    '/hostile': ['h-captcha-response'],
  };
  for (const [path, fields] of Object.entries(answered))
    it(`is put into the fields on ${path}`, async (t) => {
      const { service } = await withEndpoint(t);
      await visit.goTo(path);
      const told = new Told();
      const { options } = told;
      const { result, units, waited, state, url } = await service.solve(visit.page, options);
      assert.deepEqual(
        { result, units, waited, state, url },
        { result: 'solved', units: 1, waited: true, state: 'solved', url: `${visit.site.url}${path}` },
      );
      assert.deepEqual(told.types(), ['captcha.detected', 'captcha.solved']);
      const call = { ...limit(), timeoutMs: 5000 };
      const source = '(names) => names.map((name) => Document.prototype.querySelector.call(document, `[name="${name}"]`).value)';
      const values = await visit.page.call(visit.page.mainFrame(), source, [fields], call);
      assert.deepEqual(
        values,
        fields.map(() => 'a-token'),
      );
    });

  for (const path of ['/recaptcha', '/recaptcha-rendered', '/hcaptcha', '/arkose', '/turnstile-callback'])
    it(`is told to the site's callback on ${path}, once`, async (t) => {
      const { service } = await withEndpoint(t);
      await visit.goTo(path);
      assert.equal((await service.solve(visit.page, new Told().options)).state, 'solved');
      assert.deepEqual(await visit.say('told'), ['a-token']);
      assert.equal((await service.look(visit.page, limit())).answered, true);
    });

  it('is taken where the callback sends the page on', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await visit.goTo('/recaptcha-invisible');
    const { options } = new Told();
    const { result, units } = await service.solve(visit.page, options);
    assert.deepEqual({ result, units }, { result: 'solved', units: 1 });
    assert.equal(visit.page.url(), `${visit.site.url}/done?a-token`);
    assert.equal((await endpoint.heard('report')).good, true);
  });

  it('is put into the frame that the captcha stands in, and asked for with its address', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await visit.goTo('/framed');
    assert.equal((await service.solve(visit.page, new Told().options)).result, 'solved');
    assert.equal((await endpoint.heard('submit')).task?.['page_url'], `${visit.site.otherSite}/turnstile`);
    const [, frame] = await visit.page.frames(limit());
    const source = '() => document.querySelector("[name=mine]").value';
    assert.equal(await visit.page.call(frame?.id ?? '', source, [], { ...limit(), timeoutMs: 5000 }), 'a-token');
  });

  it('goes to the captcha that a visitor sees', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await visit.goTo('/two#part');
    assert.equal((await service.solve(visit.page, new Told().options)).result, 'solved');
    const { task } = await endpoint.heard('submit');
    assert.deepEqual(task, { type: 'hcaptcha', site_key: 'key-second', page_url: `${visit.site.url}/two`, action: null, data: null });
    assert.deepEqual(await visit.say(`[...document.querySelectorAll('textarea')].map((area) => area.value)`), ['', 'a-token']);
  });

  it('is reported good when the page keeps it', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await visit.goTo('/recaptcha');
    await service.solve(visit.page, new Told().options);
    const { id, good } = await endpoint.heard('report');
    assert.deepEqual({ id, good }, { id: 'job-1', good: true });
  });

  it('is reported bad, not charged and told as failed when the page lets it go', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await visit.goTo('/turnstile-forgets');
    const told = new Told();
    const { options, events, watch } = told;
    const { result, units, state } = await service.solve(visit.page, options);
    assert.deepEqual({ result, units, state }, { result: 'failed', units: 0, state: 'validation_failed' });
    assert.equal(events.at(-1)?.data['reason'], 'not_taken');
    assert.equal((await endpoint.heard('report')).good, false);
    assert.equal((await service.status(visit.page, { ...limit(), watch })).state, 'validation_failed');
    const again = await service.solve(visit.page, options);
    assert.equal(again.state, 'validation_failed');
  });

  it('that has no place is not charged', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await visit.goTo('/turnstile-throws');
    const { options, events } = new Told();
    const { result, units } = await service.solve(visit.page, options);
    assert.deepEqual({ result, units }, { result: 'failed', units: 0 });
    assert.equal(events.at(-1)?.data['reason'], 'no_place');
    assert.equal((await endpoint.heard('report')).good, false);
    assert.equal((await service.look(visit.page, limit())).answered, false);
  });

  it('is not waited for when somebody at the page was faster', async (t) => {
    const { endpoint, service } = await withEndpoint(t, ({ action }, response) =>
      json(response, action === 'submit' ? { id: 'job-1' } : { state: 'solving' }),
    );
    await visit.goTo('/recaptcha');
    const told = new Told();
    const { options } = told;
    const solved = service.solve(visit.page, options);
    await endpoint.heard('poll');
    await visit.say(`document.querySelector('textarea').value = 'by the visitor'`);
    const { result, units, state } = await solved;
    assert.deepEqual({ result, units, state }, { result: 'solved', units: 0, state: 'solved' });
    assert.deepEqual(told.types(), ['captcha.detected', 'captcha.solved']);
    assert.equal(await visit.valueOf('g-recaptcha-response'), 'by the visitor');
  });
});

describe('an endpoint that does not deliver', () => {
  const failures: Record<string, [Answer, string]> = {
    'gives up': [
      ({ action }, response) => json(response, action === 'submit' ? { id: 'job-1' } : { state: 'failed', error: 'words of the endpoint' }),
      'provider_failed',
    ],
    refuses: [(_, response) => json(response, {}, 403), 'provider_refused'],
    'lies about the id': [
      ({ action }, response) => json(response, { id: action === 'submit' ? 'job-1' : 'job-2', state: 'solved', token: 'a' }),
      'provider_bad_reply',
    ],
    'sends garbage': [(_, response) => void response.end('words of the endpoint'), 'provider_bad_reply'],
  };
  for (const [name, [answer, reason]] of Object.entries(failures))
    it(`fails with ${reason} when it ${name}`, async (t) => {
      const { service } = await withEndpoint(t, answer);
      await visit.goTo('/recaptcha');
      const { options, events, watch } = new Told();
      const { result, units, state, waited } = await service.solve(visit.page, options);
      assert.deepEqual({ result, units, state, waited }, { result: 'failed', units: 0, state: 'failed_to_solve', waited: true });
      assert.equal(events.at(-1)?.data['reason'], reason);
      assert.equal((await service.status(visit.page, { ...limit(), watch })).state, 'failed_to_solve');
      assert.equal(await visit.valueOf('g-recaptcha-response'), '');
    });

  it('ends at the deadline, whatever it does until then', async (t) => {
    const answers: Answer[] = [() => {}, (_, response) => json(response, {}, 500)];
    for (const answer of answers) {
      const { service } = await withEndpoint(t, answer);
      await visit.goTo('/recaptcha');
      const { options, events } = new Told({ deadlineMs: 300 });
      const { result, units, state, durationMs } = await service.solve(visit.page, options);
      assert.deepEqual({ result, units, state }, { result: 'timeout', units: 0, state: 'failed_to_solve' });
      assert.equal(events.at(-1)?.data['reason'], 'timeout');
      assert.ok(durationMs >= 290 && durationMs < 5000, `${durationMs} ms`);
    }
  });

  it('recovers when it comes back within the deadline', async (t) => {
    const { service } = await withEndpoint(t, (asked, response, count) => {
      if (asked.action !== 'report' && count === 1) response.destroy();
      else obliging(asked, response, count);
    });
    await visit.goTo('/recaptcha');
    assert.equal((await service.solve(visit.page, new Told().options)).result, 'solved');
  });

  it('can be tried again', async (t) => {
    const { service } = await withEndpoint(t, (asked, response, count) => {
      if (asked.action === 'poll' && count === 1) json(response, { state: 'failed' });
      else obliging(asked, response, count);
    });
    await visit.goTo('/recaptcha');
    const { options } = new Told();
    assert.equal((await service.solve(visit.page, options)).state, 'failed_to_solve');
    assert.equal((await service.solve(visit.page, options)).state, 'solved');
  });

  it('leaves nothing of its words, of the secret or of the page in the log', async (t) => {
    const lines: string[] = [];
    const keep = (facts: object, message: string): void => void lines.push(JSON.stringify(facts) + message);
    const log: Log = { debug: keep, info: keep, warn: keep, error: keep, child: () => log };
    const { service } = await withEndpoint(t, failures['gives up']?.[0], log);
    await visit.goTo('/recaptcha');
    await service.solve(visit.page, new Told().options);
    assert.equal(lines.length, 1);
    for (const word of [secret, 'words of', 'key-v2', '/recaptcha', 'job-1']) assert.ok(!lines[0]?.includes(word), word);
  });
});

describe('a person at the page', () => {
  it('is told until when, and waited for until the captcha is answered', async () => {
    await visit.goTo('/hcaptcha');
    const told = new Told();
    const { options, events, watch } = told;
    const solved = captchas({ human: true }).solve(visit.page, options);
    await told.of('captcha.awaiting_human');
    const { data } = events[1] as CaptchaEvent;
    assert.deepEqual(
      { ...data, deadline_at: '' },
      { tab_id: visit.page.tabId, vendor: 'hcaptcha', type: 'hcaptcha', url: `${visit.site.url}/hcaptcha`, deadline_at: '' },
    );
    assert.ok(Math.abs(Date.parse(String(data['deadline_at'])) - Date.now() - 15_000) < 5000);
    assert.equal(watch.of(visit.page.tabId).state, 'solving');
    await visit.say(`document.querySelector('[name=h-captcha-response]').value = 'by a person'`);
    const { result, units, waited, state } = await solved;
    assert.deepEqual({ result, units, waited, state }, { result: 'solved', units: 1, waited: true, state: 'solved' });
    assert.deepEqual(told.types(), ['captcha.detected', 'captcha.awaiting_human', 'captcha.solved']);
  });

  it('has solved it when the page goes on without it', async () => {
    await visit.goTo('/challenge');
    const told = new Told();
    const { options } = told;
    const solved = captchas({ human: true }).solve(visit.page, options);
    await told.of('captcha.awaiting_human');
    await visit.goTo('/plain');
    const { result, vendor } = await solved;
    assert.deepEqual({ result, vendor }, { result: 'solved', vendor: 'cloudflare' });
  });

  it('has not when the page only comes again', async () => {
    await visit.goTo('/challenge');
    const told = new Told({ deadlineMs: 1500 });
    const { options } = told;
    const solved = captchas({ human: true }).solve(visit.page, options);
    await told.of('captcha.awaiting_human');
    await visit.goTo('/challenge');
    assert.equal((await solved).result, 'timeout');
    assert.deepEqual(told.types(), ['captcha.detected', 'captcha.awaiting_human', 'captcha.failed']);
  });

  it('is asked where the endpoint can do nothing', async (t) => {
    const endpoint = await openEndpoint(t);
    const service = captchas({ http: { url: endpoint.url, secret }, human: true });
    assert.deepEqual(service.configured, ['http', 'human']);
    await visit.goTo('/px');
    const told = new Told();
    const { options } = told;
    const solved = service.solve(visit.page, options);
    await told.of('captcha.awaiting_human');
    await visit.goTo('/plain');
    await solved;
    assert.equal(endpoint.asked.length, 0);
    await visit.goTo('/px');
    const { result, state } = await service.solve(visit.page, { ...new Told().options, provider: 'http' });
    assert.deepEqual({ result, state }, { result: 'failed', state: 'failed_to_solve' });
  });
});

describe('a solve', () => {
  it('does nothing where nothing asks for an answer', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    for (const path of ['/plain', '/recaptcha-score', '/loading']) {
      await visit.goTo(path);
      const { options, events } = new Told();
      const { result, waited } = await service.solve(visit.page, options);
      assert.deepEqual({ result, waited, events }, { result: 'none', waited: false, events: [] }, path);
    }
    assert.equal(endpoint.asked.length, 0);
  });

  it('throws the reason of its signal, and leaves the captcha as failed', async () => {
    await visit.goTo('/recaptcha');
    const stop = new AbortController();
    const told = new Told({ signal: stop.signal });
    const { options, watch, events } = told;
    const solved = captchas({ human: true }).solve(visit.page, options);
    await told.of('captcha.awaiting_human');
    const reason = new Error('enough');
    stop.abort(reason);
    await assert.rejects(solved, reason);
    assert.equal(watch.of(visit.page.tabId).state, 'failed_to_solve');
    assert.equal(events.at(-1)?.data['reason'], 'cancelled');
  });

  it('ends with its tab', async () => {
    await visit.goTo('/recaptcha');
    const told = new Told();
    const { options, watch, events } = told;
    const solved = captchas({ human: true }).solve(visit.page, options);
    await told.of('captcha.awaiting_human');
    await visit.launched.browser.openTab({ active: true, ...limit() });
    const gone = once(visit.page.gone, 'abort');
    await visit.launched.browser.closeTab(visit.page.tabId, limit());
    await gone;
    const { result, units, state } = await solved;
    assert.deepEqual({ result, units, state }, { result: 'failed', units: 0, state: 'failed_to_solve' });
    assert.equal(events.at(-1)?.data['reason'], 'page_gone');
    assert.equal(watch.size, 0);
  });

  it('is one at a time on a tab', async () => {
    await visit.goTo('/recaptcha');
    const service = captchas({ human: true });
    const first = new Told();
    const solved = service.solve(visit.page, first.options);
    await first.of('captcha.awaiting_human');
    const { result, waited, state } = await service.solve(visit.page, first.options);
    assert.deepEqual({ result, waited, state }, { result: 'failed', waited: false, state: 'solving' });
    await visit.say(`document.querySelector('textarea').value = 'by a person'`);
    assert.equal((await solved).result, 'solved');
  });

  it('takes no longer than the operator lets it', async () => {
    await visit.goTo('/recaptcha');
    const { options } = new Told({ deadlineMs: 60_000 });
    assert.equal((await captchas({ human: true, timeoutMs: 200 }).solve(visit.page, options)).result, 'timeout');
  });
});

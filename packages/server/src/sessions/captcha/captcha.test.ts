import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import type { CaptchaState } from '@berth/contract';
import { launch } from '@berth/devtools/testing/launch.ts';
import { openPages } from '@berth/devtools/testing/pages.ts';
import type { Log } from '@berth/lib/log.ts';
import { json, solvingResponder, openEndpoint, secret, type Responder } from '../../../testing/captcha.ts';
import type { CaptchaEvent, CaptchaWatch } from './captcha.ts';
import { captchas, limit, SolveRecorder, TestTab, withEndpoint } from '../../../testing/test-tab.ts';
import { assertShort } from '../../../../../tests/yardstick.ts';

const tab = new TestTab({ launch, openPages });
const stateIn = (watch: CaptchaWatch): CaptchaState => watch.status(tab.page.tabId).state;

describe('without a provider', () => {
  it('a captcha solve without a provider does nothing and emits nothing', async () => {
    await tab.goTo('/recaptcha');
    const service = captchas();
    assert.deepEqual(service.configured, []);
    const { events, options, watch } = new SolveRecorder();
    assert.deepEqual(await service.solve(tab.page, options), { result: 'none', units: 0 });
    assert.deepEqual([stateIn(watch), events], ['undetected', []]);
  });

  it('a captcha solve with a provider that is not configured does nothing', async () => {
    await tab.goTo('/recaptcha');
    const { options } = new SolveRecorder({ provider: 'http' });
    assert.equal((await captchas({ human: true }).solve(tab.page, options)).result, 'none');
  });
});

describe('an answer of the endpoint', () => {
  const fieldsByPath: Record<string, string[]> = {
    '/recaptcha': ['g-recaptcha-response'],
    '/recaptcha-rendered': ['g-recaptcha-response'],
    '/hcaptcha': ['h-captcha-response', 'g-recaptcha-response'],
    '/turnstile': ['mine'],
    '/turnstile-bare': ['cf-turnstile-response'],
    '/arkose': ['fc-token'],
    '/hostile': ['h-captcha-response'],
  };
  for (const [path, fields] of Object.entries(fieldsByPath))
    it(`a captcha answer is put into the fields on ${path}`, async (t) => {
      const { service } = await withEndpoint(t);
      await tab.goTo(path);
      const recorder = new SolveRecorder();
      assert.deepEqual(await service.solve(tab.page, recorder.options), { result: 'solved', units: 1 });
      assert.equal(stateIn(recorder.watch), 'solved');
      assert.equal(recorder.events[0]?.data['url'], `${tab.site.url}${path}`);
      assert.deepEqual(recorder.types(), ['captcha.detected', 'captcha.solved']);
      const call = { ...limit(), timeoutMs: 20_000 };
      const source = '(names) => names.map((name) => Document.prototype.querySelector.call(document, `[name="${name}"]`).value)';
      const values = await tab.page.call(tab.page.mainFrame(), source, [fields], call);
      assert.deepEqual(
        values,
        fields.map(() => 'a-token'),
      );
    });

  for (const path of ['/recaptcha', '/recaptcha-rendered', '/hcaptcha', '/arkose', '/turnstile-callback'])
    it(`a captcha answer calls the site's callback on ${path}, once`, async (t) => {
      const { service } = await withEndpoint(t);
      await tab.goTo(path);
      assert.equal((await service.solve(tab.page, new SolveRecorder().options)).result, 'solved');
      assert.deepEqual(await tab.evaluate('received'), ['a-token']);
      assert.equal((await service.detect(tab.page, limit())).answered, true);
    });

  it('a captcha answer is accepted when the callback navigates', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await tab.goTo('/recaptcha-invisible');
    const { options } = new SolveRecorder();
    const { result, units } = await service.solve(tab.page, options);
    assert.deepEqual({ result, units }, { result: 'solved', units: 1 });
    assert.equal(tab.page.url(), `${tab.site.url}/done?a-token`);
    assert.equal((await endpoint.waitForRequest('report')).good, true);
  });

  it('a captcha answer goes into the frame that holds the captcha, and is requested for the address of that frame', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await tab.goTo('/framed');
    assert.equal((await service.solve(tab.page, new SolveRecorder().options)).result, 'solved');
    assert.equal((await endpoint.waitForRequest('submit')).task?.['page_url'], `${tab.site.otherSite}/turnstile`);
    const [, frame] = await tab.page.frames(limit());
    const source = '() => document.querySelector("[name=mine]").value';
    assert.equal(await tab.page.call(frame?.id ?? '', source, [], { ...limit(), timeoutMs: 20_000 }), 'a-token');
  });

  it('a captcha answer goes to the captcha that a visitor sees', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await tab.goTo('/two#part');
    assert.equal((await service.solve(tab.page, new SolveRecorder().options)).result, 'solved');
    const { task } = await endpoint.waitForRequest('submit');
    assert.deepEqual(task, { type: 'hcaptcha', site_key: 'key-second', page_url: `${tab.site.url}/two`, action: null, data: null });
    assert.deepEqual(await tab.evaluate(`[...document.querySelectorAll('textarea')].map((area) => area.value)`), ['', 'a-token']);
  });

  it('a captcha answer is reported good when the page keeps it', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await tab.goTo('/recaptcha');
    await service.solve(tab.page, new SolveRecorder().options);
    const { id, good } = await endpoint.waitForRequest('report');
    assert.deepEqual({ id, good }, { id: 'job-1', good: true });
  });

  it('a captcha answer is reported bad, not charged and failed when the page removes it', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await tab.goTo('/turnstile-forgets');
    const recorder = new SolveRecorder();
    const { options, events, watch } = recorder;
    assert.deepEqual(await service.solve(tab.page, options), { result: 'failed', units: 0 });
    assert.equal(stateIn(watch), 'validation_failed');
    assert.equal(events.at(-1)?.data['reason'], 'token_rejected');
    assert.equal((await endpoint.waitForRequest('report')).good, false);
    assert.equal((await service.status(tab.page, { ...limit(), watch })).state, 'validation_failed');
    assert.equal((await service.solve(tab.page, options)).result, 'failed');
    assert.equal(stateIn(watch), 'validation_failed');
  });

  it('a captcha answer without a response field is not charged', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    await tab.goTo('/turnstile-throws');
    const { options, events } = new SolveRecorder();
    const { result, units } = await service.solve(tab.page, options);
    assert.deepEqual({ result, units }, { result: 'failed', units: 0 });
    assert.equal(events.at(-1)?.data['reason'], 'no_response_field');
    assert.equal((await endpoint.waitForRequest('report')).good, false);
    assert.equal((await service.detect(tab.page, limit())).answered, false);
  });

  it('a captcha answer is not awaited when a visitor was faster', async (t) => {
    const { endpoint, service } = await withEndpoint(t, ({ action }, response) =>
      json(response, action === 'submit' ? { id: 'job-1' } : { state: 'solving' }),
    );
    await tab.goTo('/recaptcha');
    const recorder = new SolveRecorder();
    const { options, watch } = recorder;
    const solved = service.solve(tab.page, options);
    await endpoint.waitForRequest('poll');
    await tab.evaluate(`document.querySelector('textarea').value = 'by the visitor'`);
    assert.deepEqual(await solved, { result: 'solved', units: 0 });
    assert.equal(stateIn(watch), 'solved');
    assert.deepEqual(recorder.types(), ['captcha.detected', 'captcha.solved']);
    assert.equal(await tab.valueOf('g-recaptcha-response'), 'by the visitor');
  });
});

describe('an endpoint that does not deliver', () => {
  const failures: Record<string, [Responder, string]> = {
    'gives up': [
      ({ action }, response) => json(response, action === 'submit' ? { id: 'job-1' } : { state: 'failed', error: 'words of the endpoint' }),
      'provider_failed',
    ],
    refuses: [(_, response) => json(response, {}, 403), 'provider_refused'],
    'lies about the id': [
      ({ action }, response) => json(response, { id: action === 'submit' ? 'job-1' : 'job-2', state: 'solved', token: 'a' }),
      'provider_invalid_response',
    ],
    'sends garbage': [(_, response) => void response.end('words of the endpoint'), 'provider_invalid_response'],
  };
  for (const [name, [answer, reason]] of Object.entries(failures))
    it(`a captcha solve fails with ${reason} when the endpoint ${name}`, async (t) => {
      const { service } = await withEndpoint(t, answer);
      await tab.goTo('/recaptcha');
      const { options, events, watch } = new SolveRecorder();
      assert.deepEqual(await service.solve(tab.page, options), { result: 'failed', units: 0 });
      assert.equal(stateIn(watch), 'failed_to_solve');
      assert.equal(events.at(-1)?.data['reason'], reason);
      assert.equal((await service.status(tab.page, { ...limit(), watch })).state, 'failed_to_solve');
      assert.equal(await tab.valueOf('g-recaptcha-response'), '');
    });

  it('a captcha solve ends at the deadline, whatever the endpoint does until then', async (t) => {
    const answers: Responder[] = [() => {}, (_, response) => json(response, {}, 500)];
    for (const answer of answers) {
      const { service } = await withEndpoint(t, answer);
      await tab.goTo('/recaptcha');
      const { options, events, watch } = new SolveRecorder({ deadlineMs: 1500 });
      const startedMs = performance.now();
      assert.deepEqual(await service.solve(tab.page, options), { result: 'timeout', units: 0 });
      const durationMs = performance.now() - startedMs;
      assert.equal(stateIn(watch), 'failed_to_solve');
      assert.equal(events.at(-1)?.data['reason'], 'timeout');
      // The operator's own limit is twenty seconds.
      assert.ok(durationMs >= 1490, `${durationMs} ms`);
      assertShort(durationMs, 12_000);
    }
  });

  it('a captcha solve recovers when the endpoint comes back within the deadline', async (t) => {
    const { service } = await withEndpoint(t, (request, response, count) => {
      if (request.action !== 'report' && count === 1) response.destroy();
      else solvingResponder(request, response, count);
    });
    await tab.goTo('/recaptcha');
    assert.equal((await service.solve(tab.page, new SolveRecorder().options)).result, 'solved');
  });

  it('a failed captcha solve can be retried', async (t) => {
    const { service } = await withEndpoint(t, (request, response, count) => {
      if (request.action === 'poll' && count === 1) json(response, { state: 'failed' });
      else solvingResponder(request, response, count);
    });
    await tab.goTo('/recaptcha');
    const { options, watch } = new SolveRecorder();
    assert.equal((await service.solve(tab.page, options)).result, 'failed');
    assert.equal(stateIn(watch), 'failed_to_solve');
    assert.equal((await service.solve(tab.page, options)).result, 'solved');
    assert.equal(stateIn(watch), 'solved');
  });

  it('a failed captcha solve leaves nothing of its text, the secret or the page in the log', async (t) => {
    const lines: string[] = [];
    const write = (fields: object, message: string): void => void lines.push(JSON.stringify(fields) + message);
    const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
    const { service } = await withEndpoint(t, failures['gives up']?.[0], log);
    await tab.goTo('/recaptcha');
    await service.solve(tab.page, new SolveRecorder().options);
    assert.equal(lines.length, 1);
    for (const word of [secret, 'words of', 'key-v2', '/recaptcha', 'job-1']) assert.ok(!lines[0]?.includes(word), word);
  });
});

describe('a person at the page', () => {
  it('a person who solves a captcha gets a deadline, and is awaited until the captcha is answered', async () => {
    await tab.goTo('/hcaptcha');
    const recorder = new SolveRecorder();
    const { options, events, watch } = recorder;
    const solved = captchas({ human: true }).solve(tab.page, options);
    await recorder.waitFor('captcha.awaiting_human');
    const { data } = events[1] as CaptchaEvent;
    assert.deepEqual(
      { ...data, deadline_at: '' },
      { tab_id: tab.page.tabId, vendor: 'hcaptcha', type: 'hcaptcha', url: `${tab.site.url}/hcaptcha`, deadline_at: '' },
    );
    assert.ok(Math.abs(Date.parse(String(data['deadline_at'])) - Date.now() - 15_000) < 12_000);
    assert.equal(watch.status(tab.page.tabId).state, 'solving');
    await tab.evaluate(`document.querySelector('[name=h-captcha-response]').value = 'by a person'`);
    assert.deepEqual(await solved, { result: 'solved', units: 1 });
    assert.equal(stateIn(watch), 'solved');
    assert.deepEqual(recorder.types(), ['captcha.detected', 'captcha.awaiting_human', 'captcha.solved']);
  });

  it('a captcha is solved by a person when the page moves on without it', async () => {
    await tab.goTo('/challenge');
    const recorder = new SolveRecorder();
    const { options } = recorder;
    const solved = captchas({ human: true }).solve(tab.page, options);
    await recorder.waitFor('captcha.awaiting_human');
    await tab.goTo('/plain');
    assert.equal((await solved).result, 'solved');
    assert.equal(recorder.events.at(-1)?.data['vendor'], 'cloudflare');
  });

  it('a captcha is not solved by a person when the page only reloads', async () => {
    await tab.goTo('/challenge');
    const recorder = new SolveRecorder({ deadlineMs: 3000 });
    const { options } = recorder;
    const solved = captchas({ human: true }).solve(tab.page, options);
    await recorder.waitFor('captcha.awaiting_human');
    await tab.goTo('/challenge');
    assert.equal((await solved).result, 'timeout');
    assert.deepEqual(recorder.types(), ['captcha.detected', 'captcha.awaiting_human', 'captcha.failed']);
  });

  it('a person is asked for a captcha of a type that the endpoint does not support', async (t) => {
    const endpoint = await openEndpoint(t);
    const service = captchas({ http: { url: endpoint.url, secret }, human: true });
    assert.deepEqual(service.configured, ['http', 'human']);
    await tab.goTo('/px');
    const recorder = new SolveRecorder();
    const { options } = recorder;
    const solved = service.solve(tab.page, options);
    await recorder.waitFor('captcha.awaiting_human');
    await tab.goTo('/plain');
    await solved;
    assert.equal(endpoint.requests.length, 0);
    await tab.goTo('/px');
    const refused = new SolveRecorder({ provider: 'http' });
    assert.equal((await service.solve(tab.page, refused.options)).result, 'failed');
    assert.equal(stateIn(refused.watch), 'failed_to_solve');
  });
});

describe('a solve', () => {
  it('a captcha solve does nothing when the page asks for no answer', async (t) => {
    const { endpoint, service } = await withEndpoint(t);
    for (const path of ['/plain', '/recaptcha-score', '/loading']) {
      await tab.goTo(path);
      const { options, events } = new SolveRecorder();
      const { result } = await service.solve(tab.page, options);
      assert.deepEqual({ result, events }, { result: 'none', events: [] }, path);
    }
    assert.equal(endpoint.requests.length, 0);
  });

  it('a captcha solve throws the reason of its signal, and leaves the captcha as failed', async () => {
    await tab.goTo('/recaptcha');
    const stop = new AbortController();
    const recorder = new SolveRecorder({ signal: stop.signal });
    const { options, watch, events } = recorder;
    const solved = captchas({ human: true }).solve(tab.page, options);
    await recorder.waitFor('captcha.awaiting_human');
    const reason = new Error('enough');
    stop.abort(reason);
    await assert.rejects(solved, reason);
    assert.equal(watch.status(tab.page.tabId).state, 'failed_to_solve');
    assert.equal(events.at(-1)?.data['reason'], 'cancelled');
  });

  it('a captcha solve ends with its tab', async () => {
    await tab.goTo('/recaptcha');
    const recorder = new SolveRecorder();
    const { options, watch, events } = recorder;
    const solved = captchas({ human: true }).solve(tab.page, options);
    await recorder.waitFor('captcha.awaiting_human');
    await tab.launched.browser.openTab({ active: true, ...limit() });
    const closed = once(tab.page.closed, 'abort');
    await tab.launched.browser.closeTab(tab.page.tabId, limit());
    await closed;
    assert.deepEqual(await solved, { result: 'failed', units: 0 });
    assert.equal(events.at(-1)?.data['reason'], 'page_closed');
    assert.equal(watch.size, 0);
  });

  it('a tab has one captcha solve at a time', async () => {
    await tab.goTo('/recaptcha');
    const service = captchas({ human: true });
    const first = new SolveRecorder();
    const solved = service.solve(tab.page, first.options);
    await first.waitFor('captcha.awaiting_human');
    assert.equal((await service.solve(tab.page, first.options)).result, 'failed');
    assert.equal(stateIn(first.watch), 'solving');
    await tab.evaluate(`document.querySelector('textarea').value = 'by a person'`);
    assert.equal((await solved).result, 'solved');
  });

  it('a captcha solve takes no longer than the operator allows', async () => {
    await tab.goTo('/recaptcha');
    const { options } = new SolveRecorder({ deadlineMs: 60_000 });
    assert.equal((await captchas({ human: true, timeoutMs: 200 }).solve(tab.page, options)).result, 'timeout');
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, navigate, type NavigateResponse } from '@berth/contract';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client } from '../../harness.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';
import { assertShort } from '../../yardstick.ts';

const challenge = (script: string) => page('Just a moment...', `<div id="challenge-running">Checking.</div><script>${script}</script>`);

/** Time for which the challenge is shown: a busy machine has looked at it by then, and the service still waits. */
const passesAfterMs = 2500;
/** The service looks at a challenge again after this time. */
const pollMs = 500;
/** The service waits no longer for a challenge, whatever time is left. */
const challengeMsMax = 8000;

/** A challenge that lets each visitor pass after a while, as firewalls do. */
function firewall({ headers }: IncomingMessage, response: ServerResponse): void {
  const passed = headers.cookie?.includes('passed=1') === true;
  if (passed) response.writeHead(200, { 'content-type': 'text/html' }).end(page('Inside', `<p>${'You are in. '.repeat(100)}</p>`));
  else
    response
      .writeHead(403, { 'content-type': 'text/html', 'cf-mitigated': 'challenge', server: 'cloudflare' })
      .end(challenge(`setTimeout(() => { document.cookie = 'passed=1'; location.reload(); }, ${passesAfterMs})`));
}

describe('block detection of a navigation', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  let params: { session_id: string };
  before(async () => {
    site = await startSite({
      pages: {
        '/firewall': firewall,
        '/never': (_, response) =>
          void response.writeHead(403, { 'content-type': 'text/html', 'cf-mitigated': 'challenge' }).end(challenge('')),
        '/slow-down': (_, response) =>
          void response.writeHead(429, { 'content-type': 'text/html', 'retry-after': '120' }).end(page('Slow down', 'Too many.')),
        '/login': page(
          'Log in',
          `<form><label>Name <input></label><div class="g-recaptcha" data-sitekey="x"></div><button>Log in</button></form><p>${'Welcome to our site. '.repeat(60)}</p>`,
        ),
        '/about-cloudflare': page('Attention Required! | Cloudflare explained', `<p>${'A page that is about firewalls. '.repeat(50)}</p>`),
        '/spins': page('Spins', `<p>text</p><script>addEventListener('load', () => setTimeout(() => { for (;;); }))</script>`),
      },
    });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    client = service.client;
    params = { session_id: (await client.call(createSession, { body: {} })).body.session_id };
  });
  after(async () => {
    await service.close();
    await site.close();
  });
  const go = async (path: string, more: object = {}): Promise<NavigateResponse> => {
    const { status, body, text } = await client.call(navigate, { params, body: { url: site.url + path, ...more } });
    assert.equal(status, 200, text);
    return body;
  };

  it('block detection of a navigation reports nothing for an ordinary page, a missing one and a broken one', async () => {
    for (const path of ['/', '/status/404', '/status/500', '/about-cloudflare']) {
      const { block, warnings } = await go(path);
      assert.equal(block, null, `${path}: ${JSON.stringify(block)} ${warnings.join(' ')}`);
    }
  });

  it('block detection waits for a challenge that passes by itself', async () => {
    const done = await go('/firewall');
    assert.deepEqual([done.title, done.status_code, done.final_url], ['Inside', 200, `${site.url}/firewall`]);
    assert.deepEqual([done.block, done.warnings], [null, ['challenge_cleared:challenge:cloudflare']]);
    assert.ok(done.duration_ms >= pollMs, `${done.duration_ms} ms`);
  });

  it('block detection reports a block when the challenge does not pass within the timeout', async () => {
    const done = await go('/never', { timeout_ms: 5000 });
    assert.deepEqual(
      [done.status_code, done.block?.blocked, done.block?.vendor, done.block?.confidence],
      [403, true, 'cloudflare', 'high'],
    );
    // It has what the page's load has left of the timeout.
    const waitedMs = done.block?.challenge_waited_ms ?? 0;
    assert.ok(waitedMs >= pollMs, `${waitedMs} ms`);
    assertShort(waitedMs, challengeMsMax);
  });

  it('a navigation does not wait for a challenge when block detection is off', async () => {
    const done = await go('/never', { block_detection: 'off' });
    assert.deepEqual([done.block, done.warnings], [null, []]);
    assertShort(done.duration_ms, challengeMsMax);
  });

  it('block detection reports the site’s Retry-After', async () => {
    const { block } = await go('/slow-down');
    assert.deepEqual([block?.blocked, block?.type, block?.retry_after_seconds], [true, 'rate_limited', 120]);
  });

  it('block detection reports a captcha on a login form, which is not a block', async () => {
    const { block, captcha } = await go('/login');
    assert.deepEqual([block?.blocked ?? false, captcha.present, captcha.vendor], [false, true, 'recaptcha']);
  });

  it('block detection works when the page is unresponsive', async () => {
    const done = await go('/spins');
    assert.deepEqual([done.status_code, done.block, done.warnings], [200, null, []]);
    // Each question to the page has a limit of its own: else it would take the navigation's thirty seconds.
    assertShort(done.duration_ms, 15_000);
  });
});

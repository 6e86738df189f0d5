import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { createOwnKey, listOwnKeys, listSessions, revokeOwnKey, type ReplyOf } from '@berth/contract';
import { systemClock, type Clock } from '@berth/lib/clock.ts';
import { Client, startApp, type TestApp } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { IdentityProvider } from './identity-provider.ts';
import { Service, lastingState } from '../service.ts';
import { ViewerBrowser, slowMs, type Viewer } from '../watch/viewing.ts';

/** A shifted clock, so that tests need not wait. */
class LateClock implements Clock {
  #lateMs = 0;

  now(): Date {
    return new Date(systemClock.now().getTime() + this.#lateMs);
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#lateMs;
  }

  advance(ms: number): void {
    this.#lateMs += ms;
  }
}

const coolDownMs = 30_000;
const maxAgeMs = 600_000;

describe('users of an identity provider', () => {
  const clock = new LateClock();
  let provider: IdentityProvider;
  let app: TestApp;
  before(async () => {
    provider = await IdentityProvider.start();
    app = await startApp({ clock, environment: provider.environment });
  });
  after(async () => {
    await app?.close();
    await provider?.close();
  });

  const makeKey = async (token: string): Promise<ReplyOf<typeof createOwnKey>> => {
    const reply = await app.call(createOwnKey, { key: token, body: { name: 'of a person' } });
    assert.equal(reply.status, 200, reply.text);
    return reply.body;
  };
  const statusOf = async (token: string): Promise<number> => (await app.call(listOwnKeys, { key: token })).status;

  it('users of an identity provider sign in by the authorization code flow and create working keys of their organisation', async () => {
    const [ada, bob] = [await provider.signIn('ada@acme'), await provider.signIn('bob@other')];
    const made = await makeKey(ada.accessToken);
    assert.deepEqual([made.owner, made.created_by], ['acme', 'login:ada@acme']);
    assert.equal((await app.call(listSessions, { key: made.key })).status, 200);

    assert.deepEqual((await app.call(listOwnKeys, { key: bob.accessToken })).body, []);
    await app.refuse(revokeOwnKey, 'key_not_found', { key: bob.accessToken, params: { key_id: made.key_id } });
    assert.equal((await app.call(listSessions, { key: made.key })).status, 200);

    assert.equal((await app.call(revokeOwnKey, { key: ada.accessToken, params: { key_id: made.key_id } })).status, 200);
    await app.refuse(listSessions, 'invalid_api_key', { key: made.key });
  });

  it('users of an identity provider are refused with an ID token of their application', async () => {
    const { idToken } = await provider.signIn('ada@acme');
    await app.refuse(createOwnKey, 'invalid_login_token', { key: idToken, body: {} });
  });

  it('users of an identity provider stay signed in during a key rotation of the provider', async () => {
    const before = (await provider.signIn('ada@acme')).accessToken;
    assert.equal(await statusOf(before), 200);
    await provider.rotate();
    const since = (await provider.signIn('ada@acme')).accessToken;
    clock.advance(coolDownMs);
    assert.deepEqual([await statusOf(since), await statusOf(before)], [200, 200]);

    provider.withdraw();
    clock.advance(maxAgeMs);
    assert.equal(await statusOf(since), 200);
    await app.refuse(listOwnKeys, 'invalid_login_token', { key: before });
  });

  it('users of an identity provider stay signed in while the provider is unavailable for less than ten minutes', async () => {
    const { accessToken } = await provider.signIn('ada@acme');
    assert.equal(await statusOf(accessToken), 200);
    provider.fail();
    clock.advance(maxAgeMs / 2);
    assert.equal(await statusOf(accessToken), 200);
    clock.advance(maxAgeMs / 2);
    const { reply } = await app.refuse(listOwnKeys, 'login_unavailable', { key: accessToken });
    assert.ok(Number(reply.headers.get('retry-after')) <= coolDownMs / 1000);

    provider.open();
    clock.advance(coolDownMs);
    assert.equal(await statusOf(accessToken), 200);
  });
});

describe('the development sign-in', () => {
  let state: Awaited<ReturnType<typeof lastingState>>;
  let service: Service;
  let viewers: ViewerBrowser;
  let viewer: Viewer;
  const start = (): Promise<Service> =>
    Service.start({ dataDir: state.dataDir, environment: { BERTH_DEV_IDP: '1', ...state.environment } });
  before(async () => {
    state = await lastingState();
    [service, viewers] = await Promise.all([start(), ViewerBrowser.launch()]);
    viewer = await viewers.newViewer({ origin: service.url });
  });
  after(async () => {
    await viewers?.close();
    await service?.close();
    await state?.remove();
  });

  const textOf = (label: string): Promise<string> => viewer.page.getByLabel(label).inputValue();

  it('the development sign-in works by keyboard, reports invalid input and issues a token that creates a key', async () => {
    const { page } = viewer;
    await viewer.open(`${service.url}/dev-idp`);
    await viewer.inspect('sign-in');
    await page.keyboard.type('ada@example.com');
    await page.keyboard.press('Tab');
    await page.keyboard.type('two words');
    await page.keyboard.press('Enter');
    await page.getByText('without blanks').waitFor();
    await viewer.inspect('sign-in-mistyped');
    assert.equal(await textOf('E-mail'), 'ada@example.com');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'organisation');
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('acme');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    await viewer.inspect('signed-in');

    const token = await textOf('Login token');
    const client = new Client(service.url, token);
    const made = await client.call(createOwnKey, { key: token, body: { name: 'mine' } });
    assert.deepEqual([made.status, made.body.owner, made.body.created_by], [200, 'acme', 'login:ada@example.com']);
    assert.equal((await client.call(listSessions, { key: made.body.key })).status, 200);
    const command = await textOf('Create a key: the response is the only place that shows it');
    assert.ok(command.startsWith(`TOKEN='${token}'\ncurl -X POST ${service.url}/v1/keys `), command);
    // The expected issue is a response with an error status.
    viewer.assertNoIssues({ except: /^console: .*422/ });
  });

  it('the development sign-in fits a phone', nightly, async () => {
    const caller = await viewers.newViewer({ origin: service.url, viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
    await caller.open(`${service.url}/dev-idp`);
    await caller.page.getByLabel('E-mail').fill('ada@example.com');
    await caller.page.getByLabel('Organisation').fill('acme');
    await caller.page.getByRole('button', { name: 'Sign in' }).click();
    await caller.page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    assert.equal(await caller.page.evaluate(() => document.documentElement.scrollWidth), 360);
    await caller.inspect('signed-in-telephone');
    caller.assertNoIssues();
    await caller.close();
  });

  it('the development sign-in signs in to a local application that exchanges its code in the browser', async () => {
    const program = await startProgram(service.url);
    try {
      const { page } = viewer;
      await page.goto(program.url);
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.getByText(`To continue to ${new URL(program.url).host}.`).waitFor();
      await viewer.inspect('sign-in-for-a-program');
      await page.getByLabel('E-mail').fill('bob@example.com');
      await page.getByLabel('Organisation').fill('other');
      await page.getByRole('button', { name: 'Sign in' }).click();
      const token = await page.locator('[data-testid=token]:not(:empty)').textContent({ timeout: slowMs });
      assert.equal((await new Client(service.url, '').call(listOwnKeys, { key: token })).status, 200);
    } finally {
      await program.close();
    }
  });

  it('the development sign-in writes no token or code to the log', () => {
    assert.doesNotMatch(service.errors + service.output, /eyJ[\w-]{10}|[?&]code=|code_challenge/);
  });

  it('the development sign-in issues tokens that survive a restart', async () => {
    const signedIn = await fetch(`${service.url}/dev-idp/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ email: 'eve@example.com', organisation: 'acme' }),
    });
    const [, token = ''] = />(eyJ[\w.-]+)</.exec(await signedIn.text()) ?? [];
    await service.stop();
    const again = await start();
    try {
      assert.equal((await again.client.call(listOwnKeys, { key: token })).status, 200);
    } finally {
      await again.stop();
    }
  });
});

interface Program {
  url: string;
  close(): Promise<void>;
}

/** A single-page application that signs users in without its own server. */
async function startProgram(service: string): Promise<Program> {
  const verifier = randomBytes(32).toString('base64url');
  const server: Server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(
      request.url?.startsWith('/callback')
        ? exchangePage(service, verifier, `${url}/callback`)
        : startPage(service, verifier, `${url}/callback`),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    url,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

function startPage(service: string, verifier: string, callback: string): string {
  const authorizeUrl = new URLSearchParams({
    response_type: 'code',
    client_id: 'a program',
    redirect_uri: callback,
    state: 'state-1',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return `<!doctype html><title>A program</title><a href="${service}/dev-idp/authorize?${authorizeUrl.toString().replaceAll('&', '&amp;')}">Sign in</a>`;
}

const exchangePage = (
  service: string,
  verifier: string,
  callback: string,
): string => `<!doctype html><title>A program</title><p data-testid="token"></p><script type="module">
  const discovery = await (await fetch('${service}/dev-idp/.well-known/openid-configuration')).json();
  const answer = new URLSearchParams(location.search);
  if (answer.get('state') !== 'state-1' || answer.get('iss') !== discovery.issuer) throw new Error('not what was asked for');
  const fields = { grant_type: 'authorization_code', client_id: 'a program', redirect_uri: '${callback}', code: answer.get('code'), code_verifier: '${verifier}' };
  const reply = await fetch(discovery.token_endpoint, { method: 'POST', body: new URLSearchParams(fields) });
  const { access_token } = await reply.json();
  const place = document.querySelector('p');
  place.textContent = access_token;
</script>`;

/** An inspection of an application that signs in by OAuth's code flow with PKCE, at the development issuer of a real service. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, it } from 'node:test';
import { inspect } from '@berth/contract';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const email = 'ada.vermeer@example.com';

/** The application keeps its verifier and token where a page script finds them. */
const application = (issuer: string): string =>
  page(
    'Desk',
    `<button id="go" disabled>Sign in</button><p id="state"></p><script type="module">
    const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const back = location.origin + '/desk';
    const provider = await (await fetch('${issuer}/.well-known/openid-configuration')).json();
    go.onclick = async () => {
      const verifier = base64(crypto.getRandomValues(new Uint8Array(32)));
      sessionStorage.setItem('verifier', verifier);
      const challenge = base64(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)));
      const request = { response_type: 'code', client_id: 'desk', redirect_uri: back, code_challenge: challenge, code_challenge_method: 'S256', state: 's1' };
      location.href = provider.authorization_endpoint + '?' + new URLSearchParams(request);
    };
    go.disabled = false;
    const code = new URLSearchParams(location.search).get('code');
    if (code) {
      const exchange = { grant_type: 'authorization_code', code, client_id: 'desk', redirect_uri: back, code_verifier: sessionStorage.getItem('verifier') };
      const { access_token: token } = await (await fetch(provider.token_endpoint, { method: 'POST', body: new URLSearchParams(exchange) })).json();
      sessionStorage.setItem('access_token', token);
      const me = await (await fetch('/api/me', { headers: { authorization: 'Bearer ' + token } })).json();
      state.textContent = 'Signed in: ' + me.ok;
    }
    </script>`,
  );

/** Returns a free port below those that the kernel gives to connections: nobody takes it before the service listens. */
async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_000);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isFree ? port : freePort();
}

let site: Site;
let service: Service;
/** The token as the site received it. */
let token = '';
before(async () => {
  // The service's own port is closed to browsers unless the operator names it.
  const port = await freePort();
  site = await startSite({
    pages: {
      '/desk': application(`http://127.0.0.1:${port}/dev-idp`),
      '/api/me': ({ headers }, response) => {
        token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
        response.writeHead(token ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify({ ok: token !== '' }));
      },
    },
  });
  const environment = { BERTH_DEV_IDP: '1', BERTH_PORT: String(port), BERTH_EGRESS_ALLOW: `${site.host},127.0.0.1:${port}` };
  service = await Service.start({ environment });
});
after(async () => {
  await service?.close();
  await site?.close();
});

it('an inspection of a sign-in names the issuer, the flow and the token, and holds none of their secrets', async () => {
  const steps = [
    { type: 'click', selectors: ['#go'] },
    { type: 'fill', selectors: ['[name=email]'], value: email },
    { type: 'fill', selectors: ['[name=organisation]'], value: 'acme' },
    { type: 'press', keys: 'Enter' },
    { type: 'wait', text: 'Signed in: true', timeout_ms: 30_000 },
  ];
  const body = {
    url: `${site.url}/desk`,
    actions: steps,
    settle_ms: 0,
    capture_bodies: 'samples',
    include: ['api', 'openapi', 'client', 'auth', 'har'],
  };
  const reply = await service.client.call(inspect, { body });
  assert.equal(reply.body.status, 'ok', JSON.stringify([reply.body.error, reply.body.actions]));
  assert.deepEqual(
    reply.body.actions.map(({ status }) => status),
    steps.map(() => 'ok'),
    JSON.stringify(reply.body.actions),
  );
  const auth = reply.body.auth ?? assert.fail('no section');
  const issuer = `${service.url}/dev-idp`;
  const { confidence: _, evidence: __, ...oidc } = auth.oidc ?? assert.fail('no provider');
  assert.deepEqual(oidc, {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    scopes_supported: [],
    pkce: 'S256',
    discovery: true,
  });
  assert.ok(
    auth.mechanisms.some(({ type }) => type === 'oauth2'),
    JSON.stringify(auth.mechanisms.map(({ type }) => type)),
  );
  const bearer = auth.mechanisms.find(({ type }) => type === 'bearer_jwt') ?? assert.fail('no token');
  assert.deepEqual(
    [bearer.in, bearer.name, bearer.storage, bearer.jwt?.alg, bearer.jwt?.iss],
    ['header', 'authorization', 'session', 'EdDSA', issuer],
  );
  assert.ok(bearer.jwt?.claim_names.includes('org_id'));
  assert.ok(token.length > 100);
  for (const secret of [token, token.split('.')[1] ?? '', email, encodeURIComponent(email)])
    assert.ok(
      !reply.text.includes(secret),
      `${secret} in …${reply.text.slice(Math.max(0, reply.text.indexOf(secret) - 200), reply.text.indexOf(secret) + 60)}`,
    );
  assert.doesNotMatch(reply.text, /code_verifier=(?!\{\{|%7B%7B)/);
  assert.doesNotMatch(reply.text, /[?&]code=(?!\{\{|%7B%7B)/);
});

/** A real identity provider on loopback, and an application that signs users in with it. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import { CookieJar } from 'tough-cookie';

const audience = 'https://berth.example/api';
const clientId = 'dashboard';
/** Nothing listens there: the code is read from the address. */
const callback = 'http://127.0.0.1:1/callback';

export interface Tokens {
  /** Token for the service. */
  accessToken: string;
  /** Token for the application only. */
  idToken: string;
}

const newSigningKey = async (kid: string): Promise<JWK> => {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
};

export class IdentityProvider {
  readonly issuer: string;
  readonly #server: Server;
  readonly #cookieKeys = [randomBytes(32).toString('hex')];
  #keys: JWK[] = [];
  #handle: ((request: IncomingMessage, response: ServerResponse) => void) | null = null;

  private constructor(server: Server, issuer: string) {
    this.#server = server;
    this.issuer = issuer;
  }

  static async start(): Promise<IdentityProvider> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const started = new IdentityProvider(server, `http://127.0.0.1:${(server.address() as { port: number }).port}`);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (started.#handle) started.#handle(request, response);
      else response.writeHead(503).end();
    });
    await started.rotate();
    return started;
  }

  /** The service's configuration. Keys are found by discovery. */
  get environment(): Record<string, string> {
    return { BERTH_OIDC_ISSUER: this.issuer, BERTH_OIDC_AUDIENCE: audience, BERTH_OIDC_ORG_CLAIM: 'org_id' };
  }

  /** Switches to a new signing key. The previous one stays published until `withdraw`. */
  async rotate(): Promise<void> {
    this.#keys = [await newSigningKey(`key-${randomBytes(4).toString('hex')}`), ...this.#keys.slice(0, 1)];
    this.open();
  }

  /** Publishes only the current signing key. */
  withdraw(): void {
    this.#keys = this.#keys.slice(0, 1);
    this.open();
  }

  /** Answers only errors until `open`. */
  fail(): void {
    this.#handle = null;
  }

  open(): void {
    const provider = new Provider(this.issuer, configuration(this.#keys, this.#cookieKeys));
    const handle = provider.callback();
    this.#handle = (request, response) => {
      if (request.url?.startsWith('/interaction/')) void finishInteraction(provider, request, response);
      else void handle(request, response);
    };
  }

  /** Performs the authorization code flow with PKCE. `account` is `name@organisation`. */
  async signIn(account: string): Promise<Tokens> {
    const jar = new CookieJar();
    const verifier = randomBytes(32).toString('base64url');
    const authorizeUrl = new URL(`${this.issuer}/auth`);
    authorizeUrl.search = new URLSearchParams({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: callback,
      scope: 'openid keys',
      resource: audience,
      state: 'state-1',
      nonce: 'nonce-1',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).toString();
    const back = await followRedirects(jar, authorizeUrl, account);
    if (back.searchParams.get('state') !== 'state-1') throw new Error(`the provider answered ${back.href}`);
    const reply = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: clientId,
        redirect_uri: callback,
        code: back.searchParams.get('code') ?? '',
        code_verifier: verifier,
      }),
    });
    const body = (await reply.json()) as { access_token: string; id_token: string };
    if (!reply.ok) throw new Error(`the provider gave no token: ${JSON.stringify(body)}`);
    return { accessToken: body.access_token, idToken: body.id_token };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }
}

function configuration(keys: JWK[], cookieKeys: string[]): Configuration {
  return {
    clients: [{ client_id: clientId, redirect_uris: [callback], token_endpoint_auth_method: 'none' }],
    jwks: { keys },
    cookies: { keys: cookieKeys },
    pkce: { required: () => true },
    ttl: { Interaction: 600, Grant: 3600, Session: 3600, AuthorizationCode: 60, IdToken: 3600, AccessToken: 3600 },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'keys',
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 3600,
          jwt: { sign: { alg: 'RS256' } },
        }),
        useGrantedResource: () => true,
      },
    },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: (_, token) => ('accountId' in token ? { org_id: token.accountId.split('@')[1] } : undefined),
    // Consent is granted automatically.
    loadExistingGrant: async ({ oidc }) => {
      const { client, session, provider } = oidc;
      const grant = new provider.Grant({ clientId: client?.clientId ?? '', accountId: session?.accountId ?? '' });
      grant.addOIDCScope('openid');
      grant.addResourceScope(audience, 'keys');
      await grant.save();
      return grant;
    },
  };
}

/** The sign-in page accepts any account. */
async function finishInteraction(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const account = new URL(request.url ?? '', provider.issuer).searchParams.get('account');
  if (account === null) response.end('Who are you?');
  else await provider.interactionFinished(request, response, { login: { accountId: account } });
}

/** Follows redirects with cookies and submits the account. Returns the callback address. */
async function followRedirects(jar: CookieJar, from: URL, account: string): Promise<URL> {
  let url = from;
  for (let hops = 0; hops < 10; hops += 1) {
    if (url.href.startsWith(callback)) return url;
    if (url.pathname.startsWith('/interaction/')) url.searchParams.set('account', account);
    const response = await fetch(url, { redirect: 'manual', headers: { cookie: await jar.getCookieString(url.href) } });
    for (const cookie of response.headers.getSetCookie()) await jar.setCookie(cookie, url.href);
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${url.href} answered ${response.status}: ${await response.text()}`);
    await response.body?.cancel();
    url = new URL(location, url);
  }
  throw new Error(`too many redirects, the last one to ${url.href}`);
}

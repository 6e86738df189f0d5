/** A server on loopback, and a raw socket for malformed requests. */
import { Rates } from '../src/rates/rates.ts';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { ServiceError } from '@berth/contract';
import { createUnlimitedDisk } from './disk.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import type { Store } from '../src/store/store.ts';
import type { Credentials, Guards, Principal } from '../src/accounts/principals/principals.ts';
import { BoundPort } from '../src/http/server/port.ts';
import { createHttp, defaultLimits, type Http, type HttpOptions } from '../src/http/server/server.ts';

export const goodKey = 'brt_live_good';
export const goodAdminKey = 'admin-key-of-the-test';
export const auth = { authorization: `Bearer ${goodKey}` };

const principal = (scope: string, requestsPerMinute: number | null = null): Principal => ({
  owner: scope,
  keyId: 'key_1',
  requestsPerMinute,
  scope,
});

const bearer = ({ authorization }: Credentials): Principal => {
  if (authorization === `Bearer ${goodKey}`) return principal('local');
  if (authorization === `Bearer limited`) return principal('limited', 3);
  if (authorization === 'Bearer other') return principal('other');
  throw new ServiceError('invalid_api_key', 'This API key is not valid.');
};

/** Accepts the token or cookie `good`. */
const link = ({ token, viewCookies }: Credentials): Principal => {
  const isGood = token === undefined ? viewCookies.includes('good') : token === 'good';
  if (!isGood) throw new ServiceError('invalid_view_token', 'This link is not valid.');
  const viewer = { grantId: 'lnk_1', sessionId: 'a', scope: 'view', issuedAtMs: 0, isFirstLoad: token !== undefined } as const;
  return { ...principal('link:lnk_1'), viewer };
};

export const guards: Guards = {
  none: () => ({ owner: null, keyId: null, requestsPerMinute: null, scope: 'none' }),
  bearer,
  admin: ({ adminKey }) => {
    if (adminKey === goodAdminKey) return { owner: null, keyId: null, requestsPerMinute: null, scope: 'operator' };
    throw new ServiceError('invalid_admin_key', 'This admin key is not valid.');
  },
  connect: (credentials) => {
    if (credentials.token === undefined) return bearer(credentials);
    if (credentials.token === 'good') return principal('local');
    throw new ServiceError('invalid_connect_token', 'This token is not valid.');
  },
  connectPath: ({ token }) => {
    if (token === 'good') return principal('local');
    throw new ServiceError('invalid_connect_token', 'This token is not valid.');
  },
  login: ({ authorization }) => {
    if (authorization === 'Bearer good') return { ...principal('login:acme'), owner: 'acme', keyId: null, subject: 'ada' };
    throw new ServiceError('invalid_login_token', 'This login token is not valid.');
  },
  metrics: ({ adminKey }) => {
    if (adminKey === goodAdminKey) return { owner: null, keyId: null, requestsPerMinute: null, scope: 'metrics' };
    throw new ServiceError(adminKey === undefined ? 'missing_admin_key' : 'invalid_admin_key', 'The metrics are for the operator.');
  },
  agent: bearer,
  view: link,
  vnc: link,
  report: (credentials) => (credentials.authorization === undefined ? link(credentials) : bearer(credentials)),
  recording: (credentials) => (credentials.authorization === undefined ? link(credentials) : bearer(credentials)),
};

/** A store for endpoints without state: any use of it fails. */
export const noStore: Store = {
  tables: () => {
    throw new Error('this test has no store');
  },
  urgent: {
    tables: () => {
      throw new Error('this test has no store');
    },
  },
  transaction: () => Promise.reject(new Error('this test has no store')),
  ping: () => Promise.resolve(),
  connections: { busy: 0, idle: 0, waiting: 0 },
  observe: () => undefined,
  close: () => Promise.resolve(),
};

const newRates = (): Rates => new Rates({ store: noStore, workerId: 'wrk_alone', hasPeers: () => false });

export const testOptions: HttpOptions = {
  rates: newRates(),
  guards,
  log: silentLog,
  store: noStore,
  disk: createUnlimitedDisk(),
  claimant: { workerId: 'wrk_alone', holder: 'process-1' },
  clock: systemClock,
  publicUrl: null,
  limits: defaultLimits,
  trustedProxies: [],
  isDraining: () => false,
  authFailuresPerMinuteMax: null,
  adminRequestsPerMinuteMax: null,
};

/** A server with the routes of `mount`, closed when the test ends. */
export async function serve(
  t: TestContext,
  mount: (http: Http) => void,
  options: Partial<HttpOptions> = {},
): Promise<{ http: Http; origin: string; port: number }> {
  const http = createHttp({ ...testOptions, rates: newRates(), ...options });
  mount(http);
  const bound = await BoundPort.open({ host: '127.0.0.1', port: 0 });
  const { port } = bound;
  await http.listen(bound);
  t.after(() => http.close(0));
  return { http, origin: `http://127.0.0.1:${port}`, port };
}

export interface RawReply {
  status: number;
  headers: string;
  body: string;
}

/** Sends raw bytes and returns all that comes back until the server closes. */
export function sendRaw(port: number, ...pieces: (string | Buffer)[]): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      for (const piece of pieces) socket.write(piece);
    });
    const received: Buffer[] = [];
    socket.on('data', (chunk) => received.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? undefined : reject(error)));
    socket.on('close', () => resolve(toReply(Buffer.concat(received).toString('latin1'))));
  });
}

function toReply(text: string): RawReply {
  const [headers = '', ...body] = text.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(headers)?.[1] ?? 0), headers: headers.toLowerCase(), body: body.join('\r\n\r\n') };
}

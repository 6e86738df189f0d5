/** A fake identity provider that signs any claims and serves its keys. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import { systemClock, type Clock } from '@berth/lib/clock.ts';

const algorithm = 'ES256';
const audience = 'berth-test';
const tokenSeconds = 3600;

export interface Issuer {
  url: string;
  /** Configures a service to trust this issuer. */
  environment: Record<string, string>;
  /** Creates a login token; these claims override valid defaults, and undefined omits a claim. */
  token(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** Signs with a new key from now on, and publishes it beside the ones before. Returns what signs with the key before. */
  rotate(): Promise<Issuer['token']>;
  /** Publishes the newest key alone. */
  withdraw(): void;
  /** Whether its key endpoint does not answer. */
  isUnavailable: boolean;
  close(): Promise<void>;
}

export async function startIssuer(clock: Clock = systemClock): Promise<Issuer> {
  const createKey = async (kid: string) => {
    const { privateKey, publicKey } = await generateKeyPair(algorithm);
    return { privateKey, published: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } };
  };
  let current = await createKey('one');
  let keys = [current.published];
  const server = createServer((request, response) => {
    if (issuer.isUnavailable) request.destroy();
    else response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sign = (key: typeof current, claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<string> => {
    const seconds = Math.floor(clock.now().getTime() / 1000);
    const good = { iss: url, aud: audience, sub: 'ada', org_id: 'local', iat: seconds, exp: seconds + tokenSeconds };
    const { kid } = key.published;
    return new SignJWT({ ...good, ...claims }).setProtectedHeader({ alg: algorithm, kid, ...header }).sign(key.privateKey);
  };
  const issuer: Issuer = {
    url,
    isUnavailable: false,
    environment: {
      BERTH_OIDC_ISSUER: url,
      BERTH_OIDC_AUDIENCE: audience,
      BERTH_OIDC_JWKS_URL: `${url}/jwks`,
      BERTH_OIDC_ALGORITHMS: algorithm,
    },
    token: (claims, header) => sign(current, claims, header),
    rotate: async () => {
      const before = current;
      current = await createKey(`key-${keys.length + 1}`);
      keys = [...keys, current.published];
      return (claims, header) => sign(before, claims, header);
    },
    withdraw: () => {
      keys = [current.published];
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
  return issuer;
}

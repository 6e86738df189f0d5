import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import type { Stage } from './stage.ts';

const audience = 'berth-bench';
const keyId = 'bench-1';

export interface Issuer {
  /** Makes the service trust it. */
  environment: Record<string, string>;
  token(org: string): Promise<string>;
}

/** An identity provider that signs every token. */
export async function serveIssuer(stage: Stage): Promise<Issuer> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: keyId, alg: 'ES256', use: 'sig' }] });
  const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(keys));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stage.onEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const token = (org: string): Promise<string> =>
    new SignJWT({ org_id: org })
      .setProtectedHeader({ alg: 'ES256', kid: keyId, typ: 'JWT' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject('bench')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey);
  return { environment: { BERTH_OIDC_ISSUER: issuer, BERTH_OIDC_AUDIENCE: audience, BERTH_OIDC_JWKS_URL: `${issuer}/keys` }, token };
}

/** A fake identity provider and payment provider. */
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import type { BillingEvent } from './schedule.ts';

type SigningKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

const audience = 'berth-ledger';
const keyId = 'ledger-1';

export class ExternalServices {
  readonly environment: Record<string, string>;
  readonly #server: Server;
  readonly #issuer: string;
  readonly #signingKey: SigningKey;
  readonly #webhookSecret: string;

  private constructor({ server, issuer, signingKey }: { server: Server; issuer: string; signingKey: SigningKey }) {
    this.#server = server;
    this.#issuer = issuer;
    this.#signingKey = signingKey;
    this.#webhookSecret = `whsec_${randomBytes(24).toString('hex')}`;
    this.environment = {
      BERTH_OIDC_ISSUER: issuer,
      BERTH_OIDC_AUDIENCE: audience,
      BERTH_OIDC_JWKS_URL: `${issuer}/keys`,
      BERTH_STRIPE_WEBHOOK_SECRET: this.#webhookSecret,
    };
  }

  static async open(): Promise<ExternalServices> {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: keyId, alg: 'ES256', use: 'sig' }] });
    const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(keys));
    server.listen(0, '127.0.0.1').unref();
    await once(server, 'listening');
    return new ExternalServices({ server, issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, signingKey: privateKey });
  }

  /** Creates a login token for an organisation. `now` is the time of the service's clock. */
  token(org: string, now: Date): Promise<string> {
    const seconds = Math.floor(now.getTime() / 1000);
    return new SignJWT({ org_id: org })
      .setProtectedHeader({ alg: 'ES256', kid: keyId, typ: 'JWT' })
      .setIssuer(this.#issuer)
      .setAudience(audience)
      .setSubject('ada')
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + 600)
      .sign(this.#signingKey);
  }

  /** Creates the body and the signature of a webhook call. `now` is the time of the service's clock. */
  signed(event: BillingEvent, owner: string, now: Date): { body: string; signature: string } {
    const body = JSON.stringify(bodyOf(event, owner));
    const at = Math.floor(now.getTime() / 1000);
    const signature = createHmac('sha256', this.#webhookSecret).update(`${at}.${body}`).digest('hex');
    return { body, signature: `t=${at},v1=${signature}` };
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** All events of an owner concern one subscription. */
function bodyOf({ id, type, created, tier }: BillingEvent, owner: string): object {
  const status = type === 'customer.subscription.deleted' ? 'canceled' : 'active';
  const subscription = {
    id: `sub_${owner}`,
    object: 'subscription',
    created: 1_700_000_000,
    customer: `cus_${owner}`,
    status,
    metadata: { owner, tier },
  };
  return { id, object: 'event', type, created, data: { object: subscription } };
}

/**
 * The fleet's own certificate authority, in the database. Any worker makes it,
 * each signs a certificate for itself with it, and all trust what it has signed.
 *
 * A new authority is trusted by all before it signs anything, and an old one is
 * trusted as long as something that it has signed may be valid. Certificates
 * begin a day ago, because clocks differ.
 */
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { randomBytes, webcrypto } from 'node:crypto';
import type { Clock } from '@berth/lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { readSecret, replaceSecret, shareSecret } from './store.ts';
import { workerUri, type TlsCredentials } from './tls.ts';

const secretName = 'authority';
const dayMs = 86_400_000;
/** A new authority is made after this time. */
const rotateMs = 90 * dayMs;
/** Trusted by all workers by then, which read it every few minutes. */
const publishMs = 3_600_000;
const authorityLifeMs = 400 * dayMs;
/** Lifetime of a worker's own certificate; it is renewed long before. */
const certificateLifeMs = 3 * dayMs;
export const renewMs = 43_200_000;
const clockDifferenceMs = dayMs;

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** PEM. */
interface StoredAuthority {
  cert: string;
  key: string;
  createdAt: string;
}

cryptoProvider.set(webcrypto as Crypto);

export class Authority {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #workerId: string;

  constructor({ store, clock, workerId }: { store: Store; clock: Clock; workerId: string }) {
    this.#store = store;
    this.#clock = clock;
    this.#workerId = workerId;
  }

  /** A new certificate of this worker, with all authorities that it trusts. Rotates the authority where that is due. */
  async issue(): Promise<TlsCredentials> {
    const authorities = await this.#current();
    const now = this.#clock.now().getTime();
    const signer = authorities.findLast(({ createdAt }) => now - Date.parse(createdAt) >= publishMs) ?? authorities[0];
    if (!signer) throw new Error('the fleet has no authority');
    return { ...(await this.#sign(signer)), ca: authorities.map(({ cert }) => cert) };
  }

  /** The certificates of all trusted authorities. */
  async trusted(): Promise<string[]> {
    return (await this.#current()).map(({ cert }) => cert);
  }

  /** Oldest first, never empty. */
  async #current(): Promise<StoredAuthority[]> {
    const stored = (await readSecret(this.#store, secretName)) ?? (await this.#create());
    const authorities = JSON.parse(stored) as StoredAuthority[];
    const now = this.#clock.now().getTime();
    const newest = authorities.at(-1);
    if (newest && now - Date.parse(newest.createdAt) < rotateMs) return authorities;
    const next = authorities.filter(({ createdAt }) => now - Date.parse(createdAt) < authorityLifeMs - certificateLifeMs);
    next.push(await createAuthority(this.#clock.now()));
    const isOurs = await replaceSecret(this.#store, secretName, { from: stored, to: JSON.stringify(next) });
    return isOurs ? next : (JSON.parse((await readSecret(this.#store, secretName)) ?? '[]') as StoredAuthority[]);
  }

  async #create(): Promise<string> {
    return shareSecret(this.#store, secretName, JSON.stringify([await createAuthority(this.#clock.now())]));
  }

  async #sign(authority: StoredAuthority): Promise<{ cert: string; key: string }> {
    const issuer = new X509Certificate(authority.cert);
    const [der] = PemConverter.decode(authority.key);
    if (!der) throw new Error('the key of the fleet’s authority is malformed');
    const signingKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
    const keys = await createKeys();
    const cert = await X509CertificateGenerator.create({
      ...validity(this.#clock.now(), certificateLifeMs),
      serialNumber: serialNumber(),
      subject: `CN=${this.#workerId}`,
      issuer: issuer.subject,
      publicKey: keys.publicKey,
      signingKey: signingKey as CryptoKey,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        new SubjectAlternativeNameExtension([{ type: 'url', value: workerUri(this.#workerId) }]),
      ],
    });
    return { cert: cert.toString('pem'), key: await exportKey(keys.privateKey) };
  }
}

async function createAuthority(now: Date): Promise<StoredAuthority> {
  const keys = await createKeys();
  const cert = await X509CertificateGenerator.createSelfSigned({
    ...validity(now, authorityLifeMs),
    serialNumber: serialNumber(),
    // Each authority has its own name: what an older one has signed is not taken for this one's.
    name: `CN=berth fleet ${randomBytes(4).toString('hex')}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)],
  });
  return { cert: cert.toString('pem'), key: await exportKey(keys.privateKey), createdAt: now.toISOString() };
}

const createKeys = async (): Promise<CryptoKeyPair> =>
  (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair;

const exportKey = async (key: CryptoKey): Promise<string> =>
  PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

/** Positive, as RFC 5280 (4.1.2.2) requires. */
const serialNumber = (): string => `01${randomBytes(15).toString('hex')}`;

const validity = (now: Date, lifeMs: number): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(now.getTime() - clockDifferenceMs),
  notAfter: new Date(now.getTime() + lifeMs),
});

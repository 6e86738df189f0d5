/** Bytes that only who has the secret can read: what is stored for a while and holds secrets of callers. */
import { hkdfSync } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, errors } from 'jose';

const algorithms = { alg: 'dir', enc: 'A256GCM' } as const;

/** The secret has other uses, and a key of this cipher must have none; nor is it good for another purpose. */
const keyOf = (secret: Buffer, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', `berth sealed bytes: ${purpose}`, 32));

/** Encrypts (RFC 7516). A third longer than the bytes. */
export async function sealBytes(secret: Buffer, purpose: string, bytes: Uint8Array): Promise<Buffer> {
  return Buffer.from(await new CompactEncrypt(bytes).setProtectedHeader(algorithms).encrypt(keyOf(secret, purpose)));
}

/** null: sealed with another secret or for another purpose, or changed. */
export async function openBytes(secret: Buffer, purpose: string, sealed: Buffer): Promise<Buffer | null> {
  try {
    const options = { keyManagementAlgorithms: [algorithms.alg], contentEncryptionAlgorithms: [algorithms.enc] };
    const { plaintext } = await compactDecrypt(new Uint8Array(sealed), keyOf(secret, purpose), options);
    return Buffer.from(plaintext);
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/**
 * Who sent a request that another worker has admitted, signed for one worker, one method and one target: a JSON Web
 * Token (RFC 7519, HS256). Signed and read here and not by `jose`, whose signatures go through the thread pool: twice
 * in every forwarded call, behind whatever else waits there.
 */
import { createHmac, createSecretKey, hash, hkdfSync, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { ForwardedCall } from '../../http/call.ts';

interface ForwardedRequest {
  /** Worker ids. */
  from: string;
  to: string;
  method: string;
  /** Path and query. */
  target: string;
}

type SignedCall = Omit<ForwardedCall, 'from'>;

interface Claims extends SignedCall {
  iss: string;
  aud: string;
  /** Epoch seconds. */
  iat: number;
  exp: number;
  /** Digest of method and target. */
  request: string;
}

/** A request is signed when it is sent, and read at once. */
const lifeSeconds = 60;
/** Clocks of workers may differ; the connection itself is authenticated. */
const clockDifferenceSeconds = 900;
/** The only one: no other algorithm is ever read from a token. */
const protectedHeader = toBase64url(JSON.stringify({ alg: 'HS256' }));

export class Identities {
  /** Bytes would be made a key again for each signature. */
  readonly #key: KeyObject;

  /** `secret`: common to the fleet. It has other uses, and a key must have none. */
  constructor(secret: Buffer) {
    this.#key = createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', 'berth forwarded call', 32)));
  }

  sign(call: SignedCall, { from, to, method, target }: ForwardedRequest, now: Date): string {
    const { principal, requestId, origin, sessionId } = call;
    const iat = Math.floor(now.getTime() / 1000);
    const times = { iat, exp: iat + lifeSeconds };
    const claims: Claims = { principal, requestId, origin, sessionId, iss: from, aud: to, ...times, request: digestOf(method, target) };
    const signed = `${protectedHeader}.${toBase64url(JSON.stringify(claims))}`;
    return `${signed}.${this.#mac(signed).toString('base64url')}`;
  }

  /** null for anything but a valid identity of this request. */
  verify(token: string, { from, to, method, target }: ForwardedRequest, now: Date): SignedCall | null {
    const [header, payload = '', signature = '', ...rest] = token.split('.');
    if (header !== protectedHeader || rest.length > 0) return null;
    const [expected, received] = [this.#mac(`${header}.${payload}`), Buffer.from(signature, 'base64url')];
    if (received.length !== expected.length || !timingSafeEqual(received, expected)) return null;
    // A worker signed it, so the shape is known.
    const { iss, aud, iat, exp, request, ...call } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Claims;
    const seconds = now.getTime() / 1000;
    const isCurrent = seconds <= exp + clockDifferenceSeconds && seconds >= iat - clockDifferenceSeconds;
    return isCurrent && iss === from && aud === to && request === digestOf(method, target) ? call : null;
  }

  #mac(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }
}

function toBase64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

const digestOf = (method: string, target: string): string => hash('sha256', `${method} ${target}`, 'base64url');

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { PaymentProvider } from './provider.ts';
import { eventOf, signatureOf, subscriptionOf } from '../../../testing/accounts/billing.ts';

const secret = 'whsec_test_0123456789';
const clock = new ManualClock(new Date('2026-03-01T12:00:00.400Z'));
const later = (seconds: number): Date => new Date(clock.now().getTime() + seconds * 1000);
const provider = new PaymentProvider({ secretKey: null, webhookSecret: secret, apiUrl: null }, clock);
const body = JSON.stringify(
  eventOf('customer.subscription.updated', subscriptionOf({ owner: 'acme', tier: 'scale' }), { madeAt: clock.now() }),
);

const verify = (text: string, signature: string | undefined): Promise<void> => provider.verify(text, signature, secret);
const refused = (text: string, signature: string | undefined): Promise<void> =>
  assert.rejects(
    verify(text, signature),
    (error) => error instanceof ServiceError && error.code === 'invalid_signature' && error.cause === undefined,
  );
const signed = (at = 0, by = secret): string => signatureOf(body, { secret: by, at: later(at) });
const v1Of = (signature: string): string => signature.replace(/^t=\d+,/, '');

describe('a signature', () => {
  it('a signature is valid when it is of the body, by the secret, and of now; no key of the provider is needed', async () => {
    await verify(body, signed());
  });

  it('a signature is valid when it is one of several, as while a secret is exchanged', async () => {
    const [right, other] = [v1Of(signed()), v1Of(signed(0, 'whsec_of_before'))];
    const t = signed().split(',')[0];
    for (const several of [`${t},${other},${right}`, `${t},${right},${other}`, `${t},v0=00,${right}`, `${right},${t}`])
      await verify(body, several);
    await refused(body, `${t},${other},${other}`);
  });

  it('a signature is valid for five minutes before and after, and not a second longer', async () => {
    for (const at of [-300, -299, 0, 299, 300]) await verify(body, signed(at));
    for (const at of [-301, -3600, 301, 3600, 86_400 * 365]) await refused(body, signed(at));
  });

  it('a signature by another secret, or by another scheme, is invalid', async () => {
    await refused(body, signed(0, 'whsec_of_somebody_else'));
    await refused(body, signed(0, `${secret} `));
    await refused(body, signatureOf(body, { secret, at: clock.now(), scheme: 'v0' }));
  });

  it('a signature is invalid for the same JSON written another way', async () => {
    for (const other of [JSON.stringify(JSON.parse(body), null, 2), `${body}\n`, `\ufeff${body}`, body.replace(':', ': ')])
      await refused(other, signed());
  });

  it('a signature is invalid for another time than the one that is signed', async () => {
    await refused(body, signed(-301).replace(/^t=\d+/, signed().split(',')[0] ?? ''));
  });

  it('a signature is invalid for a body with one character changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(body.length - 1), fc.string({ minLength: 1, maxLength: 1 }), async (place, letter) => {
        fc.pre(body[place] !== letter);
        await refused(body.slice(0, place) + letter + body.slice(place + 1), signed());
      }),
      { numRuns: 50 },
    );
  });

  it('a missing or malformed signature is invalid', async () => {
    const [t = '', v1 = ''] = signed().split(',');
    const others = [
      undefined,
      '',
      ' ',
      't',
      't=',
      'v1=',
      t,
      v1,
      `${t},v1`,
      `${t},v1=`,
      `t=,${v1}`,
      `t=NaN,${v1}`,
      `${t}x,${v1}`,
      `${t},${t},${v1}`,
      `t=9,${t},${v1}`,
    ];
    for (const other of [
      ...others,
      `${t}.5,${v1}`,
      `${t},${v1}0`,
      `${t},${v1.slice(0, -1)}`,
      `${t},V1=${v1.slice(3)}`,
      `${t};${v1}`,
      'é',
      'a'.repeat(8000),
    ])
      await refused(body, other);
    await fc.assert(
      fc.asyncProperty(fc.string(), (text) => refused(body, text)),
      { numRuns: 50 },
    );
  });

  it('a signature of an empty body is invalid', async () => {
    await refused('', signatureOf('', { secret, at: clock.now() }));
  });
});

/** The scenario's expected audit log up to the restart. */
import type { AuditEntryResponse } from '@berth/contract';

/** Formats actor, action, owner and details. */
export function formatEntry({ actor, action, owner, details }: AuditEntryResponse): string {
  const how = ['reason', 'to', 'amount']
    .map((name) => details[name])
    .filter((value) => typeof value === 'string' || typeof value === 'number');
  return [actor.replace(/^key:key_\w+$/, 'a key'), action, ...(owner === null ? [] : [owner]), ...how].join(' ');
}

export const expectedAudit = [
  'service key.created local',
  'service sign_in_link.created local',
  'login:ada@example.com key.created acme',
  'operator credit_codes.made 8.123456',
  'a key credits.redeemed acme 8.123456',
  'a key session.created acme',
  'a key session.created acme',
  'a key session.ended acme requested',
  'payment_provider tier.changed acme pro',
  'a key session.ended acme requested',
  'operator promo_codes.made',
  'a key session.created acme',
  'payment_provider tier.changed acme small',
  'a key session.ended acme requested',
  'login:bob@example.com tier.changed beta pro',
  'login:bob@example.com promo.redeemed beta',
  'login:bob@example.com key.created beta',
  'operator credits.granted beta 2.05',
  'a key session.created beta',
  'login:bob@example.com key.rotated beta',
  'login:bob@example.com key.revoked beta',
  'login:bob@example.com key.created beta',
  'a key session.ended beta requested',
  'a key session.created beta',
  'service session.ended beta credits_exhausted',
  'operator key.created gamma',
  'operator credits.granted gamma 3',
  'a key session.created gamma',
  'service session.ended gamma plan_limit',
];

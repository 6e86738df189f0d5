import type { Block } from '@berth/contract';
import { cutText } from '@berth/lib/text/text.ts';
import type { RetryPlan } from '../selfheal/selfheal.ts';

/** The block of a site that is left alone for a while. */
export const createCooldown = ({ until, vendor }: NonNullable<RetryPlan['cooldown']>, now: Date): Block => ({
  ...createOwnBlock('cooldown', `left alone until ${until.toISOString()}`),
  vendor,
  retry_after_seconds: Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000)),
});

/** A block by this service's own rules, not by the site. */
export const createOwnBlock = (type: 'robots_disallowed' | 'cooldown', detail: string): Block => ({
  blocked: true,
  type,
  vendor: 'unknown',
  confidence: 'high',
  evidence: [{ kind: 'url', id: type, value_redacted: cutText(detail, 80) }],
  signatures_version: '',
  challenge_waited_ms: 0,
  retry_after_seconds: null,
});

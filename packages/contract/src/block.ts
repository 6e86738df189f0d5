/** What stood in the way of a page, and on what evidence: the words that navigate, fetch and the block records share. */
import { z } from 'zod';

export const blockTypes = [
  'rate_limited',
  'challenge',
  'captcha',
  'access_denied',
  'bot_wall',
  'geo_blocked',
  'login_wall',
  'consent_wall',
  'empty_shell',
  'robots_disallowed',
  'cooldown',
  'unknown',
] as const;
export type BlockType = (typeof blockTypes)[number];

export const blockVendors = [
  'cloudflare',
  'akamai',
  'datadome',
  'human',
  'imperva',
  'aws_waf',
  'kasada',
  'sucuri',
  'f5',
  'ddos_guard',
  'reblaze',
  'google',
  'recaptcha',
  'hcaptcha',
  'turnstile',
  'arkose',
  'generic',
  'unknown',
] as const;
export type BlockVendor = (typeof blockVendors)[number];

export const confidences = ['high', 'medium', 'low'] as const;
export type Confidence = (typeof confidences)[number];

export const evidenceKinds = ['header', 'cookie_name', 'title', 'selector', 'url', 'status', 'body_signature'] as const;

export const BlockEvidence = z
  .object({
    kind: z.enum(evidenceKinds),
    id: z.string().meta({ description: 'The rule that saw it.' }),
    value_redacted: z.string().meta({ description: 'What was seen, cut, and without anything that could be a secret.' }),
  })
  .meta({ id: 'BlockEvidence' });
export type BlockEvidence = z.infer<typeof BlockEvidence>;

export const Block = z
  .object({
    blocked: z.boolean(),
    type: z.enum(blockTypes),
    vendor: z.enum(blockVendors),
    confidence: z.enum(confidences),
    evidence: z.array(BlockEvidence),
    signatures_version: z.string(),
    challenge_waited_ms: z.int().meta({ description: 'How long was waited for a challenge that may clear by itself.' }),
    retry_after_seconds: z.int().nullable().meta({ description: 'What the site asked for, or when a cooldown of ours ends.' }),
  })
  .meta({ id: 'Block' });
export type Block = z.infer<typeof Block>;

export const Captcha = z
  .object({
    present: z.boolean(),
    vendor: z.enum(blockVendors).nullable(),
    visible: z
      .boolean()
      .nullable()
      .meta({ description: 'Whether a challenge is shown to a visitor; null where there was no browser to ask.' }),
  })
  .meta({ id: 'Captcha', description: 'A captcha on the page, apart from the verdict: a login form with one is no block.' });
export type Captcha = z.infer<typeof Captcha>;

/** Blocks and captchas as navigate, fetch and block events report them. */
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
export const BlockVendor = z.enum(blockVendors).meta({ id: 'BlockVendor' });
export type BlockVendor = (typeof blockVendors)[number];

export const confidences = ['high', 'medium', 'low'] as const;
export type Confidence = (typeof confidences)[number];

export const evidenceKinds = ['header', 'cookie_name', 'title', 'selector', 'url', 'status', 'body_signature'] as const;

export const BlockEvidence = z
  .object({
    kind: z.enum(evidenceKinds).describe('Where the evidence was seen.'),
    id: z.string().describe('Id of the detection rule that matched.'),
    value_redacted: z.string().describe('The matched value, shortened and without anything that could be a secret.'),
  })
  .meta({ id: 'BlockEvidence' });
export type BlockEvidence = z.infer<typeof BlockEvidence>;

export const Block = z
  .object({
    blocked: z.boolean().describe('Always true: a page that is not blocked has no `block`.'),
    type: z.enum(blockTypes).describe('Type of block.'),
    vendor: BlockVendor.describe('Vendor of the protection that blocked the page.'),
    confidence: z.enum(confidences).describe('Confidence of the detection.'),
    evidence: z.array(BlockEvidence).describe('Evidence for the block.'),
    signatures_version: z.string().describe('Version of the detection rules.'),
    challenge_waited_ms: z.int().describe('Milliseconds spent waiting for a challenge, which did not clear.'),
    retry_after_seconds: z
      .int()
      .nullable()
      .describe('Seconds after which to retry: as requested by the site, or until a cooldown of this service ends; null if unknown.'),
  })
  .meta({ id: 'Block' });
export type Block = z.infer<typeof Block>;

export const Captcha = z
  .object({
    present: z.boolean().describe('Whether the page contains a captcha.'),
    vendor: BlockVendor.nullable().describe('Vendor of the captcha; null if there is none.'),
    visible: z.boolean().nullable().describe('Whether a challenge is visible to a visitor; null if the page was not loaded in a browser.'),
  })
  .meta({ id: 'Captcha', description: 'A captcha on the page. It is not a block by itself: a login form can contain one.' });
export type Captcha = z.infer<typeof Captcha>;

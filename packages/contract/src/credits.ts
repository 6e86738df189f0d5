/** The prepaid wallet of an owner, and what fills it. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { OwnerId } from './keys.ts';

/** Credits are whole millionths inside: what is told has six decimals at most. */
export const microPerCredit = 1_000_000;

const creditsMax = 1_000_000_000;
/** More decimals than the ledger keeps are refused, and not rounded. */
const isExact = (credits: number): boolean =>
  Math.abs(credits * microPerCredit - Math.round(credits * microPerCredit)) < 1e-6 * Math.max(1, Math.abs(credits));

export const CreditAmount = z
  .number()
  .gt(0)
  .max(creditsMax)
  .refine(isExact, { error: 'Input should have at most 6 decimals', params: { type: 'decimal_max_places', ctx: { decimal_places: 6 } } })
  .meta({ examples: [100] });

export const Credits = z
  .object({
    owner: z.string(),
    balance: z.number().meta({ description: 'Credits left. What is still reserved for calls under way counts as left.' }),
    enforced: z.boolean().meta({ description: 'Whether calls are refused when the wallet is empty.' }),
    cost: z
      .object({
        action: z.number(),
        captcha: z.number(),
        egress_mb: z.number().meta({ description: 'For 1 000 000 bytes, charged by the byte.' }),
        session: z.number(),
      })
      .meta({ description: 'Credits for one of each.' }),
  })
  .meta({ id: 'Credits' });
export type CreditsResponse = z.infer<typeof Credits>;

export const getCredits = endpoint({
  id: 'getCredits',
  method: 'GET',
  path: '/v1/credits',
  tag: 'Usage',
  summary: 'The wallet, and what things cost',
  auth: 'bearer',
  reply: Credits,
  status: 200,
  errors: [],
});

/** A code as it was handed out; case and dashes do not matter. */
export const Code = z.string().min(1).max(128);

export const redeemCredits = endpoint({
  id: 'redeemCredits',
  method: 'POST',
  path: '/v1/credits/redeem',
  tag: 'Usage',
  summary: 'Turn a code into credits: each code once, whoever comes first',
  auth: 'bearer',
  body: z.strictObject({ code: Code }).meta({ id: 'RedeemRequest' }),
  reply: z.object({ ok: z.literal(true), granted: z.number(), balance: z.number() }).meta({ id: 'Redeemed' }),
  status: 200,
  errors: ['code_not_found', 'code_expired', 'code_already_redeemed'],
});

export const grantCredits = endpoint({
  id: 'grantCredits',
  method: 'POST',
  path: '/v1/admin/credits',
  tag: 'Operators',
  summary: 'Give credits to an owner',
  description: 'With an `Idempotency-Key` the grant happens once, whatever dies in between.',
  auth: 'admin',
  body: z
    .strictObject({
      owner: OwnerId.meta({ description: 'Made when there is no such owner yet.' }),
      amount: CreditAmount,
      note: z.string().max(500).nullable().default(null),
    })
    .meta({ id: 'GrantRequest' }),
  reply: z.object({ owner: z.string(), granted: z.number(), balance: z.number() }).meta({ id: 'Grant' }),
  status: 200,
  errors: ['store_unavailable'],
});

const codeCount = z.int().min(1).max(1000).default(1);
const codeDays = z.int().min(1).max(3650).nullable().default(null);

export const makeCreditCodes = endpoint({
  id: 'makeCreditCodes',
  method: 'POST',
  path: '/admin/credit-codes',
  tag: 'Operators',
  summary: 'Make codes that are worth credits, told in this reply only',
  auth: 'admin',
  body: z.strictObject({ amount: CreditAmount, count: codeCount, expires_in_days: codeDays }).meta({ id: 'CreditCodesRequest' }),
  reply: z
    .object({ codes: z.array(z.string()).nullable().meta({ description: 'null when the reply is replayed.' }) })
    .meta({ id: 'Codes' }),
  secretReplyFields: ['codes'],
  status: 200,
  errors: ['store_unavailable'],
});

export const makePromoCodes = endpoint({
  id: 'makePromoCodes',
  method: 'POST',
  path: '/admin/promo-codes',
  tag: 'Operators',
  summary: 'Make codes that are worth a trial of a plan, told in this reply only',
  auth: 'admin',
  body: z
    .strictObject({ tier: z.string().min(1).max(64), trial_days: z.int().min(1).max(365), count: codeCount, expires_in_days: codeDays })
    .meta({ id: 'PromoCodesRequest' }),
  reply: z.object({ codes: z.array(z.string()).nullable() }).meta({ id: 'PromoCodes' }),
  secretReplyFields: ['codes'],
  status: 200,
  errors: ['store_unavailable'],
});

/** Endpoints of an owner's prepaid wallet: balance, grants and codes. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { Timestamp, pageHeaders, pageQuery } from '../fields.ts';
import { OwnerId } from './keys.ts';

/** Credits are stored as integers of 1/1,000,000, so amounts have at most six decimals. */
export const microPerCredit = 1_000_000;

const creditsMax = 1_000_000_000;
/** Amounts with more decimals are rejected, not rounded: also to nothing. */
const isExact = (credits: number): boolean =>
  Math.round(credits * microPerCredit) !== 0 &&
  Math.abs(credits * microPerCredit - Math.round(credits * microPerCredit)) < 1e-6 * Math.max(1, Math.abs(credits));

const exact = { error: 'Input should have at most 6 decimals', params: { type: 'decimal_max_places', ctx: { decimal_places: 6 } } };
export const CreditAmount = z
  .number()
  .gt(0)
  .max(creditsMax)
  .refine(isExact, exact)
  .meta({ examples: [100] });
const GrantAmount = z
  .number()
  .min(-creditsMax)
  .max(creditsMax)
  .refine((credits) => credits !== 0, {
    error: 'Input should not be 0',
    abort: true,
    params: { type: 'value_error' },
  })
  .refine(isExact, exact)
  .meta({ examples: [100] });

export const Credits = z
  .object({
    owner: z.string().describe('Id of the owner.'),
    balance: z
      .number()
      .describe(
        'Remaining credits, less traffic that is used and not in the ledger yet. Credits reserved for calls in progress are included.',
      ),
    enforced: z.boolean().describe('Whether calls are refused when the wallet is empty.'),
    cost: z
      .object({
        action: z.number().describe('Credits per action.'),
        captcha: z.number().describe('Credits per captcha solved by a provider.'),
        egress_mb: z.number().describe('Credits per megabyte (1,000,000 bytes) of network traffic, charged by the byte.'),
        session: z.number().describe('Credits per session created.'),
      })
      .describe('Prices in credits.'),
  })
  .meta({ id: 'CreditsResponse' });
export type CreditsResponse = z.infer<typeof Credits>;

export const getCredits = endpoint({
  id: 'getCredits',
  method: 'GET',
  path: '/v1/credits',
  tag: 'Usage',
  summary: 'Get credits',
  description: 'Returns your credit balance and the prices of actions, captchas, traffic and sessions.',
  auth: 'bearer',
  reply: Credits,
  status: 200,
  errors: [],
});

export const CreditEntry = z
  .object({
    entry_id: z.string().describe('Id of the entry. Later entries have greater numbers.'),
    at: Timestamp.describe('When the entry was written (RFC 3339, UTC).'),
    type: z
      .enum(['grant', 'correction', 'code', 'action', 'session', 'captcha', 'egress'])
      .describe('`grant` and `correction`: by the operator. `code`: a redeemed code. The others: a charge for what they name.'),
    amount: z.number().describe('Credits that were added; negative if they were taken.'),
    balance: z.number().describe('Balance in credits after the entry.'),
    session_id: z.string().nullable().describe('Id of the session that was charged; null for fetches and for credits that were added.'),
  })
  .meta({ id: 'CreditEntryResponse' });
export type CreditEntry = z.infer<typeof CreditEntry>;

export const listCreditEntries = endpoint({
  id: 'listCreditEntries',
  method: 'GET',
  path: '/v1/credits/ledger',
  tag: 'Usage',
  summary: 'List credit entries',
  description:
    'Returns the ledger of your wallet: grants, redeemed codes and charges, newest first, 100 per page by default. ' +
    'Charges of sessions are collected until they reach a tenth of a credit, or until the session ends.',
  auth: 'bearer',
  query: z.strictObject(pageQuery),
  reply: z.array(CreditEntry),
  replyHeaders: pageHeaders,
  status: 200,
  errors: [],
});

/** A credit or promo code. Upper and lower case and dashes are ignored. */
export const Code = boundedString(1, 128);

export const redeemCredits = endpoint({
  id: 'redeemCredits',
  method: 'POST',
  path: '/v1/credits/redeem',
  tag: 'Usage',
  summary: 'Redeem a credit code',
  description: 'Adds the credits of a code to your wallet and returns the new balance. Each code can be redeemed once.',
  auth: 'bearer',
  body: z
    .strictObject({ code: Code.describe('The code, 1 to 128 characters. Upper and lower case and dashes are ignored.') })
    .meta({ id: 'RedeemRequest' }),
  reply: z
    .object({
      ok: z.literal(true).describe('Always `true`.'),
      granted: z.number().describe('Credits that were added.'),
      balance: z.number().describe('New balance in credits, as `GET /v1/credits` reports it.'),
    })
    .meta({ id: 'CreditRedeemResponse' }),
  status: 200,
  errors: ['code_not_found', 'code_expired', 'code_already_redeemed'],
});

export const grantCredits = endpoint({
  id: 'grantCredits',
  method: 'POST',
  path: '/v1/admin/credits',
  tag: 'Operators',
  summary: 'Grant credits',
  description:
    'Adds credits to an owner’s wallet and returns the new balance. A negative amount corrects a grant: it takes ' +
    'credits back, at most those that are available. With an `Idempotency-Key` the grant is applied exactly once, even ' +
    'if the service restarts in between.',
  auth: 'admin',
  body: z
    .strictObject({
      owner: OwnerId.describe('Id of the owner. The owner is created if it does not exist.'),
      amount: GrantAmount.describe('Credits to add, or to take back if negative: at most 1,000,000,000, with up to 6 decimals.'),
      note: boundedString(0, 500).nullable().default(null).describe('Note for the audit log, at most 500 characters. Default: null, none.'),
    })
    .meta({ id: 'GrantRequest' }),
  reply: z
    .object({
      owner: z.string().describe('Id of the owner.'),
      granted: z.number().describe('Credits that were added; negative if they were taken back.'),
      balance: z.number().describe('New balance in credits, as `GET /v1/credits` reports it.'),
    })
    .meta({ id: 'CreditGrantResponse' }),
  status: 200,
  errors: ['insufficient_credits', 'store_unavailable'],
});

const codeCount = z.int().min(1).max(1000).default(1).describe('Number of codes to create, 1 to 1000. Default: 1.');
const codeDays = z
  .int()
  .min(1)
  .max(3650)
  .nullable()
  .default(null)
  .describe('Days until the codes expire, 1 to 3650. Default: null, never.');

export const createCreditCodes = endpoint({
  id: 'createCreditCodes',
  method: 'POST',
  path: '/admin/credit-codes',
  tag: 'Operators',
  summary: 'Create credit codes',
  description:
    'Creates codes that can each be redeemed once for credits. The codes are returned in this response only and ' +
    'cannot be retrieved later.',
  auth: 'admin',
  body: z
    .strictObject({
      amount: CreditAmount.describe('Credits per code: more than 0, at most 1,000,000,000, with up to 6 decimals.'),
      count: codeCount,
      expires_in_days: codeDays,
    })
    .meta({ id: 'CreditCodesRequest' }),
  reply: z
    .object({ codes: z.array(z.string()).nullable().describe('The codes; null in a replayed response.') })
    .meta({ id: 'CreditCodesResponse' }),
  secretReplyFields: ['codes'],
  status: 201,
  errors: ['store_unavailable'],
});

export const createPromoCodes = endpoint({
  id: 'createPromoCodes',
  method: 'POST',
  path: '/admin/promo-codes',
  tag: 'Operators',
  summary: 'Create promo codes',
  description:
    'Creates codes that can each be redeemed once for a trial of a plan. The codes are returned in this response ' +
    'only and cannot be retrieved later.',
  auth: 'admin',
  body: z
    .strictObject({
      tier: boundedString(1, 64).describe('Plan to try: a tier of the tiers file.'),
      trial_days: z.int().min(1).max(365).describe('Length of the trial in days, 1 to 365.'),
      count: codeCount,
      expires_in_days: codeDays,
    })
    .meta({ id: 'PromoCodesRequest' }),
  reply: z
    .object({ codes: z.array(z.string()).nullable().describe('The codes; null in a replayed response.') })
    .meta({ id: 'PromoCodesResponse' }),
  secretReplyFields: ['codes'],
  status: 201,
  errors: ['store_unavailable'],
});

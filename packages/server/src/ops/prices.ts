/** The operator's prices, from a file that is read once at start. */
import { readFileSync } from 'node:fs';
import { egressTypes, microPerCredit, type EgressType } from '@berth/contract';
import { z } from 'zod';

const priceMax = 1_000_000_000;
const isExact = (price: number): boolean =>
  Math.abs(price * microPerCredit - Math.round(price * microPerCredit)) < 1e-6 * Math.max(1, Math.abs(price));

/** A price in millionths of the currency, so that sums are exact. */
const Price = z
  .number()
  .min(0)
  .max(priceMax)
  .refine(isExact, { error: 'Expected at most 6 decimals' })
  .transform((price) => Math.round(price * microPerCredit));
const PriceByName = z.record(z.string().min(1).max(100), Price);
const zero = 0;

const PricesFile = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, { error: 'Expected three capital letters (ISO 4217)' }),
  machine_hour: Price.default(zero),
  egress_gb: z
    .strictObject({
      direct: Price.default(zero),
      managed: Price.default(zero),
      rotating: Price.default(zero),
      external: Price.default(zero),
    } satisfies Record<EgressType, unknown>)
    .default({ direct: zero, managed: zero, rotating: zero, external: zero }),
  captcha: Price.default(zero),
  /** Price of a credit that was redeemed with a code. */
  credit: Price.default(zero),
  fixed_per_month: PriceByName.default({}),
  /** Price of a plan for a month. */
  plans: PriceByName.default({}),
});

/** All prices, in millionths of the currency. */
export interface Prices {
  /** null: without a file, and all prices are 0. */
  currency: string | null;
  machineHour: number;
  egressGigabyte: Record<EgressType, number>;
  captcha: number;
  credit: number;
  fixedPerMonth: Readonly<Record<string, number>>;
  plans: ReadonlyMap<string, number>;
}

/** The message names the file, the path in it and what is wrong. */
export class PricesFileError extends Error {}

/** @throws PricesFileError, also for a plan that does not exist */
export function loadPrices(file: string | null, tierNames: readonly string[]): Prices {
  if (file === null) return noPrices;
  const parsed = PricesFile.safeParse(readJson(file));
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`);
    throw new PricesFileError(`BERTH_PRICES_FILE ${file} is not valid: ${issues.join('; ')}`);
  }
  const { currency, machine_hour, egress_gb, captcha, credit, fixed_per_month, plans } = parsed.data;
  const unknown = Object.keys(plans).find((name) => !tierNames.includes(name));
  if (unknown !== undefined)
    throw new PricesFileError(
      `BERTH_PRICES_FILE ${file} is not valid: plans.${unknown}: no such plan; the plans are ${tierNames.join(', ')}`,
    );
  return {
    currency,
    machineHour: machine_hour,
    egressGigabyte: egress_gb,
    captcha,
    credit,
    fixedPerMonth: fixed_per_month,
    plans: new Map(Object.entries(plans)),
  };
}

const noPrices: Prices = {
  currency: null,
  machineHour: 0,
  egressGigabyte: Object.fromEntries(egressTypes.map((type) => [type, 0])) as Record<EgressType, number>,
  captcha: 0,
  credit: 0,
  fixedPerMonth: {},
  plans: new Map(),
};

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new PricesFileError(`BERTH_PRICES_FILE ${file} cannot be read as JSON`, { cause });
  }
}

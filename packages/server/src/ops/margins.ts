/**
 * Revenue, cost and margin of a month, from what was metered and what it costs.
 *
 * Amounts are integers in millionths of the currency. Each amount of an owner is
 * rounded once, and every sum is a sum of these: plans, owners and totals agree.
 */
import { economicsOwnersMax, egressTypes, microPerCredit, type EconomicsResponse, type EgressType } from '@berth/contract';
import type { UsageByEgress } from '../accounts/metering/metering.ts';
import type { Prices } from './prices.ts';
import type { SubscriptionRecord } from '../accounts/billing/billing.ts';
import type { CreditFlow } from '../accounts/credits/credits.ts';

interface Amounts {
  subscriptions: bigint;
  credits: bigint;
  vmHours: bigint;
  egress: bigint;
  captcha: bigint;
}
interface OwnerAmounts extends Amounts {
  owner: string;
  tier: string;
}

const hourMs = 3_600_000n;
const gigabyte = 1_000_000_000n;
const micro = BigInt(microPerCredit);

const none: Readonly<Amounts> = { subscriptions: 0n, credits: 0n, vmHours: 0n, egress: 0n, captcha: 0n };

export function toEconomics(figures: MonthFigures, prices: Prices): EconomicsResponse {
  const owners = toOwners(figures, prices);
  const total = sum(owners);
  const fixed = sumOf(Object.values(prices.fixedPerMonth).map(BigInt));
  const plans = [...Map.groupBy(owners, ({ tier }) => tier)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    object: 'economics',
    month: figures.month,
    at: figures.now.toISOString(),
    currency: prices.currency,
    revenue: toRevenue(total),
    cost: { ...toUsageCost(total), fixed: toAmount(fixed), total: toAmount(costOf(total) + fixed) },
    ...toMargins(revenueOf(total), costOf(total) + fixed),
    usage: toUsage(figures.usage),
    credits: {
      granted: toAmount(sumOf(figures.flows.map(({ granted }) => BigInt(granted)))),
      redeemed: toAmount(sumOf(figures.flows.map(({ redeemed }) => BigInt(redeemed)))),
      spent: toAmount(sumOf(figures.flows.map(({ spent }) => BigInt(spent)))),
    },
    by_plan: plans.map(([tier, members]) => ({ tier, owners: members.length, ...toShare(sum(members)) })),
    by_owner: owners
      .toSorted(byCost)
      .slice(0, economicsOwnersMax)
      .map((each) => ({ owner: each.owner, tier: each.tier, ...toShare(each) })),
    forecast: toForecast(figures, total, fixed),
    assumptions: assumptionsOf(figures, prices),
  };
}

/** All owners with revenue or usage. */
function toOwners({ usage, flows, subscriptions, tiers }: MonthFigures, prices: Prices): OwnerAmounts[] {
  const owners = new Map<string, OwnerAmounts>();
  const of = (owner: string): OwnerAmounts => {
    const known = owners.get(owner) ?? { ...none, owner, tier: tiers.get(owner) ?? '' };
    owners.set(owner, known);
    return known;
  };
  for (const { owner, tier, status } of subscriptions) {
    const amounts = of(owner);
    // Also during a trial of another plan: this one is paid for.
    amounts.tier = tier;
    if (status === 'active') amounts.subscriptions += BigInt(prices.plans.get(tier) ?? 0);
  }
  for (const { owner, redeemed } of flows) of(owner).credits += share(redeemed, prices.credit, micro);
  for (const { owner, egressType, browserMs, egressBytes, captchaSolves } of usage) {
    const amounts = of(owner);
    amounts.vmHours += share(browserMs, prices.machineHour, hourMs);
    amounts.egress += share(egressBytes, prices.egressGigabyte[egressType ?? 'direct'], gigabyte);
    amounts.captcha += BigInt(captchaSolves) * BigInt(prices.captcha);
  }
  return [...owners.values()];
}

/** `count × price ÷ per`, rounded half away from zero. */
const share = (count: number, price: number, per: bigint): bigint => divide(BigInt(count) * BigInt(price), per);

function divide(amount: bigint, by: bigint): bigint {
  const half = amount < 0n ? -by / 2n : by / 2n;
  return (amount + half) / by;
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((one, other) => one + other, 0n);
const sum = (owners: readonly Amounts[]): Amounts => ({
  subscriptions: sumOf(owners.map(({ subscriptions }) => subscriptions)),
  credits: sumOf(owners.map(({ credits }) => credits)),
  vmHours: sumOf(owners.map(({ vmHours }) => vmHours)),
  egress: sumOf(owners.map(({ egress }) => egress)),
  captcha: sumOf(owners.map(({ captcha }) => captcha)),
});
const revenueOf = ({ subscriptions, credits }: Amounts): bigint => subscriptions + credits;
const costOf = ({ vmHours, egress, captcha }: Amounts): bigint => vmHours + egress + captcha;

function byCost(one: OwnerAmounts, other: OwnerAmounts): number {
  const difference = costOf(other) - costOf(one) || revenueOf(other) - revenueOf(one);
  if (difference === 0n) return one.owner < other.owner ? -1 : 1;
  return difference < 0n ? -1 : 1;
}

/** Exact: both are far below 2^53 in what a currency has. */
const toAmount = (amount: bigint): number => Number(amount) / microPerCredit;

const toRevenue = (amounts: Amounts): EconomicsResponse['revenue'] => ({
  subscriptions: toAmount(amounts.subscriptions),
  credits: toAmount(amounts.credits),
  total: toAmount(revenueOf(amounts)),
});
const toUsageCost = (amounts: Amounts): EconomicsResponse['by_plan'][number]['cost'] => ({
  vm_hours: toAmount(amounts.vmHours),
  egress: toAmount(amounts.egress),
  captcha: toAmount(amounts.captcha),
  total: toAmount(costOf(amounts)),
});
const toMargins = (revenue: bigint, cost: bigint): Pick<EconomicsResponse, 'margin' | 'margin_pct'> => ({
  margin: toAmount(revenue - cost),
  margin_pct: revenue === 0n ? null : Number(divide((revenue - cost) * 10_000n, revenue)) / 100,
});
const toShare = (amounts: Amounts): Pick<EconomicsResponse['by_plan'][number], 'revenue' | 'cost' | 'margin' | 'margin_pct'> => ({
  revenue: toRevenue(amounts),
  cost: toUsageCost(amounts),
  ...toMargins(revenueOf(amounts), costOf(amounts)),
});

function toUsage(usage: readonly UsageByEgress[]): EconomicsResponse['usage'] {
  const browserMs = sumOf(usage.map((each) => BigInt(each.browserMs)));
  const bytesOf = (type: EgressType): number =>
    usage.reduce((bytes, each) => ((each.egressType ?? 'direct') === type ? bytes + each.egressBytes : bytes), 0);
  return {
    vm_hours: toAmount(divide(browserMs * micro, hourMs)),
    egress_bytes: Object.fromEntries(egressTypes.map((type) => [type, bytesOf(type)])) as Record<EgressType, number>,
    captcha_solves: usage.reduce((count, { captchaSolves }) => count + captchaSolves, 0),
  };
}

/** Subscriptions and fixed cost are those of a whole month already. */
function toForecast({ from, to, now }: MonthFigures, total: Amounts, fixed: bigint): EconomicsResponse['forecast'] {
  const wholeMs = BigInt(to.getTime() - from.getTime());
  const elapsedMs = BigInt(Math.max(1, now.getTime() - from.getTime()));
  const revenue = total.subscriptions + divide(total.credits * wholeMs, elapsedMs);
  const cost = fixed + divide(costOf(total) * wholeMs, elapsedMs);
  return { revenue: toAmount(revenue), cost: toAmount(cost), ...toMargins(revenue, cost) };
}

function assumptionsOf(figures: MonthFigures, prices: Prices): string[] {
  const { usage, flows, subscriptions } = figures;
  const untyped = usage.reduce((bytes, { egressType, egressBytes }) => (egressType === null ? bytes + egressBytes : bytes), 0);
  const unpaid = subscriptions.filter(({ status }) => status !== 'active').length;
  const redeemed = flows.some((flow) => flow.redeemed > 0);
  return [
    ...(prices.currency === null ? ['BERTH_PRICES_FILE is not set, so all prices are 0.'] : []),
    'A subscription counts with the whole monthly price of its plan. One that has ended does not count, nor does a plan without a subscription.',
    ...unpricedPlans(figures, prices),
    ...(unpaid > 0 ? [`Subscriptions whose last payment failed do not count: ${unpaid}.`] : []),
    'Credits granted by operators are no revenue; credits redeemed with codes count in the month of the redemption.',
    ...(redeemed && prices.credit === 0 ? ['A credit has no price, so redeemed credits count as 0.'] : []),
    'Discounts, taxes, refunds and fees of the payment provider are not included.',
    'Machine hours are hours of browsers in sessions and fetches; enter warm and starting machines as fixed cost.',
    'All traffic of a session or fetch has the price of its type of egress.',
    ...(untyped > 0 ? [`Traffic that was metered before types of egress were recorded counts as direct: ${untyped} bytes.`] : []),
    'Fixed cost counts for the whole month from its first day on, and is not divided among plans and owners.',
    'The forecast continues usage and redeemed credits at the average of the month so far; in the first days it varies widely.',
  ];
}

function unpricedPlans({ subscriptions }: MonthFigures, { plans }: Prices): string[] {
  const names = new Set(subscriptions.map(({ tier }) => tier).filter((tier) => !plans.has(tier)));
  return [...names].toSorted().map((tier) => `The plan ${tier} has subscriptions and no price, so they count as 0.`);
}

/** What the economics of a month are computed from. */
export interface MonthFigures {
  month: string;
  from: Date;
  to: Date;
  now: Date;
  usage: readonly UsageByEgress[];
  flows: readonly CreditFlow[];
  subscriptions: readonly SubscriptionRecord[];
  /** The effective plans of all owners above, by owner. */
  tiers: ReadonlyMap<string, string>;
}

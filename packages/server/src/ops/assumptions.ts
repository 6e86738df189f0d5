/** What the figures of a month rest on, and what they leave out. */
import type { MonthFigures } from './month-figures.ts';
import type { Prices } from './prices.ts';

export function assumptionsOf(figures: MonthFigures, prices: Prices): string[] {
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

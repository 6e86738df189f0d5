/** Revenue, cost and margin of the current month. */
import type { EconomicsResponse } from '@berth/contract';
import type { Billing } from '../accounts/billing/billing.ts';
import type { Credits } from '../accounts/credits/credits.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { monthFrom, monthOf, type Metering } from '../accounts/metering/metering.ts';
import type { Owners } from '../accounts/owners/owners.ts';
import { toEconomics } from './margins.ts';
import type { Prices } from './prices.ts';

interface EconomicsDeps {
  clock: Clock;
  prices: Prices;
  owners: Pick<Owners, 'tierNamesOf'>;
  metering: Pick<Metering, 'readMonth'>;
  credits: Pick<Credits, 'flows'>;
  billing: Pick<Billing, 'subscriptions'>;
}

export class Economics {
  readonly #deps: EconomicsDeps;

  constructor(deps: EconomicsDeps) {
    this.#deps = deps;
  }

  /** @throws ServiceError store_unavailable */
  async read(): Promise<EconomicsResponse> {
    const { clock, prices, owners, metering, credits, billing } = this.#deps;
    const now = clock.now();
    const [month, from, to] = [monthOf(now), monthFrom(now, 0), monthFrom(now, 1)];
    const [usage, flows, subscriptions] = await Promise.all([metering.readMonth(month), credits.flows(from), billing.subscriptions()]);
    const tiers = await owners.tierNamesOf([...new Set([...usage, ...flows, ...subscriptions].map(({ owner }) => owner))]);
    return toEconomics({ month, from, to, now, usage, flows, subscriptions, tiers }, prices);
  }
}

/** Owners, and what their tier allows. */
import { ValidationError } from '@berth/contract';
import type { Store, Tables } from '../store/store.ts';
import { lockOwner, readTier, upsertOwner } from './store.ts';
import type { Tier, Tiers } from './tiers.ts';

export { adminGuard } from './admin.ts';
export { loadTiers } from './tiers.ts';
export type { Tier, Tiers } from './tiers.ts';

export class Owners {
  readonly #store: Store;
  readonly #tiers: Tiers;

  constructor(store: Store, tiers: Tiers) {
    this.#store = store;
    this.#tiers = tiers;
  }

  /** What an owner may do. A tier that has left the file counts as the default one. */
  async tierOf(ownerId: string): Promise<Tier> {
    return this.tierNamed((await readTier(this.#store, ownerId)) ?? this.#tiers.default);
  }

  tierNamed(name: string): Tier {
    const tier = this.#tiers.get(name) ?? this.#tiers.get(this.#tiers.default);
    if (!tier) throw new Error('the default tier is not in the table of tiers');
    return tier;
  }

  /** Throws ValidationError for a tier that is not in the table. */
  async ensure(tx: Tables, ownerId: string, tier: string | undefined): Promise<void> {
    if (tier !== undefined && !this.#tiers.get(tier)) throw unknownTier(tier, this.#tiers.names);
    await upsertOwner(tx, ownerId, { given: tier, default: this.#tiers.default });
  }

  /** Counts that decide about an owner's next step hold this lock, so that two requests cannot both be the last. */
  async lock(tx: Tables, ownerId: string): Promise<void> {
    await lockOwner(tx, ownerId);
  }
}

function unknownTier(tier: string, names: string[]): ValidationError {
  const expected = names.map((name) => `'${name}'`).join(', ');
  return new ValidationError([{ loc: ['body', 'tier'], msg: `Input should be one of ${expected}`, type: 'literal_error', input: tier, ctx: { expected } }]);
}

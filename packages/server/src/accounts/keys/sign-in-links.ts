/**
 * Links that sign a person in to the dashboard. One is exchanged once, for an
 * API key of its own that expires after a day: the keys of programs never reach
 * a browser. Its secret is stored as a hash, and travels in the fragment of the
 * link, which browsers send to nobody.
 */
import { ServiceError } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import { signInLinkPrefix } from '@berth/lib/secrets/credential-prefixes.ts';
import type { Audit } from '../audit/audit.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store, Tables } from '../../store/store.ts';
import { digestOf, isWellFormed, newRawKey, type CreatedKey } from './api-key.ts';
import { deleteSpareSignInLinks, insertSignInLink, takeSignInLink } from './store.ts';

/** Unused links of an owner. More come from a script that asks for one each time. */
const linksPerOwnerMax = 20;

interface SignInLinksDeps {
  store: Store;
  owners: Owners;
  /** Creates the key of a link in the transaction that uses the link up. */
  createKey: (takeLink: (tx: Tables) => Promise<{ owner: string; actor: string }>) => Promise<CreatedKey>;
  audit: Audit;
  clock: Clock;
}

interface SignInLinkOptions {
  owner: string;
  ttlSeconds: number;
  /** Address of the service, without a slash at its end. */
  origin: string;
  /** Who asks for it, as in the audit log. */
  actor: string;
}

export class SignInLinks {
  readonly #deps: SignInLinksDeps;

  constructor(deps: SignInLinksDeps) {
    this.#deps = deps;
  }

  /** Returns the link, which is not stored. @throws ServiceError owner_not_found */
  async create({ owner, ttlSeconds, origin, actor }: SignInLinkOptions): Promise<{ url: string; expiresAt: Date }> {
    const { store, owners, audit, clock } = this.#deps;
    const raw = newRawKey(signInLinkPrefix);
    const createdAt = clock.now();
    const expiresAt = new Date(createdAt.getTime() + ttlSeconds * 1000);
    if (!(await owners.find(owner))) throw new ServiceError('owner_not_found', 'No owner with this id. List them with GET /admin/owners.');
    await store.transaction(async (tx) => {
      await owners.lock(tx, owner);
      await insertSignInLink(tx, { digest: digestOf(raw), owner, actor, createdAt, expiresAt });
      await deleteSpareSignInLinks(tx, { owner, linksMax: linksPerOwnerMax, now: createdAt });
      await audit.record(tx, { actor, action: 'sign_in_link.created', owner, subject: owner, details: { ttl_seconds: ttlSeconds } });
    });
    return { url: `${origin}/dashboard/sign-in#link=${raw}`, expiresAt };
  }

  /**
   * Exchanges the secret of a link for a key.
   *
   * @throws ServiceError invalid_sign_in_link: the same for unknown, malformed, used and expired ones
   */
  async redeem(raw: string): Promise<CreatedKey> {
    const { createKey, clock } = this.#deps;
    if (!isWellFormed(raw, signInLinkPrefix)) throw invalidLink();
    return createKey(async (tx) => {
      const link = await takeSignInLink(tx, digestOf(raw), clock.now());
      if (!link) throw invalidLink();
      return link;
    });
  }
}

const invalidLink = (): ServiceError =>
  new ServiceError(
    'invalid_sign_in_link',
    'This link was used, has expired, or is not whole. A new one is printed by each start of the service in a terminal ' +
      '(npm start), and by the command line (berth login --link). Or paste a key.',
  );

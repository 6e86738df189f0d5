/** Who may, and what it costs: the doors of accounts, built from the configuration in the order of the ladder. */
import { join } from 'node:path';
import { Audit } from './audit/audit.ts';
import { Billing } from './billing/billing.ts';
import { ConfigError, type Config } from './config.ts';
import { Credits } from './credits/credits.ts';
import { Keys } from './keys/keys.ts';
import type { Clock } from './lib/clock.ts';
import type { Log } from './lib/log.ts';
import { Logins, createDevIssuer, isLoopbackHost, type DevIssuer, type LocalLogin, type LoginConfig } from './login/login.ts';
import { Metering } from './metering/metering.ts';
import { Owners, loadTiers } from './owners/owners.ts';
import type { Store } from './store/store.ts';

export interface AccountsParts {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Workers of the fleet that are not heard of any more. */
  silentWorkers: () => Promise<string[]>;
}

export interface Accounts {
  audit: Audit;
  owners: Owners;
  /** null: there is an identity provider, or none. */
  devIssuer: DevIssuer | null;
  logins: Logins;
  credits: Credits;
  metering: Metering;
  keys: Keys;
  billing: Billing;
}

/** Throws ConfigError for settings that do not go together. */
export function buildAccounts({ config, store, clock, log, workerId, silentWorkers }: AccountsParts): Accounts {
  const isBilled = config.stripeSecretKey !== null || config.stripeWebhookSecret !== null;
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store, tiers: loadTiers(config.tiersFile, { billing: isBilled }), audit, clock });
  const devIssuer = devIssuerOf(config, clock);
  const logins = new Logins({ config: loginConfig(config, devIssuer), owners, clock, log });
  const credits = new Credits({ store, owners, audit, clock, log, workerId, silentWorkers });
  const metering = new Metering({ store, owners, credits, clock, log, creditsEnforced: config.creditsEnforced });
  const keys = new Keys({ store, owners, audit, clock });
  const stripe = { secretKey: config.stripeSecretKey, webhookSecret: config.stripeWebhookSecret, apiUrl: config.stripeApiUrl };
  const unsigned = isAtHome(config) || config.allowUnsignedWebhooks ? ('taken' as const) : ('refused' as const);
  const billing = new Billing({ store, owners, audit, clock, log, stripe, unsigned });
  return { audit, owners, devIssuer, logins, credits, metering, keys, billing };
}

const isLoopbackUrl = (url: string | null): boolean => url === null || isLoopbackHost(new URL(url).hostname);

/** Whether nobody but this machine reaches the service, as far as the configuration tells. */
const isAtHome = ({ host, publicUrl, trustedProxies }: Config): boolean =>
  isLoopbackHost(host) && isLoopbackUrl(publicUrl) && trustedProxies.length === 0;

const audienceAtHome = 'berth';

function devIssuerOf(config: Config, clock: Clock): DevIssuer | null {
  if (!config.devIdp) return null;
  if (config.oidcIssuer !== null)
    throw new ConfigError('BERTH_DEV_IDP and BERTH_OIDC_ISSUER exclude each other: one of them says who signs people in.');
  if (!isAtHome(config))
    throw new ConfigError(
      'BERTH_DEV_IDP lets anybody in who reaches it, so it is served on a loopback address only: BERTH_HOST, BERTH_PUBLIC_URL and BERTH_TRUSTED_PROXIES must name no other.',
    );
  return createDevIssuer({ secretFile: join(config.dataDir, 'dev-idp-key'), clock, audience: config.oidcAudience ?? audienceAtHome });
}

/** null: nobody signs in. */
function loginConfig(config: Config, devIssuer: DevIssuer | null): LoginConfig | LocalLogin | null {
  if (devIssuer) return devIssuer.login;
  const { oidcIssuer: issuer, oidcAudience: audience, oidcJwksUrl: jwksUrl, oidcOrgClaim: orgClaim, oidcAlgorithms: algorithms } = config;
  if (issuer === null) return null;
  if (audience === null)
    throw new ConfigError(
      'BERTH_OIDC_ISSUER needs BERTH_OIDC_AUDIENCE: without it, tokens that were made for other services would be taken.',
    );
  return { issuer, audience, jwksUrl, orgClaim, algorithms };
}

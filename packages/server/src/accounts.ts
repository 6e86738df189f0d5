/** Builds the account services (keys, sign-in, plans, credits, billing) from the configuration, lowest layer first. */
import { join } from 'node:path';
import { Audit } from './audit/audit.ts';
import { Billing } from './billing/billing.ts';
import { ConfigError, type Config } from './config.ts';
import { Credits } from './credits/credits.ts';
import { isLoopbackOnly } from './exposure.ts';
import { ConnectTokens, Keys } from './keys/keys.ts';
import type { Clock } from './lib/clock.ts';
import type { Log } from './lib/log.ts';
import { Logins, createDevIssuer, type DevIssuer, type LocalLogin, type LoginConfig } from './login/login.ts';
import { Metering } from './metering/metering.ts';
import { Owners, loadTiers } from './owners/owners.ts';
import type { Store } from './store/store.ts';

export interface AccountsDeps {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Ids of workers whose heartbeat has stopped. */
  silentWorkers: () => Promise<string[]>;
}

export interface Accounts {
  audit: Audit;
  owners: Owners;
  /** null: the development sign-in is off. */
  devIssuer: DevIssuer | null;
  logins: Logins;
  credits: Credits;
  metering: Metering;
  keys: Keys;
  connectTokens: ConnectTokens;
  billing: Billing;
}

/** @throws ConfigError for settings that exclude or require each other */
export function buildAccounts({ config, store, clock, log, workerId, silentWorkers }: AccountsDeps): Accounts {
  const isBilled = config.stripeSecretKey !== null || config.stripeWebhookSecret !== null;
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store, tiers: loadTiers(config.tiersFile, { billing: isBilled }), audit, clock });
  const devIssuer = createConfiguredDevIssuer(config, clock);
  const logins = new Logins({ config: toLoginConfig(config, devIssuer), owners, clock, log });
  const credits = new Credits({ store, owners, audit, clock, log, workerId, silentWorkers });
  const { creditsEnforced, maxSessions: sessionsMax } = config;
  const metering = new Metering({ store, owners, credits, clock, log, creditsEnforced, sessionsMax });
  const keys = new Keys({ store, owners, audit, clock });
  const connectTokens = new ConnectTokens({ store, owners, audit, clock });
  const stripe = { secretKey: config.stripeSecretKey, webhookSecret: config.stripeWebhookSecret, apiUrl: config.stripeApiUrl };
  const unsignedEvents = isLoopbackOnly(config) || config.allowUnsignedWebhooks ? ('accept' as const) : ('reject' as const);
  const isConfigured = isBilled || config.stripeApiUrl !== null || config.allowUnsignedWebhooks;
  const billing = new Billing({ store, owners, audit, clock, log, stripe, unsignedEvents, isConfigured });
  return { audit, owners, devIssuer, logins, credits, metering, keys, connectTokens, billing };
}

const localAudience = 'berth';

function createConfiguredDevIssuer(config: Config, clock: Clock): DevIssuer | null {
  if (!config.devIdp) return null;
  if (config.oidcIssuer !== null) throw new ConfigError('BERTH_DEV_IDP and BERTH_OIDC_ISSUER exclude each other. Set only one of them.');
  if (!isLoopbackOnly(config))
    throw new ConfigError(
      'BERTH_DEV_IDP signs in anyone who can reach it, so it is served on loopback addresses only. ' +
        'Set BERTH_HOST and BERTH_PUBLIC_URL to a loopback address and unset BERTH_TRUSTED_PROXIES.',
    );
  return createDevIssuer({ secretFile: join(config.dataDir, 'dev-idp-key'), clock, audience: config.oidcAudience ?? localAudience });
}

/** null: sign-in is off. */
function toLoginConfig(config: Config, devIssuer: DevIssuer | null): LoginConfig | LocalLogin | null {
  if (devIssuer) return devIssuer.login;
  const { oidcIssuer: issuer, oidcAudience: audience, oidcJwksUrl: jwksUrl, oidcOrgClaim: orgClaim, oidcAlgorithms: algorithms } = config;
  if (issuer === null) return null;
  if (audience === null)
    throw new ConfigError(
      'BERTH_OIDC_ISSUER requires BERTH_OIDC_AUDIENCE: without it, tokens issued for other services would be accepted.',
    );
  return { issuer, audience, jwksUrl, orgClaim, algorithms };
}

/** Builds the account services (keys, sign-in, plans, credits, billing) from the configuration, lowest layer first. */
import { join } from 'node:path';
import { Audit } from '../accounts/audit/audit.ts';
import { Billing } from '../accounts/billing/billing.ts';
import type { Config } from '../config.ts';
import { Credits } from '../accounts/credits/credits.ts';
import { ConnectTokens, Keys, SignInLinks } from '../accounts/keys/keys.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { Logins, createDevIssuer, type DevIssuer } from '../accounts/login/login.ts';
import { Metering } from '../accounts/metering/metering.ts';
import { Owners } from '../accounts/owners/owners.ts';
import { billingSettings, loginConfig, tiersOf } from './settings/setting-rules.ts';
import type { Rates } from '../rates/rates.ts';
import type { Store } from '../store/store.ts';

export interface AccountsDeps {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  rates: Rates;
  /** Whether there are other workers. */
  hasPeers: () => boolean;
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
  signInLinks: SignInLinks;
  billing: Billing;
}

/** @throws ConfigError for settings that exclude or require each other */
export function buildAccounts({ config, store, clock, log, workerId, rates, hasPeers }: AccountsDeps): Accounts {
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store, tiers: tiersOf(config), audit, clock });
  const login = loginConfig(config);
  const devIssuer = createConfiguredDevIssuer(config, clock);
  const logins = new Logins({ config: devIssuer?.login ?? login, owners, clock, log });
  const credits = new Credits({ store, owners, audit, rates, clock, log, workerId });
  const { creditsEnforced, maxSessions: sessionsMax } = config;
  const metering = new Metering({ store, owners, credits, clock, log, creditsEnforced, sessionsMax, hasPeers });
  const keys = new Keys({ store, owners, audit, clock });
  const connectTokens = new ConnectTokens({ store, owners, audit, clock });
  const signInLinks = new SignInLinks({ store, owners, audit, clock, createKey: (takeLink) => keys.createOfLink(takeLink) });
  const billing = new Billing({ store, owners, audit, rates, clock, log, ...billingSettings(config) });
  return { audit, owners, devIssuer, logins, credits, metering, keys, connectTokens, signInLinks, billing };
}

const localAudience = 'berth';

function createConfiguredDevIssuer(config: Config, clock: Clock): DevIssuer | null {
  if (!config.devIdp) return null;
  return createDevIssuer({ secretFile: join(config.dataDir, 'dev-idp-key'), clock, audience: config.oidcAudience ?? localAudience });
}

/** A service with plans and wallets, and access to its accounts by API and from inside. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { getCredits, getUsage, grantCredits, metrics, type UsageResponse } from '@berth/contract';
import { startApp, type AppOptions, type TestApp } from '../harness.ts';

const open = {
  concurrency_limit: null,
  creates_per_minute: null,
  requests_per_minute: null,
  max_session_seconds: 900,
  tab_limit: null,
  premium_egress: true,
};

/** `open` has no limits; every other plan limits one axis. */
const tiers = {
  open,
  single: { ...open, concurrency_limit: 1 },
  no_actions: { ...open, limits: { actions: 0 } },
  few_actions: { ...open, limits: { actions: 3 } },
  no_egress: { ...open, limits: { egress_bytes: 0 } },
  little_egress: { ...open, limits: { egress_bytes: 10_000 } },
  no_time: { ...open, limits: { browser_seconds: 0 } },
  little_time: { ...open, limits: { browser_seconds: 60 } },
  no_captchas: { ...open, limits: { captcha_solves: 0 } },
  overdrawn: { ...open, limits: { actions: 0, egress_bytes: 0, browser_seconds: 0 }, overage_allowed: true },
  unenforced: { ...open, limits: { actions: 0, egress_bytes: 0, browser_seconds: 0 }, enforced: false },
};
export type TierName = keyof typeof tiers;

export interface Owner {
  owner: string;
  key: string;
}

export interface MeteredApp extends TestApp {
  /** Creates a new owner with this amount of credits. */
  newOwner(tier?: TierName, credits?: number): Promise<Owner>;
  usage(key: string): Promise<UsageResponse['usage']>;
  balance(key: string): Promise<number>;
  /** The held amount of a wallet in millionths. */
  held(owner: string): Promise<number>;
  /** All amounts of an owner: a call that costs nothing does not change them. */
  account(owner: Owner): Promise<{ usage: UsageResponse['usage']; balance: number; held: number }>;
  /** Runs one iteration of the loop that stores usage and ends sessions of exhausted owners. */
  flush(): Promise<void>;
  /** The gate's byte count in both directions. */
  gateBytes(): Promise<number>;
}

export async function startMeteredApp({ environment, ...options }: AppOptions = {}): Promise<MeteredApp> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-plans-'));
  const file = join(folder, 'tiers.json');
  writeFileSync(file, JSON.stringify({ default_tier: 'open', tiers }));
  const served = await startApp({ ...options, environment: { BERTH_TIERS_FILE: file, BERTH_EGRESS_ALLOW: '127.0.0.1', ...environment } });
  let owners = 0;
  const usage = async (key: string) => (await served.call(getUsage, { key })).body.usage;
  const balance = async (key: string) => (await served.call(getCredits, { key })).body.balance;
  const held = async (owner: string) => (await served.app.credits.wallet(owner)).held;
  return {
    ...served,
    newOwner: async (tier = 'open', credits = 0) => {
      const owner = `${tier}-${++owners}`;
      const key = await served.ownerKey(owner, tier);
      if (credits > 0) await served.call(grantCredits, { body: { owner, amount: credits } });
      return { owner, key };
    },
    usage,
    balance,
    held,
    account: async ({ owner, key }) => ({ usage: await usage(key), balance: await balance(key), held: await held(owner) }),
    flush: async () => {
      const { flushing } = served.app.metering;
      flushing.nudge();
      await flushing.idle();
    },
    gateBytes: async () => bytesIn((await served.call(metrics)).text),
    close: async () => {
      await served.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** An owner's account without the browser time, which advances by itself. */
export const withoutTime = <T extends { usage: object }>(account: T): T => ({
  ...account,
  usage: { ...account.usage, browser_seconds: 0 },
});

/** The gate's byte count from the text of `/metrics`. */
export function bytesIn(text: string): number {
  const lines = [...text.matchAll(/^berth_egress_bytes_total\{direction="(?:in|out)"\} (\d+)$/gm)];
  if (lines.length !== 2) throw new Error('the metrics do not contain the byte count of the gate');
  return lines.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

/** Requests an address through the session's egress, because a simulated browser has no traffic. */
export async function browse(served: TestApp, sessionId: string, url: string): Promise<void> {
  const machine = served.app.sessions.live.get(sessionId)?.machine;
  if (!machine) throw new Error('the session has no machine');
  const [near, far] = duplexPair();
  machine.egress.accept(far);
  near.resume();
  near.write(`GET ${url} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: close\r\n\r\n`);
  await once(near, 'end');
  near.destroy();
}

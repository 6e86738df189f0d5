/** A service whose owners have plans and wallets, and what is seen of them from outside and from within. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { getCredits, getUsage, grantCredits, metrics, type UsageResponse } from '@berth/contract';
import { startApp, type AppOptions, type TestApp } from './harness.ts';

const open = {
  concurrency_limit: null,
  creates_per_minute: null,
  requests_per_minute: null,
  max_session_seconds: 900,
  tab_limit: null,
  premium_egress: true,
};

/** `open` has no limits, every other plan has little or nothing of one thing. */
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
  told_only: { ...open, limits: { actions: 0, egress_bytes: 0, browser_seconds: 0 }, enforced: false },
};
export type TierName = keyof typeof tiers;

export interface Owner {
  owner: string;
  key: string;
}

export interface MeteredApp extends TestApp {
  /** An owner that nobody has used yet, with as many credits. */
  newOwner(tier?: TierName, credits?: number): Promise<Owner>;
  usage(key: string): Promise<UsageResponse['usage']>;
  balance(key: string): Promise<number>;
  /** What is kept back of a wallet, in millionths. */
  held(owner: string): Promise<number>;
  /** Everything that has an amount: a call that costs nothing leaves it as it is. */
  account(owner: Owner): Promise<{ usage: UsageResponse['usage']; balance: number; held: number }>;
  /** One turn of the loop that writes what was used and ends who has nothing left. */
  flush(): Promise<void>;
  /** Bytes in both directions, as the gate has counted them. */
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

/** An owner's account but for the time that browsers have run, which goes on by itself. */
export const withoutTime = <T extends { usage: object }>(account: T): T => ({
  ...account,
  usage: { ...account.usage, browser_seconds: 0 },
});

/** What the gate has counted, out of the text of `/metrics`. */
export function bytesIn(text: string): number {
  const lines = [...text.matchAll(/^berth_egress_bytes_total\{direction="(?:in|out)"\} (\d+)$/gm)];
  if (lines.length !== 2) throw new Error('the metrics do not tell what the gate has counted');
  return lines.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

/** A simulated browser has no traffic of its own: this asks for an address by its session's way out, as a real one does. */
export async function browse(served: TestApp, sessionId: string, url: string): Promise<void> {
  const machine = served.app.sessions.live.get(sessionId)?.machine;
  if (!machine) throw new Error('the session has no machine');
  const [near, far] = duplexPair();
  machine.way.accept(far);
  near.resume();
  near.write(`GET ${url} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: close\r\n\r\n`);
  await once(near, 'end');
  near.destroy();
}

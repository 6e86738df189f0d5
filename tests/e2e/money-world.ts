/** A service that is paid for, and all who have to do with it: a site, a payment provider, an operator, and people with browsers of their own. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metrics } from '@berth/contract';
import type { Client } from '../harness.ts';
import { defaultSecretKey, defaultWebhookSecret, startStripe, type StripeStandIn } from '../stripe-stand-in.ts';
import { Books } from './money-books.ts';
import { startCountedSite, type CountedSite } from './money-site.ts';
import { Service } from './service.ts';
import { Audience, type Person } from './viewing.ts';

const plan = { creates_per_minute: null, requests_per_minute: null, max_session_seconds: 900, tab_limit: null, premium_egress: false };
/** Of the plan that everybody has who does not pay. */
export const smallLimits = { actions: 6, egress_bytes: 2_000_000 };
const plans = {
  default_tier: 'small',
  tiers: {
    small: { ...plan, concurrency_limit: 2, limits: smallLimits },
    pro: { ...plan, concurrency_limit: 5, limits: { actions: 1000 } },
  },
  prices: { price_pro_monthly: 'pro' },
};

/** What the service makes for itself at its first start. */
const secretFiles = ['api-key', 'admin-key', 'token-key', 'dev-idp-key'];

export class World {
  readonly site: CountedSite;
  readonly stripe: StripeStandIn;
  /** Whatever nobody may ever read anywhere. */
  readonly secrets = [defaultSecretKey, defaultWebhookSecret];
  readonly #audience: Audience;
  readonly #dataDir = mkdtempSync(join(tmpdir(), 'berth-money-'));
  /** The logs of the lives before. */
  #earlier = '';
  #service: Service | null = null;
  #books: Books | null = null;

  private constructor(parts: { site: CountedSite; stripe: StripeStandIn; audience: Audience }) {
    this.site = parts.site;
    this.stripe = parts.stripe;
    this.#audience = parts.audience;
  }

  static async open(): Promise<World> {
    const [site, stripe, audience] = await Promise.all([
      startCountedSite(),
      startStripe({ prices: Object.keys(plans.prices) }),
      Audience.gather(),
    ]);
    const world = new World({ site, stripe, audience });
    await world.start();
    for (const name of secretFiles) world.secrets.push(readFileSync(join(world.#dataDir, name), 'utf8').trim());
    return world;
  }

  get service(): Service {
    if (!this.#service) throw new Error('the service does not run');
    return this.#service;
  }

  get books(): Books {
    if (!this.#books) throw new Error('the database does not run');
    return this.#books;
  }

  get operator(): Client {
    return this.service.client;
  }

  /** All that the service has ever written to its log. */
  get log(): string {
    return this.#earlier + (this.#service?.errors ?? '');
  }

  /** The folders of machines that there are, or that were left. */
  get machines(): string[] {
    return readdirSync(join(this.#dataDir, 'machines'));
  }

  /** Processes that hold files of the data folder, by their names: the database, and machines with all that is in them. */
  get processes(): string[] {
    return readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid) && ['cmdline', 'mountinfo'].some((file) => readProcess(pid, file).includes(this.#dataDir)))
      .map((pid) => readProcess(pid, 'comm').trim());
  }

  person(): Promise<Person> {
    return this.#audience.person({ origin: this.service.url, permissions: ['clipboard-read', 'clipboard-write'] });
  }

  /** Keeps a secret in mind, and gives it. */
  kept(secret: string | null | undefined): string {
    if (!secret) throw new Error('a secret was not told');
    this.secrets.push(secret);
    return secret;
  }

  /** On the data of the lives before. */
  async start(): Promise<void> {
    const tiersFile = join(this.#dataDir, 'plans.json');
    writeFileSync(tiersFile, JSON.stringify(plans));
    const environment = {
      BERTH_TIERS_FILE: tiersFile,
      BERTH_CREDITS_ENFORCED: '1',
      BERTH_DEV_IDP: '1',
      BERTH_STRIPE_API_URL: this.stripe.url,
      BERTH_STRIPE_SECRET_KEY: defaultSecretKey,
      BERTH_STRIPE_WEBHOOK_SECRET: defaultWebhookSecret,
      BERTH_EGRESS_ALLOW: this.site.host,
    };
    this.#service = await Service.start({ environment, dataDir: this.#dataDir });
    this.stripe.webhook = `${this.service.url}/v1/billing-provider/webhook`;
    this.#books ??= await Books.open(this.#dataDir);
  }

  /** The database stops with the service. */
  async stop(): Promise<void> {
    await this.#books?.close();
    this.#books = null;
    await this.#end('SIGTERM');
  }

  /** The database runs on, and can be looked into. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** A number of `/metrics`, with the labels as they stand there; 0 where it is not told. */
  async metric(series: string): Promise<number> {
    const { text } = await this.operator.call(metrics);
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length) ?? 0);
  }

  async close(): Promise<void> {
    // Its database goes only with a service that stops.
    if (this.#books && !this.#service) await this.start();
    await this.stop();
    await Promise.all([this.#audience.leave(), this.site.close(), this.stripe.close()]);
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const service = this.#service;
    this.#service = null;
    await service?.stop(signal);
    this.#earlier += service?.errors ?? '';
  }
}

/** Nothing of one that is gone by now, or is not ours. */
function readProcess(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

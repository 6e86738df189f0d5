/** A service with billing and its environment: a site, a payment provider, an operator, and users with browsers. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metrics } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { defaultSecretKey, defaultWebhookSecret, startStripe, type StripeStandIn } from '../../services/stripe-stand-in.ts';
import { BillingDatabase } from './billing-database.ts';
import { startCountedSite, type CountedSite } from './billing-site.ts';
import { Service } from '../service.ts';
import { ViewerBrowser, type Viewer } from '../watch/viewing.ts';

const plan = { creates_per_minute: null, requests_per_minute: null, max_session_seconds: 900, tab_limit: null, premium_egress: false };
/** Limits of the default plan. */
export const smallLimits = { actions: 6, egress_bytes: 2_000_000 };
const plans = {
  default_tier: 'small',
  tiers: {
    small: { ...plan, concurrency_limit: 2, limits: smallLimits },
    pro: { ...plan, concurrency_limit: 5, limits: { actions: 1000 } },
  },
  prices: { price_pro_monthly: 'pro' },
};

/** Secrets that the service creates at its first start. */
const secretFiles = ['api-key', 'admin-key', 'token-key', 'dev-idp-key'];

export class BillingFixture {
  readonly site: CountedSite;
  readonly stripe: StripeStandIn;
  /** Values that must never be logged or stored in plain text. */
  readonly secrets = [defaultSecretKey, defaultWebhookSecret];
  readonly #viewers: ViewerBrowser;
  readonly #dataDir = mkdtempSync(join(tmpdir(), 'berth-billing-'));
  /** The logs of previous runs. */
  #earlier = '';
  #service: Service | null = null;
  #database: BillingDatabase | null = null;

  private constructor(deps: { site: CountedSite; stripe: StripeStandIn; viewers: ViewerBrowser }) {
    this.site = deps.site;
    this.stripe = deps.stripe;
    this.#viewers = deps.viewers;
  }

  static async open(): Promise<BillingFixture> {
    const [site, stripe, viewers] = await Promise.all([
      startCountedSite(),
      startStripe({ prices: Object.keys(plans.prices) }),
      ViewerBrowser.launch(),
    ]);
    const fixture = new BillingFixture({ site, stripe, viewers });
    await fixture.start();
    for (const name of secretFiles) fixture.secrets.push(readFileSync(join(fixture.#dataDir, name), 'utf8').trim());
    return fixture;
  }

  get service(): Service {
    if (!this.#service) throw new Error('the service does not run');
    return this.#service;
  }

  get database(): BillingDatabase {
    if (!this.#database) throw new Error('the database does not run');
    return this.#database;
  }

  get operator(): Client {
    return this.service.client;
  }

  /** The log of all runs. */
  get log(): string {
    return this.#earlier + (this.#service?.errors ?? '');
  }

  /** The folders of current and leftover machines. */
  get machines(): string[] {
    return readdirSync(join(this.#dataDir, 'machines'));
  }

  /** Names of the processes that use the data folder: the database and machines. */
  get processes(): string[] {
    return readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid) && ['cmdline', 'mountinfo'].some((file) => readProcess(pid, file).includes(this.#dataDir)))
      .map((pid) => readProcess(pid, 'comm').trim());
  }

  newViewer(): Promise<Viewer> {
    return this.#viewers.newViewer({ origin: this.service.url, permissions: ['clipboard-read', 'clipboard-write'] });
  }

  /** Records a secret and returns it. */
  recordSecret(secret: string | null | undefined): string {
    if (!secret) throw new Error('the response contains no secret');
    this.secrets.push(secret);
    return secret;
  }

  /** Starts on the data of previous runs. */
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
    this.#database ??= await BillingDatabase.open(this.#dataDir);
  }

  /** The database stops with the service. */
  async stop(): Promise<void> {
    await this.#database?.close();
    this.#database = null;
    await this.#end('SIGTERM');
  }

  /** The database keeps running and can be read. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** A value of `/metrics` by its full series name; 0 when it is absent. */
  async metric(series: string): Promise<number> {
    const { text } = await this.operator.call(metrics);
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length) ?? 0);
  }

  async close(): Promise<void> {
    // The database stops only with a graceful stop.
    if (this.#database && !this.#service) await this.start();
    await this.stop();
    await Promise.all([this.#viewers.close(), this.site.close(), this.stripe.close()]);
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const service = this.#service;
    this.#service = null;
    await service?.stop(signal);
    this.#earlier += service?.errors ?? '';
  }
}

/** Returns '' for processes that have exited or belong to another user. */
function readProcess(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

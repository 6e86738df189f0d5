/** Executes the tasks of a schedule's clients and records the results. */
import {
  billingWebhook,
  createKey,
  createOwnKey,
  createSession,
  endSession,
  getCredits,
  getUsage,
  grantCredits,
  createCreditCodes,
  createPromoCodes,
  microPerCredit,
  navigate,
  redeemCredits,
  redeemPromo,
  revokeKey,
  revokeOwnKey,
} from '@berth/contract';
import type { Charge, Operation, History, Hold } from './history.ts';
import type { ServiceRuns } from './worker/service-runs.ts';
import type { ExternalServices } from './external-services.ts';
import type { CreditsMethods } from './worker/protocol.ts';
import { ownerOf, wallets, type Client, type OwnerRole, type Schedule, type Task, type WalletRole } from './schedule.ts';
import { Slots } from './slots.ts';
import { WorkerClient, type FinalResponse, type RequestOptions, type WorkerResponse } from './worker/worker-client.ts';
import { tierOf } from './tiers.ts';

type TaskOf<K extends Task['kind']> = Extract<Task, { kind: K }>;

export interface PlayerDeps {
  runs: ServiceRuns;
  external: ExternalServices;
  history: History;
  adminKey: string;
}

const aborted = new Error('another client has failed');
const trialDays = 365;

interface Reserved {
  hold: Hold;
  worker: number;
  isCertain: boolean;
}

/** Lifetime of a hold. Forward clock jumps between runs are longer than this. */
const holdMs = 300_000;

export class Player {
  readonly #schedule: Schedule;
  readonly #external: ExternalServices;
  readonly #history: History;
  readonly #client: WorkerClient;
  readonly #broken = Promise.withResolvers<never>();
  readonly #codes = new Slots<{ code: string; amount: number }>(this.#broken.promise);
  readonly #promos = new Slots<string>(this.#broken.promise);
  readonly #keys = new Map<WalletRole, string>();
  #operations = 0;

  constructor(schedule: Schedule, { runs, external, history, adminKey }: PlayerDeps) {
    this.#schedule = schedule;
    this.#external = external;
    this.#history = history;
    this.#client = new WorkerClient({ runs, history, adminKey });
    this.#broken.promise.catch(() => {});
  }

  /** Creates the owners before faults are injected. */
  async open(): Promise<void> {
    for (const role of wallets) await this.#open(role);
  }

  /** Resolves when all clients are done. Unexpected responses become issues of the history. */
  async play(): Promise<void> {
    await Promise.all(this.#schedule.clients.map((client, number) => this.#run(client, number)));
  }

  async #run({ tasks, timeoutMs }: Client, number: number): Promise<void> {
    for (const [index, task] of tasks.entries()) {
      const subject = `${'role' in task ? ` ${task.role}` : ''}${'amount' in task ? ` ${task.amount}` : ''}`;
      const label = `client ${number} task ${index} ${task.kind}${subject}`;
      try {
        await this.#play(task, { label, timeoutMs });
      } catch (error) {
        if (error !== aborted) this.#history.addIssue(String(error));
        return this.#broken.reject(aborted);
      }
    }
  }

  #play(task: Task, options: RequestOptions): Promise<void> {
    switch (task.kind) {
      case 'grant':
        return this.#grant(task, options);
      case 'make codes':
        return this.#makeCodes(task, options);
      case 'redeem':
        return this.#redeem(task, options);
      case 'charge':
        return this.#charge(task, options);
      case 'hold':
        return this.#hold(task, options);
      case 'race':
        return this.#race(task, options);
      case 'session':
        return this.#session(task, options);
      case 'event':
        return this.#deliver(task, options);
      case 'make promos':
        return this.#makePromos(task, options);
      case 'redeem promo':
        return this.#redeemPromo(task, options);
      case 'key':
        return this.#key(task, options);
      case 'read':
        return this.#read(task, options);
      case 'flush':
        return this.#flush(options);
    }
  }

  async #open(role: WalletRole): Promise<void> {
    const body = { owner: this.#owner(role), tier: tierOf[role] };
    const options = { label: `opening ${role}`, timeoutMs: null };
    const { key } = this.#expectSuccess(await this.#client.request(createKey, options, () => ({ body })), options) as { key: string };
    this.#keys.set(role, key);
  }

  async #grant({ role, amount, repeatedAs, isSentOnce }: TaskOf<'grant'>, options: RequestOptions): Promise<void> {
    const owner = this.#owner(role);
    const operation = this.#history.begin('grant', { id: this.#newId(), owner, amount, balance: null });
    const send = (credits: number, sendOptions: RequestOptions) =>
      this.#client.request(grantCredits, sendOptions, () => ({
        body: { owner, amount: credits / microPerCredit },
        headers: keyed(operation.id),
      }));
    const response = await send(amount, { ...options, isSentOnce });
    if (!response) return;
    const { balance } = this.#expectSuccess(response, options) as { balance: number };
    this.#history.complete(operation, { outcome: 'done', run: response.run, fields: { balance: toMicro(balance) } });
    if (repeatedAs === 'another') this.#expectRefused(await send(amount + 1000, options), 'idempotency_conflict', options);
  }

  async #makeCodes({ amount, slots }: TaskOf<'make codes'>, options: RequestOptions): Promise<void> {
    const body = { amount: amount / microPerCredit, count: slots.length };
    const { codes } = this.#expectSuccess(await this.#client.request(createCreditCodes, options, () => ({ body })), options) as {
      codes: string[];
    };
    slots.forEach((slot, index) => this.#codes.fill(slot, { code: codes[index]!, amount }));
  }

  async #redeem({ role, slot, hasKey }: TaskOf<'redeem'>, options: RequestOptions): Promise<void> {
    const { code, amount } = await this.#codes.wait(slot);
    const operation = this.#history.begin('redemption', {
      id: this.#newId(),
      owner: this.#owner(role),
      code,
      amount,
      balance: null,
      unanswered: 0,
    });
    const request = { body: { code }, key: this.#keyOf(role), headers: hasKey ? keyed(operation.id) : {} };
    const response = await this.#client.request(
      redeemCredits,
      { ...options, label: `${options.label} code ${slot}`, onUnanswered: () => (operation.unanswered += 1) },
      () => request,
    );
    if (response?.status === 200) {
      const { granted, balance } = response.body as { granted: number; balance: number };
      if (toMicro(granted) !== amount) this.#history.addIssue(`${options.label} granted ${granted}`);
      return this.#history.complete(operation, { outcome: 'done', run: response.run, fields: { balance: toMicro(balance) } });
    }
    this.#completeRefused(operation, response, { code: 'code_already_redeemed', options });
  }

  async #charge({ role, amount, repeatedAs, isSentOnce }: TaskOf<'charge'>, options: RequestOptions): Promise<void> {
    const operation = this.#beginCharge(role, amount);
    if (!(await this.#commit(operation, { ...options, isSentOnce }))) return;
    if (repeatedAs === 'same') await this.#commit(operation, options);
    if (repeatedAs === 'another') {
      const conflicting = { ...this.#toCommitOptions(operation), amount: amount + 1000 };
      this.#expectRefused(await this.#client.call('commit', options, conflicting), 'idempotency_conflict', options);
    }
  }

  async #hold({ role, amount, ending }: TaskOf<'hold'>, options: RequestOptions): Promise<void> {
    const reserved = await this.#reserve(role, amount, options);
    if (!reserved || ending === 'leave') return;
    const { hold, worker, isCertain } = reserved;
    const { id: opId, owner } = hold;
    // The hold belongs to the call, which is at that worker.
    if (ending === 'release') this.#expectSuccess(await this.#client.call('release', { ...options, worker }, { opId, owner }), options);
    else await this.#commit(this.#beginCharge(role, ending === 'commit' ? amount : Math.ceil(amount / 3), opId), options);
    if (isCertain || ending !== 'release') hold.freedAt = this.#history.tick();
  }

  /**
   * Returns null when the balance is insufficient. It is not certain that a release ends a hold: an attempt without an
   * answer may create it again, until its time is over. What is charged is never held again.
   */
  async #reserve(role: WalletRole, amount: number, options: RequestOptions): Promise<Reserved | null> {
    const operation = this.#history.begin('hold', {
      id: this.#newId(),
      owner: this.#owner(role),
      amount,
      available: null,
      freedAt: Number.POSITIVE_INFINITY,
    });
    let isCertain = true;
    const reserving = { ...options, onLost: () => (isCertain = false) };
    const response = await this.#client.call('reserve', reserving, { opId: operation.id, owner: operation.owner, amount, ttlMs: holdMs });
    if (response?.code === 'insufficient_credits') {
      const { details } = response.body as { details: { available: number; required: number } };
      if (toMicro(details.required) !== amount) this.#history.addIssue(`${options.label} reported that ${details.required} are required`);
      this.#history.complete(operation, { outcome: 'refused', run: response.run, fields: { available: toMicro(details.available) } });
      return null;
    }
    this.#expectSuccess(response, options);
    this.#history.complete(operation, { outcome: 'done', run: response?.run ?? 0 });
    return { hold: operation, worker: response?.worker ?? 0, isCertain };
  }

  /** Several clients reserve the same amount at once. */
  async #race({ role, amount, racers }: TaskOf<'race'>, options: RequestOptions): Promise<void> {
    const race = Array.from({ length: racers }, async (_, racer) => {
      const racerOptions = { ...options, label: `${options.label} racer ${racer}` };
      const reserved = await this.#reserve(role, amount, racerOptions);
      if (!reserved) return;
      const { hold } = reserved;
      await this.#commit(this.#beginCharge(role, amount, hold.id), racerOptions);
      hold.freedAt = this.#history.tick();
    });
    await Promise.all(race);
  }

  async #session({ role, actions, isEnded, hasKey }: TaskOf<'session'>, options: RequestOptions): Promise<void> {
    const key = this.#keyOf(role);
    const operation = this.#history.begin('session', { id: this.#newId(), owner: this.#owner(role), sessionId: null, unanswered: 0 });
    const onUnanswered = () => (operation.unanswered += 1);
    const response = await this.#client.request(createSession, { ...options, onUnanswered }, () => ({
      body: {},
      key,
      headers: hasKey ? keyed(operation.id) : {},
    }));
    // Its worker was killed when it had charged, or was about to: it is charged at most once, and never again.
    if (response?.code === 'answer_lost') return;
    if (response?.status !== 201) return this.#completeRefused(operation, response, { code: 'insufficient_credits', options });
    const { session_id: sessionId } = response.body as { session_id: string };
    this.#history.complete(operation, { outcome: 'done', run: response.run, fields: { sessionId } });
    const atWorker = { ...options, worker: response.worker };
    for (let index = 0; index < actions; index += 1) await this.#act({ sessionId, role }, atWorker);
    if (isEnded) await this.#client.request(endSession, atWorker, () => ({ params: { session_id: sessionId }, key }));
  }

  /** Sent once: a client without a response continues with its next task. */
  async #act({ sessionId, role }: { sessionId: string; role: WalletRole }, options: RequestOptions): Promise<void> {
    const operation = this.#history.begin('action', { id: this.#newId(), owner: this.#owner(role), sessionId });
    const request = { params: { session_id: sessionId }, body: { url: 'about:blank' }, key: this.#keyOf(role) };
    const response = await this.#client.request(
      navigate,
      { ...options, label: `${options.label} navigate`, isSentOnce: true },
      () => request,
    );
    if (response) this.#history.complete(operation, { outcome: response.status === 200 ? 'done' : 'refused', run: response.run });
  }

  async #deliver({ index }: TaskOf<'event'>, options: RequestOptions): Promise<void> {
    const event = this.#schedule.events[index]!;
    const owner = this.#owner('buyer');
    const operation = this.#history.begin('delivery', {
      id: this.#newId(),
      owner,
      eventId: event.id,
      isDuplicate: false,
      isIgnored: false,
    });
    const response = await this.#client.request(
      billingWebhook,
      { ...options, label: `${options.label} ${event.id} ${event.type} of ${event.created}` },
      (run) => {
        const { body, signature } = this.#external.signed(event, owner, run.now());
        return { rawBody: body, headers: { 'content-type': 'application/json', 'stripe-signature': signature } };
      },
    );
    const { duplicate: isDuplicate, ignored: isIgnored } = this.#expectSuccess(response, options) as {
      duplicate: boolean;
      ignored: boolean;
    };
    this.#history.complete(operation, { outcome: 'done', run: response?.run ?? 0, fields: { isDuplicate, isIgnored } });
  }

  async #makePromos({ slots }: TaskOf<'make promos'>, options: RequestOptions): Promise<void> {
    const body = { tier: tierOf.trial, trial_days: trialDays, count: slots.length };
    const { codes } = this.#expectSuccess(await this.#client.request(createPromoCodes, options, () => ({ body })), options) as {
      codes: string[];
    };
    slots.forEach((slot, index) => this.#promos.fill(slot, codes[index]!));
  }

  async #redeemPromo({ slot }: TaskOf<'redeem promo'>, options: RequestOptions): Promise<void> {
    const code = await this.#promos.wait(slot);
    const owner = this.#owner('trial');
    const operation = this.#history.begin('trial', { id: this.#newId(), owner, code, unanswered: 0 });
    const counting = { ...options, onUnanswered: () => (operation.unanswered += 1) };
    const response = await this.#client.request(redeemPromo, counting, async (run) => ({
      body: { code },
      key: await this.#external.token(owner, run.now()),
    }));
    if (response?.status === 200) return this.#history.complete(operation, { outcome: 'done', run: response.run });
    this.#completeRefused(operation, response, { code: ['code_already_redeemed', 'plan_active'], options });
  }

  async #key({ by, isRevoked }: TaskOf<'key'>, options: RequestOptions): Promise<void> {
    const owner = this.#owner('buyer');
    const response =
      by === 'operator'
        ? await this.#client.request(createKey, options, () => ({ body: { owner } }))
        : await this.#client.request(createOwnKey, options, async (run) => ({
            body: {},
            key: await this.#external.token(owner, run.now()),
          }));
    const { key_id: keyId, key: raw } = this.#expectSuccess(response, options) as { key_id: string; key: string };
    const operation = this.#history.begin('key', { id: keyId, owner, keyId, raw, isRevoked: false });
    this.#history.complete(operation, { outcome: 'done', run: response?.run ?? 0 });
    await this.#tryKey(raw, { options, isValid: true });
    if (!isRevoked) return;
    operation.isRevoked = null;
    const params = { key_id: keyId };
    const revoked =
      by === 'operator'
        ? await this.#client.request(revokeKey, options, () => ({ params }))
        : await this.#client.request(revokeOwnKey, options, async (run) => ({ params, key: await this.#external.token(owner, run.now()) }));
    operation.isRevoked = true;
    // The worker that revoked the key refuses it immediately.
    await this.#tryKey(raw, { options: { ...options, worker: revoked?.worker ?? 0 }, isValid: false });
  }

  async #tryKey(key: string, { options, isValid }: { options: RequestOptions; isValid: boolean }): Promise<void> {
    const response = await this.#client.request(getCredits, options, () => ({ key }));
    const expected = isValid ? 200 : 403;
    if (response?.status !== expected)
      this.#history.addIssue(`${options.label}: a key that is ${isValid ? 'made' : 'revoked'} was answered ${response?.status}`);
  }

  async #read({ role }: TaskOf<'read'>, options: RequestOptions): Promise<void> {
    const operation = this.#history.begin('reading', { id: this.#newId(), owner: this.#owner(role), balance: 0 });
    const response = await this.#client.request(getCredits, options, () => ({ key: this.#keyOf(role) }));
    const { balance } = this.#expectSuccess(response, options) as { balance: number };
    this.#history.complete(operation, { outcome: 'done', run: response?.run ?? 0, fields: { balance: toMicro(balance) } });
    await this.#readUsage(role, options);
  }

  async #readUsage(role: WalletRole, options: RequestOptions): Promise<void> {
    const operation = this.#history.begin('usage', {
      id: this.#newId(),
      owner: this.#owner(role),
      actions: 0,
      sessions: 0,
      isAlone: false,
    });
    const response = await this.#client.request(getUsage, options, () => ({ key: this.#keyOf(role) }));
    const { actions, sessions } = (this.#expectSuccess(response, options) as { usage: { actions: number; sessions: number } }).usage;
    this.#history.complete(operation, {
      outcome: 'done',
      run: response?.run ?? 0,
      fields: { actions, sessions, isAlone: response?.workers === 1 },
    });
  }

  async #flush(options: RequestOptions): Promise<void> {
    const operation = this.#history.begin('flush', { id: this.#newId(), owner: '' });
    const response = await this.#client.flush(options);
    this.#expectSuccess(response, options);
    this.#history.complete(operation, { outcome: 'done', run: response?.run ?? 0 });
  }

  #beginCharge(role: WalletRole, amount: number, opId = this.#newId()): Charge {
    return this.#history.begin('charge', { id: opId, owner: this.#owner(role), amount, charged: null, allowOverdraft: role === 'owing' });
  }

  /** Returns false when the outcome is unknown. */
  async #commit(operation: Charge, options: RequestOptions): Promise<boolean> {
    const response = await this.#client.call('commit', options, this.#toCommitOptions(operation));
    if (!response) return false;
    const { charged } = this.#expectSuccess(response, options) as { charged: number };
    if (operation.charged !== null && charged !== operation.charged)
      this.#history.addIssue(`${options.label} was charged ${operation.charged}, and ${charged} when it was repeated`);
    if (operation.outcome === 'unknown') this.#history.complete(operation, { outcome: 'done', run: response.run, fields: { charged } });
    return true;
  }

  #toCommitOptions({ id, owner, amount, allowOverdraft }: Charge): CreditsMethods['commit'] {
    return { opId: id, owner, amount, axis: 'captcha', allowOverdraft: allowOverdraft };
  }

  #expectSuccess(response: WorkerResponse | null, { label }: RequestOptions): unknown {
    if (response && response.status >= 200 && response.status < 300) return response.body ?? {};
    throw new Error(`${label} was answered ${response?.status} ${response?.code}: ${JSON.stringify(response?.body)}`);
  }

  #expectRefused(response: WorkerResponse | null, code: string | string[], { label }: RequestOptions): void {
    const isExpected = response && [code].flat().includes(response.code ?? '');
    if (!isExpected)
      this.#history.addIssue(`${label} should be refused with ${String(code)}, and was answered ${response?.status} ${response?.code}`);
  }

  #completeRefused(
    operation: Operation,
    response: FinalResponse | null,
    { code, options }: { code: string | string[]; options: RequestOptions },
  ): void {
    this.#expectRefused(response, code, options);
    this.#history.complete(operation, { outcome: 'refused', run: response?.run ?? 0 });
  }

  #owner(role: OwnerRole): string {
    return ownerOf(this.#schedule, role);
  }

  #keyOf(role: WalletRole): string {
    return this.#keys.get(role) ?? '';
  }

  #newId(): string {
    this.#operations += 1;
    return `${this.#schedule.name}:op${this.#operations}`;
  }
}

const keyed = (key: string) => ({ 'idempotency-key': key });
const toMicro = (credits: number): number => Math.round(credits * microPerCredit);

/** Carries out what a schedule's clients are to do, and writes down what came of it. */
import {
  billingWebhook,
  createKey,
  createOwnKey,
  createSession,
  endSession,
  getCredits,
  getUsage,
  grantCredits,
  makeCreditCodes,
  makePromoCodes,
  microPerCredit,
  navigate,
  redeemCredits,
  redeemPromo,
  revokeKey,
  revokeOwnKey,
} from '@berth/contract';
import type { Charge, Deed, History, Hold } from './history.ts';
import type { Lives } from './lives.ts';
import type { Outside } from './outside.ts';
import { ownerOf, wallets, type Client, type Part, type Schedule, type Task, type Wallet } from './schedule.ts';
import { Slots } from './slots.ts';
import { Talk, type Answered, type Asking, type Heard } from './talk.ts';
import { tierOf } from './tiers.ts';

type Do<K extends Task['do']> = Extract<Task, { do: K }>;

export interface Stage {
  lives: Lives;
  outside: Outside;
  history: History;
  adminKey: string;
}

const brokenOff = new Error('another client has failed');
const trialDays = 365;
/** Of a hold: no clock of ours jumps by less than that from one life to the next, unless it goes back. */
const holdMs = 300_000;

export class Player {
  readonly #schedule: Schedule;
  readonly #outside: Outside;
  readonly #history: History;
  readonly #talk: Talk;
  readonly #broken = Promise.withResolvers<never>();
  readonly #codes = new Slots<{ code: string; amount: number }>(this.#broken.promise);
  readonly #promos = new Slots<string>(this.#broken.promise);
  readonly #keys = new Map<Wallet, string>();
  #operations = 0;

  constructor(schedule: Schedule, { lives, outside, history, adminKey }: Stage) {
    this.#schedule = schedule;
    this.#outside = outside;
    this.#history = history;
    this.#talk = new Talk({ lives, history, adminKey });
    this.#broken.promise.catch(() => {});
  }

  /** Makes the owners, before anything goes wrong. */
  async open(): Promise<void> {
    for (const part of wallets) await this.#open(part);
  }

  /** Resolves when all clients are done. What they never expect is a complaint of the history. */
  async play(): Promise<void> {
    await Promise.all(this.#schedule.clients.map((client, number) => this.#run(client, number)));
  }

  async #run({ tasks, patienceMs }: Client, number: number): Promise<void> {
    for (const [index, task] of tasks.entries()) {
      const what = `client ${number} task ${index} ${task.do}${'part' in task ? ` ${task.part}` : ''}${'amount' in task ? ` ${task.amount}` : ''}`;
      try {
        await this.#play(task, { what, patienceMs });
      } catch (error) {
        if (error !== brokenOff) this.#history.complain(String(error));
        return this.#broken.reject(brokenOff);
      }
    }
  }

  #play(task: Task, asking: Asking): Promise<void> {
    switch (task.do) {
      case 'grant':
        return this.#grant(task, asking);
      case 'make codes':
        return this.#makeCodes(task, asking);
      case 'redeem':
        return this.#redeem(task, asking);
      case 'charge':
        return this.#charge(task, asking);
      case 'hold':
        return this.#hold(task, asking);
      case 'race':
        return this.#race(task, asking);
      case 'session':
        return this.#session(task, asking);
      case 'event':
        return this.#deliver(task, asking);
      case 'make promos':
        return this.#makePromos(task, asking);
      case 'redeem promo':
        return this.#redeemPromo(task, asking);
      case 'key':
        return this.#key(task, asking);
      case 'read':
        return this.#read(task, asking);
      case 'flush':
        return this.#flush(asking);
    }
  }

  async #open(part: Wallet): Promise<void> {
    const body = { owner: this.#owner(part), tier: tierOf[part] };
    const asking = { what: `opening ${part}`, patienceMs: null };
    const { key } = this.#success(await this.#talk.request(createKey, asking, () => ({ body })), asking) as { key: string };
    this.#keys.set(part, key);
  }

  async #grant({ part, amount, isRepeatedAs, isAbandoned }: Do<'grant'>, asking: Asking): Promise<void> {
    const owner = this.#owner(part);
    const deed = this.#history.begin('grant', { id: this.#newId(), owner, amount, balance: null });
    const ask = (credits: number, how: Asking) =>
      this.#talk.request(grantCredits, how, () => ({ body: { owner, amount: credits / microPerCredit }, headers: keyed(deed.id) }));
    const heard = await ask(amount, { ...asking, isAbandoned });
    if (!heard) return;
    const { balance } = this.#success(heard, asking) as { balance: number };
    this.#history.settle(deed, { outcome: 'done', life: heard.life, facts: { balance: toMicro(balance) } });
    if (isRepeatedAs === 'another') this.#refused(await ask(amount + 1000, asking), 'idempotency_conflict', asking);
  }

  async #makeCodes({ amount, slots }: Do<'make codes'>, asking: Asking): Promise<void> {
    const body = { amount: amount / microPerCredit, count: slots.length };
    const { codes } = this.#success(await this.#talk.request(makeCreditCodes, asking, () => ({ body })), asking) as { codes: string[] };
    slots.forEach((slot, index) => this.#codes.fill(slot, { code: codes[index]!, amount }));
  }

  async #redeem({ part, slot, hasKey }: Do<'redeem'>, asking: Asking): Promise<void> {
    const { code, amount } = await this.#codes.wait(slot);
    const deed = this.#history.begin('redemption', { id: this.#newId(), owner: this.#owner(part), code, amount, balance: null, lost: 0 });
    const request = { body: { code }, key: this.#keyOf(part), headers: hasKey ? keyed(deed.id) : {} };
    const heard = await this.#talk.request(
      redeemCredits,
      { ...asking, what: `${asking.what} code ${slot}`, lost: () => (deed.lost += 1) },
      () => request,
    );
    if (heard?.status === 200) {
      const { granted, balance } = heard.body as { granted: number; balance: number };
      if (toMicro(granted) !== amount) this.#history.complain(`${asking.what} granted ${granted}`);
      return this.#history.settle(deed, { outcome: 'done', life: heard.life, facts: { balance: toMicro(balance) } });
    }
    this.#settleRefused(deed, heard, { code: 'code_already_redeemed', asking });
  }

  async #charge({ part, amount, isRepeatedAs, isAbandoned }: Do<'charge'>, asking: Asking): Promise<void> {
    const deed = this.#beginCharge(part, amount);
    if (!(await this.#commit(deed, { ...asking, isAbandoned }))) return;
    if (isRepeatedAs === 'same') await this.#commit(deed, asking);
    if (isRepeatedAs === 'another') {
      const order = { ...this.#orderOf(deed), amount: amount + 1000 };
      this.#refused(await this.#talk.open('commit', asking, order), 'idempotency_conflict', asking);
    }
  }

  async #hold({ part, amount, ending }: Do<'hold'>, asking: Asking): Promise<void> {
    const hold = await this.#reserve(part, amount, asking);
    if (!hold || ending === 'leave') return;
    const { id: opId, owner } = hold;
    if (ending === 'release') this.#success(await this.#talk.open('release', asking, { opId, owner }), asking);
    else await this.#commit(this.#beginCharge(part, ending === 'commit' ? amount : Math.ceil(amount / 3), opId), asking);
    hold.freedAt = this.#history.tick();
  }

  /** null where there was too little for it. */
  async #reserve(part: Wallet, amount: number, asking: Asking): Promise<Hold | null> {
    const deed = this.#history.begin('hold', {
      id: this.#newId(),
      owner: this.#owner(part),
      amount,
      available: null,
      freedAt: Number.POSITIVE_INFINITY,
    });
    const heard = await this.#talk.open('reserve', asking, { opId: deed.id, owner: deed.owner, amount, ttlMs: holdMs });
    if (heard?.code === 'insufficient_credits') {
      const { details } = heard.body as { details: { balance: number; required: number } };
      if (toMicro(details.required) !== amount) this.#history.complain(`${asking.what} was told that ${details.required} are required`);
      this.#history.settle(deed, { outcome: 'refused', life: heard.life, facts: { available: toMicro(details.balance) } });
      return null;
    }
    this.#success(heard, asking);
    this.#history.settle(deed, { outcome: 'done', life: heard?.life ?? 0 });
    return deed;
  }

  /** Many at the same moment want what is there once. */
  async #race({ part, amount, racers }: Do<'race'>, asking: Asking): Promise<void> {
    const race = Array.from({ length: racers }, async (_, racer) => {
      const own = { ...asking, what: `${asking.what} racer ${racer}` };
      const hold = await this.#reserve(part, amount, own);
      if (!hold) return;
      await this.#commit(this.#beginCharge(part, amount, hold.id), own);
      hold.freedAt = this.#history.tick();
    });
    await Promise.all(race);
  }

  async #session({ part, actions, isEnded, hasKey }: Do<'session'>, asking: Asking): Promise<void> {
    const key = this.#keyOf(part);
    const deed = this.#history.begin('session', { id: this.#newId(), owner: this.#owner(part), sessionId: null, lost: 0 });
    const lost = () => (deed.lost += 1);
    const heard = await this.#talk.request(createSession, { ...asking, lost }, () => ({
      body: {},
      key,
      headers: hasKey ? keyed(deed.id) : {},
    }));
    if (heard?.status !== 201) return this.#settleRefused(deed, heard, { code: 'insufficient_credits', asking });
    const { session_id: sessionId } = heard.body as { session_id: string };
    this.#history.settle(deed, { outcome: 'done', life: heard.life, facts: { sessionId } });
    const there = { ...asking, worker: heard.worker };
    for (let done = 0; done < actions; done += 1) await this.#act({ sessionId, part }, there);
    if (isEnded) await this.#talk.request(endSession, there, () => ({ params: { session_id: sessionId }, key }));
  }

  /** Asked once: whoever was not answered looks at the page and goes on. */
  async #act({ sessionId, part }: { sessionId: string; part: Wallet }, asking: Asking): Promise<void> {
    const deed = this.#history.begin('action', { id: this.#newId(), owner: this.#owner(part), sessionId });
    const request = { params: { session_id: sessionId }, body: { url: 'about:blank' }, key: this.#keyOf(part) };
    const heard = await this.#talk.request(navigate, { ...asking, what: `${asking.what} navigate`, isAbandoned: true }, () => request);
    if (heard) this.#history.settle(deed, { outcome: heard.status === 200 ? 'done' : 'refused', life: heard.life });
  }

  async #deliver({ index }: Do<'event'>, asking: Asking): Promise<void> {
    const event = this.#schedule.events[index]!;
    const owner = this.#owner('buyer');
    const deed = this.#history.begin('delivery', { id: this.#newId(), owner, eventId: event.id, isDuplicate: false, isIgnored: false });
    const heard = await this.#talk.request(
      billingWebhook,
      { ...asking, what: `${asking.what} ${event.id} ${event.type} of ${event.created}` },
      (life) => {
        const { body, signature } = this.#outside.signed(event, owner, life.now());
        return { rawBody: body, headers: { 'content-type': 'application/json', 'stripe-signature': signature } };
      },
    );
    const { duplicate: isDuplicate, ignored: isIgnored } = this.#success(heard, asking) as { duplicate: boolean; ignored: boolean };
    this.#history.settle(deed, { outcome: 'done', life: heard?.life ?? 0, facts: { isDuplicate, isIgnored } });
  }

  async #makePromos({ slots }: Do<'make promos'>, asking: Asking): Promise<void> {
    const body = { tier: tierOf.trial, trial_days: trialDays, count: slots.length };
    const { codes } = this.#success(await this.#talk.request(makePromoCodes, asking, () => ({ body })), asking) as { codes: string[] };
    slots.forEach((slot, index) => this.#promos.fill(slot, codes[index]!));
  }

  async #redeemPromo({ slot }: Do<'redeem promo'>, asking: Asking): Promise<void> {
    const code = await this.#promos.wait(slot);
    const owner = this.#owner('trial');
    const deed = this.#history.begin('trial', { id: this.#newId(), owner, code, lost: 0 });
    const counted = { ...asking, lost: () => (deed.lost += 1) };
    const heard = await this.#talk.request(redeemPromo, counted, async (life) => ({
      body: { code },
      key: await this.#outside.token(owner, life.now()),
    }));
    if (heard?.status === 200) return this.#history.settle(deed, { outcome: 'done', life: heard.life });
    this.#settleRefused(deed, heard, { code: ['code_already_redeemed', 'plan_active'], asking });
  }

  async #key({ by, isRevoked }: Do<'key'>, asking: Asking): Promise<void> {
    const owner = this.#owner('buyer');
    const heard =
      by === 'operator'
        ? await this.#talk.request(createKey, asking, () => ({ body: { owner } }))
        : await this.#talk.request(createOwnKey, asking, async (life) => ({ body: {}, key: await this.#outside.token(owner, life.now()) }));
    const { key_id: keyId, key: raw } = this.#success(heard, asking) as { key_id: string; key: string };
    const deed = this.#history.begin('key', { id: keyId, owner, keyId, raw, isRevoked: false });
    this.#history.settle(deed, { outcome: 'done', life: heard?.life ?? 0 });
    await this.#tryKey(raw, { asking, isGood: true });
    if (!isRevoked) return;
    deed.isRevoked = null;
    const params = { key_id: keyId };
    const revoked =
      by === 'operator'
        ? await this.#talk.request(revokeKey, asking, () => ({ params }))
        : await this.#talk.request(revokeOwnKey, asking, async (life) => ({ params, key: await this.#outside.token(owner, life.now()) }));
    deed.isRevoked = true;
    // The worker that has revoked it refuses it at once.
    await this.#tryKey(raw, { asking: { ...asking, worker: revoked?.worker ?? 0 }, isGood: false });
  }

  async #tryKey(key: string, { asking, isGood }: { asking: Asking; isGood: boolean }): Promise<void> {
    const heard = await this.#talk.request(getCredits, asking, () => ({ key }));
    const expected = isGood ? 200 : 403;
    if (heard?.status !== expected)
      this.#history.complain(`${asking.what}: a key that is ${isGood ? 'made' : 'revoked'} was answered ${heard?.status}`);
  }

  async #read({ part }: Do<'read'>, asking: Asking): Promise<void> {
    const deed = this.#history.begin('reading', { id: this.#newId(), owner: this.#owner(part), balance: 0 });
    const heard = await this.#talk.request(getCredits, asking, () => ({ key: this.#keyOf(part) }));
    const { balance } = this.#success(heard, asking) as { balance: number };
    this.#history.settle(deed, { outcome: 'done', life: heard?.life ?? 0, facts: { balance: toMicro(balance) } });
    await this.#readUsage(part, asking);
  }

  async #readUsage(part: Wallet, asking: Asking): Promise<void> {
    const deed = this.#history.begin('usage', { id: this.#newId(), owner: this.#owner(part), actions: 0, sessions: 0, isAlone: false });
    const heard = await this.#talk.request(getUsage, asking, () => ({ key: this.#keyOf(part) }));
    const { actions, sessions } = (this.#success(heard, asking) as { usage: { actions: number; sessions: number } }).usage;
    this.#history.settle(deed, { outcome: 'done', life: heard?.life ?? 0, facts: { actions, sessions, isAlone: heard?.workers === 1 } });
  }

  async #flush(asking: Asking): Promise<void> {
    const deed = this.#history.begin('flush', { id: this.#newId(), owner: '' });
    const heard = await this.#talk.flush(asking);
    this.#success(heard, asking);
    this.#history.settle(deed, { outcome: 'done', life: heard?.life ?? 0 });
  }

  #beginCharge(part: Wallet, amount: number, opId = this.#newId()): Charge {
    return this.#history.begin('charge', { id: opId, owner: this.#owner(part), amount, charged: null, mayOwe: part === 'owing' });
  }

  /** False where nobody knows what came of it. */
  async #commit(deed: Charge, asking: Asking): Promise<boolean> {
    const heard = await this.#talk.open('commit', asking, this.#orderOf(deed));
    if (!heard) return false;
    const { charged } = this.#success(heard, asking) as { charged: number };
    if (deed.charged !== null && charged !== deed.charged)
      this.#history.complain(`${asking.what} was charged ${deed.charged}, and ${charged} when it was repeated`);
    if (deed.outcome === 'unknown') this.#history.settle(deed, { outcome: 'done', life: heard.life, facts: { charged } });
    return true;
  }

  #orderOf({ id, owner, amount, mayOwe }: Charge) {
    return { opId: id, owner, amount, axis: 'captcha' as const, mayOwe };
  }

  #success(heard: Heard | null, { what }: Asking): unknown {
    if (heard && heard.status >= 200 && heard.status < 300) return heard.body ?? {};
    throw new Error(`${what} was answered ${heard?.status} ${heard?.code}: ${JSON.stringify(heard?.body)}`);
  }

  #refused(heard: Heard | null, code: string | string[], { what }: Asking): void {
    const isExpected = heard && [code].flat().includes(heard.code ?? '');
    if (!isExpected)
      this.#history.complain(`${what} should be refused with ${String(code)}, and was answered ${heard?.status} ${heard?.code}`);
  }

  #settleRefused(deed: Deed, heard: Answered | null, { code, asking }: { code: string | string[]; asking: Asking }): void {
    this.#refused(heard, code, asking);
    this.#history.settle(deed, { outcome: 'refused', life: heard?.life ?? 0 });
  }

  #owner(part: Part): string {
    return ownerOf(this.#schedule, part);
  }

  #keyOf(part: Wallet): string {
    return this.#keys.get(part) ?? '';
  }

  #newId(): string {
    this.#operations += 1;
    return `${this.#schedule.name}:op${this.#operations}`;
  }
}

const keyed = (key: string) => ({ 'idempotency-key': key });
const toMicro = (credits: number): number => Math.round(credits * microPerCredit);

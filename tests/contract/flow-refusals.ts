/** What flows and templates refuse alike: each function is one test for `runAgent` and `runTemplate`. */
import assert from 'node:assert/strict';
import { endSession, getSession, type ErrorCode, type runAgent, type runTemplate } from '@berth/contract';
import { newId } from '@berth/lib/ids.ts';
import { comparable, startApp, type TestApp } from '../harness.ts';
import { endedSession, jammedSession, noMachine, startingSession, whileNoMachineStarts } from './session-states.ts';

type FlowEndpoint = typeof runAgent | typeof runTemplate;

export class FlowRefusals {
  readonly #served: () => TestApp;
  readonly #endpoint: FlowEndpoint;
  readonly #body: Record<string, unknown>;

  constructor(served: () => TestApp, endpoint: FlowEndpoint, body: Record<string, unknown>) {
    this.#served = served;
    this.#endpoint = endpoint;
    this.#body = body;
  }

  #refuse(code: ErrorCode, more: Record<string, unknown>, key?: string) {
    const request = { body: { ...this.#body, ...more }, ...(key === undefined ? {} : { key }) };
    return this.#served().refuse(this.#endpoint, code, request);
  }

  async premiumEgress(): Promise<void> {
    const key = await this.#served().ownerKey(`frugal-${this.#endpoint.id}`, 'free');
    for (const type of ['managed', 'rotating'])
      for (const isAsync of [false, true]) await this.#refuse('premium_egress_required', { proxy: { type }, async: isAsync }, key);
  }

  /** Unknown, malformed and foreign sessions alike, without any effect. */
  async foreignSession(): Promise<void> {
    const key = await this.#served().ownerKey(`victim-${this.#endpoint.id}`);
    const { session_id } = await this.#served().create({}, { key });
    const runIn = async (id: string) => comparable((await this.#refuse('session_not_found', { session_id: id })).reply);
    const expected = await runIn(newId('ses'));
    for (const id of [session_id, 'nothing', '', 'ses_', '../x', 'constructor', '💥']) assert.equal(await runIn(id), expected, id);
    const { body } = await this.#served().call(getSession, { key, params: { session_id } });
    assert.deepEqual([body.current_url, body.usage.actions], ['about:blank', 0]);
  }

  async startingSession(): Promise<void> {
    const { sessionId, release } = await startingSession(this.#served());
    const { reply } = await this.#refuse('session_not_ready', { session_id: sessionId });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    await release();
  }

  async endedSession(): Promise<void> {
    const session_id = await endedSession(this.#served());
    for (const isAsync of [false, true]) await this.#refuse('session_ended', { session_id, async: isAsync });
  }

  async busySession(): Promise<void> {
    const { sessionId, release } = await jammedSession(this.#served());
    await this.#refuse('session_busy', { session_id: sessionId });
    await release();
  }

  /** A kept session counts as one of the owner's sessions. */
  async concurrency(): Promise<void> {
    const key = await this.#served().ownerKey(`three-${this.#endpoint.id}`, 'free');
    await Promise.all([1, 2, 3].map(() => this.#served().create({}, { key })));
    const { details } = await this.#refuse('concurrency_limit', { keep_session: true }, key);
    assert.deepEqual(details, { limit: 3, active: 3 });
  }

  async createRate(): Promise<void> {
    const key = await this.#served().ownerKey(`hasty-${this.#endpoint.id}`, 'free');
    for (let n = 0; n < 5; n += 1) {
      const { session_id } = await this.#served().create({}, { key });
      await this.#served().call(endSession, { key, params: { session_id } });
    }
    await this.#refuse('create_rate_limit', { keep_session: true }, key);
  }

  async noCapacity(): Promise<void> {
    const served = this.#served();
    const key = await served.ownerKey(`unlucky-${this.#endpoint.id}`);
    const { message } = await whileNoMachineStarts(served, () => this.#refuse('no_capacity', {}, key));
    assert.ok(!message.includes(noMachine), 'what went wrong inside is for the log');
    const next = await served.call(this.#endpoint, { key, body: this.#body });
    assert.ok((next.body as { steps: unknown[] }).steps.length > 0, 'the next one gets another');
  }

  async draining(): Promise<void> {
    const going = await startApp();
    await Promise.all([going.app.sessions.drain(0), going.app.jobs.drain(0)]);
    for (const more of [{}, { async: true }, { keep_session: true }])
      await going.refuse(this.#endpoint, 'draining', { body: { ...this.#body, ...more } });
    await going.close();
  }
}

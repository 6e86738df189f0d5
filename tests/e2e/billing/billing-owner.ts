/** An organisation with a login token and an API key. */
import assert from 'node:assert/strict';
import {
  connectSession,
  createOwnKey,
  createSession,
  endSession,
  getCredits,
  getSession,
  getUsage,
  listSessions,
  type SessionResponse,
  type UsageResponse,
} from '@berth/contract';
import { chromium } from 'playwright-core';
import { WebSocket } from 'ws';
import { Client } from '../../client.ts';
import type { BillingFixture } from './billing-fixture.ts';
import { eventually } from '../service.ts';
import type { Viewer } from '../watch/viewing.ts';

interface SocketClose {
  code: number;
  reason: string;
  atMs: number;
}

export class Owner {
  readonly name: string;
  /** Granted millionths of a credit by the journal's source account. */
  readonly given: Record<string, number>;
  token = '';
  key = '';
  readonly #fixture: BillingFixture;

  constructor(fixture: BillingFixture, name: string, given: Record<string, number>) {
    this.#fixture = fixture;
    this.name = name;
    this.given = given;
  }

  get grantedTotal(): number {
    return Object.values(this.given).reduce((all, each) => all + each, 0);
  }

  /** Uses the current key and the current service. */
  get client(): Client {
    return new Client(this.#fixture.service.url, this.key);
  }

  /** Signs in on the sign-in page and copies the token. */
  async signIn({ page }: Viewer, email: string): Promise<void> {
    await page.goto(`${this.#fixture.service.url}/dev-idp`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Organisation').fill(this.name);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const field = page.getByLabel('Login token');
    await field.press('ControlOrMeta+A');
    await field.press('ControlOrMeta+C');
    this.token = this.#fixture.recordSecret(await page.evaluate(() => navigator.clipboard.readText()));
  }

  /** Creates a key with the token, uses it from then on and returns its id. */
  async createKey(name: string): Promise<string> {
    const { status, text, body } = await this.client.call(createOwnKey, {
      key: this.token,
      body: { name },
      headers: { 'idempotency-key': `key-${name}` },
    });
    assert.equal(status, 200, text);
    this.key = this.#fixture.recordSecret(body.key);
    return body.key_id;
  }

  async usage(): Promise<UsageResponse> {
    return (await this.client.call(getUsage)).body;
  }

  async balance(): Promise<number> {
    return (await this.client.call(getCredits)).body.balance;
  }

  async startSession(): Promise<string> {
    const { status, text, body } = await this.client.call(createSession, { body: {} });
    assert.equal(status, 201, text);
    return body.session_id;
  }

  async end(session_id: string): Promise<void> {
    assert.equal((await this.client.call(endSession, { params: { session_id } })).status, 204);
  }

  async readSession(session_id: string): Promise<SessionResponse> {
    return (await this.client.call(getSession, { params: { session_id } })).body;
  }

  /** Includes fetch machines. */
  async sessions(): Promise<SessionResponse[]> {
    const lists = ['session', 'fetch'].map((purpose) => this.client.call(listSessions, { query: { purpose } }));
    return (await Promise.all(lists)).flatMap(({ body }) => body);
  }

  /** Waits until the session has ended. */
  waitForEnd(session_id: string): Promise<SessionResponse> {
    return eventually('the session has ended', async () => {
      const seen = await this.readSession(session_id);
      return seen.ended_at !== null && seen;
    });
  }

  /** Opens a DevTools socket; `closed` resolves when it closes. */
  async attach(session_id: string): Promise<{ socket: WebSocket; closed: Promise<SocketClose> }> {
    const socket = new WebSocket(await this.#cdpUrl(session_id));
    const { promise: closed, resolve } = Promise.withResolvers<SocketClose>();
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString(), atMs: performance.now() }));
    await new Promise((opened, failed) => socket.once('open', opened).once('error', failed));
    return { socket, closed };
  }

  /** Opens a page by a DevTools client. Returns its title, or undefined when the load fails. */
  async browse(session_id: string, address: string): Promise<string | undefined> {
    const browser = await chromium.connectOverCDP(await this.#cdpUrl(session_id));
    const page = browser.contexts()[0]?.pages()[0];
    const title = await page?.goto(address).then(
      () => page.title(),
      () => undefined,
    );
    await browser.close();
    return title;
  }

  async #cdpUrl(session_id: string): Promise<string> {
    const { body } = await this.client.call(connectSession, { params: { session_id } });
    this.#fixture.recordSecret(body.token);
    return body.cdp_url;
  }
}

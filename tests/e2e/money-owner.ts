/** An organisation that uses the service: with the login token of whoever signed in for it, and a key. */
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
import { Client } from '../harness.ts';
import type { World } from './money-world.ts';
import { eventually } from './service.ts';
import type { Person } from './viewing.ts';

/** How a socket was closed. */
interface Ending {
  code: number;
  reason: string;
  atMs: number;
}

export class Owner {
  readonly name: string;
  /** In millionths of a credit, by the account of the journal that it comes from. */
  readonly given: Record<string, number>;
  token = '';
  key = '';
  readonly #world: World;

  constructor(world: World, name: string, given: Record<string, number>) {
    this.#world = world;
    this.name = name;
    this.given = given;
  }

  get givenInAll(): number {
    return Object.values(this.given).reduce((all, each) => all + each, 0);
  }

  /** With the key of now, at the service of now. */
  get client(): Client {
    return new Client(this.#world.service.url, this.key);
  }

  /** Fills in the sign-in page and copies the token off it. */
  async signIn({ page }: Person, email: string): Promise<void> {
    await page.goto(`${this.#world.service.url}/dev-idp`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Organisation').fill(this.name);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const field = page.getByLabel('Login token');
    await field.press('ControlOrMeta+A');
    await field.press('ControlOrMeta+C');
    this.token = this.#world.kept(await page.evaluate(() => navigator.clipboard.readText()));
  }

  /** Makes a key with the token, and uses it from then on. Gives its id. */
  async makeKey(name: string): Promise<string> {
    const { status, text, body } = await this.client.call(createOwnKey, {
      key: this.token,
      body: { name },
      headers: { 'idempotency-key': `key-${name}` },
    });
    assert.equal(status, 200, text);
    this.key = this.#world.kept(body.key);
    return body.key_id;
  }

  async usage(): Promise<UsageResponse> {
    return (await this.client.call(getUsage)).body;
  }

  async balance(): Promise<number> {
    return (await this.client.call(getCredits)).body.balance;
  }

  async begin(): Promise<string> {
    const { status, text, body } = await this.client.call(createSession, { body: {} });
    assert.equal(status, 201, text);
    return body.session_id;
  }

  async end(session_id: string): Promise<void> {
    assert.equal((await this.client.call(endSession, { params: { session_id } })).status, 204);
  }

  async look(session_id: string): Promise<SessionResponse> {
    return (await this.client.call(getSession, { params: { session_id } })).body;
  }

  /** Those that serve fetches are among them. */
  async sessions(): Promise<SessionResponse[]> {
    return (await this.client.call(listSessions)).body;
  }

  /** A session that ends by itself. */
  ended(session_id: string): Promise<SessionResponse> {
    return eventually('the session is over', async () => {
      const seen = await this.look(session_id);
      return seen.ended_at !== null && seen;
    });
  }

  /** An open DevTools socket, and how it will be closed. */
  async attach(session_id: string): Promise<{ socket: WebSocket; closed: Promise<Ending> }> {
    const socket = new WebSocket(await this.#cdpUrl(session_id));
    const { promise: closed, resolve } = Promise.withResolvers<Ending>();
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString(), atMs: performance.now() }));
    await new Promise((opened, failed) => socket.once('open', opened).once('error', failed));
    return { socket, closed };
  }

  /** Opens a page by a DevTools client, and resolves when it is there, or will never be. Tells its title. */
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
    this.#world.kept(body.token);
    return body.cdp_url;
  }
}

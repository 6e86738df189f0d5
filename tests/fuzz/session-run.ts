/** Sends a run's requests to a session of its own, and checks every reply. */
import assert from 'node:assert/strict';
import { createSession, endSession, endpoints, listTabs, type Endpoint } from '@berth/contract';
import { assertDeclared, pathOf, type TestApp } from '../harness.ts';
import { tokenFor, type LinkScope } from '../prepare/view-links.ts';
import { sessionMark, tabMark, type FuzzRequest } from './requests.ts';

const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
/** Longer than any generated request may take. */
const replyMsMax = 90_000;

/** A service with simulated or with real machines. */
export interface FuzzTarget extends Pick<TestApp, 'url' | 'key' | 'call' | 'login'> {
  adminKey: string;
  /** Kind of the sessions; those with a display also get VNC links. */
  kind: 'headless' | 'full_browser';
}

export class SessionRun {
  readonly #served: FuzzTarget;
  readonly #sessionId: string;
  readonly #tabId: string;
  readonly #tokens: Partial<Record<string, string>>;
  /** Sessions that requests of the run have created. */
  readonly #created: string[] = [];

  private constructor(served: FuzzTarget, sessionId: string, tabId: string, tokens: Partial<Record<string, string>>) {
    this.#served = served;
    this.#sessionId = sessionId;
    this.#tabId = tabId;
    this.#tokens = tokens;
  }

  static async open(served: FuzzTarget): Promise<SessionRun> {
    const created = await served.call(createSession, { body: { kind: served.kind } });
    assert.equal(created.status, 201, created.text);
    const { session_id } = created.body;
    const { body: tabs } = await served.call(listTabs, { params: { session_id } });
    const scopes: LinkScope[] = served.kind === 'headless' ? ['view'] : ['view', 'vnc'];
    const tokens = Object.fromEntries(await Promise.all(scopes.map(async (scope) => [scope, await tokenFor(served, session_id, scope)])));
    return new SessionRun(served, session_id, tabs[0]?.tab_id ?? '', tokens as Record<string, string>);
  }

  async send(request: FuzzRequest): Promise<void> {
    const endpoint = byId.get(request.endpoint) ?? assert.fail(request.endpoint);
    const url = this.#served.url + pathOf(endpoint, this.#filled({ params: request.params, query: this.#query(endpoint, request) }));
    const controller = AbortSignal.timeout(replyMsMax);
    const response = await fetch(url, {
      method: endpoint.method,
      headers: await this.#headers(endpoint, request),
      redirect: 'manual',
      signal: controller,
      ...(request.rawBody === undefined ? {} : { body: this.#filled(request.rawBody) }),
    });
    // An event stream has no end.
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (isStream) await response.body?.cancel();
    const text = isStream ? '' : await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const reply = { status: response.status, headers: response.headers, text, body: isJson ? (JSON.parse(text) as unknown) : text };
    assert.notEqual(reply.status, 500, `${endpoint.method} ${url}: ${text}`);
    assertDeclared(endpoint, reply);
    if (endpoint.id === 'createSession' && reply.status === 201) this.#created.push((reply.body as { session_id: string }).session_id);
  }

  #filled<T>(value: T): T {
    const text = JSON.stringify(value).replaceAll(sessionMark, this.#sessionId).replaceAll(tabMark, this.#tabId);
    return JSON.parse(text) as T;
  }

  #query({ auth }: Endpoint, { credential, query }: FuzzRequest): Record<string, string> {
    const token = this.#tokens[auth];
    return token === undefined || credential !== 'right' ? query : { ...query, token };
  }

  async #headers({ auth }: Endpoint, { credential, headers, rawBody }: FuzzRequest): Promise<Record<string, string>> {
    const own = { ...(rawBody === undefined ? {} : { 'content-type': 'application/json' }), ...headers };
    if (credential === 'none' || auth === 'none') return own;
    if (credential === 'unknown') return { ...own, authorization: 'Bearer brt_live_unknown', 'x-admin-key': 'unknown' };
    if (auth === 'admin' || auth === 'metrics') return { ...own, 'x-admin-key': this.#served.adminKey };
    return { ...own, authorization: `Bearer ${auth === 'login' ? await this.#served.login() : this.#served.key}` };
  }

  /** Ends the run's sessions. That succeeds whatever has happened to them. */
  async close(): Promise<void> {
    for (const session_id of [this.#sessionId, ...this.#created]) {
      const { status, text } = await this.#served.call(endSession, { params: { session_id } });
      assert.equal(status, 204, text);
    }
  }
}

/**
 * Many customers' DevTools clients on one pipe.
 *
 * Each client gets a browser-level session of its own. What it sends without a
 * session is stamped with that one and the replies are stripped of it, so it
 * believes to be alone. The sessions that grow out of it are learnt from the
 * browser's attachment events; a client may use those and no others. Message
 * ids are unique within a session, so they pass as they are.
 */
import type { Log } from '../../lib/log.ts';
import type { Connection } from './connection.ts';
import type { DevtoolsClient, DevtoolsClientOptions } from '../model.ts';
import { BrowserGone } from '../model.ts';
import { isTargetEvent, withoutSession } from './message-head.ts';
import { judge, type RuleFacts } from './client-rules.ts';

/** A page's whole content or a fulfilled response goes in one message; more is not work but an attack. */
const largestMessageBytes = 64 * 1024 * 1024;
/** The browser's own parser stops at 300, and answers then without saying whom. */
const deepestParams = 200;
/** A client whose library is merely wrong sends one bad message; one that goes on is doing it on purpose. */
const faultsTolerated = 10;

export interface MultiplexerOptions {
  log: Log;
  facts(): RuleFacts;
  onActivity(): void;
  /** A client brought a page to the front. */
  onActivate(targetId: string): void;
  onClientGone(): void;
}

interface Attachment {
  client: Client;
  parent: string | null;
  targetId: string | null;
  watchesPage: boolean;
}

interface ClientMessage {
  id: number;
  method: string;
  params: Record<string, unknown>;
  sessionId: string | undefined;
}

interface TargetEvent {
  method: string;
  params: { sessionId?: string; targetInfo?: { targetId: string; type: string; url: string } };
}

export class Multiplexer {
  readonly #connection: Connection;
  readonly #options: MultiplexerOptions;
  readonly #attachments = new Map<string, Attachment>();
  readonly #clients = new Set<Client>();

  constructor(connection: Connection, options: MultiplexerOptions) {
    this.#connection = connection;
    this.#options = options;
    connection.onForeign = (sessionId, frame) => this.#deliver(sessionId, frame);
  }

  get count(): number {
    return this.#clients.size;
  }

  /** Whether a client listens to the events of this page, and so to its dialogs. */
  watches(targetId: string): boolean {
    for (const attachment of this.#attachments.values()) if (attachment.watchesPage && attachment.targetId === targetId) return true;
    return false;
  }

  /** @throws BrowserGone */
  async connect(options: DevtoolsClientOptions): Promise<DevtoolsClient> {
    const { sessionId } = await this.#connection.send('Target.attachToBrowserTarget', undefined);
    const client = new Client(sessionId, options);
    this.#clients.add(client);
    this.#attachments.set(sessionId, { client, parent: null, targetId: null, watchesPage: false });
    return { receive: (message) => this.#receive(client, message), close: () => this.#close(client) };
  }

  /** Tells every client that the browser is no more. */
  end(): void {
    for (const client of this.#clients) client.end('browser_gone');
    this.#clients.clear();
    this.#attachments.clear();
  }

  #close(client: Client): void {
    if (!this.#clients.delete(client)) return;
    client.open = false;
    for (const [sessionId, attachment] of this.#attachments) if (attachment.client === client) this.#attachments.delete(sessionId);
    // Its children, its paused pages and the contexts that it asked to be disposed of go with its session.
    this.#connection
      .send('Target.detachFromTarget', { sessionId: client.sessionId })
      .catch((error: unknown) => {
        if (!(error instanceof BrowserGone)) this.#options.log.debug({ error }, 'a client could not be detached');
      })
      .finally(() => this.#options.onClientGone());
  }

  #expel(client: Client, reason: 'browser_close' | 'protocol_error'): void {
    this.#close(client);
    client.end(reason);
  }

  #deliver(sessionId: string, frame: Buffer): void {
    const attachment = this.#attachments.get(sessionId);
    if (!attachment) return;
    if (isTargetEvent(frame) && !this.#learn(sessionId, attachment, frame)) return;
    this.#give(attachment.client, attachment.parent === null ? withoutSession(frame) : frame);
  }

  #give(client: Client, message: string | Buffer): void {
    // A message cannot be left out, so a client that does not take them any more has to go.
    if (client.open && client.options.send(message) === false) this.#expel(client, 'protocol_error');
  }

  /** Keeps the tree of attachments; false when the client must not know. */
  #learn(parent: string, { client }: Attachment, frame: Buffer): boolean {
    const { method, params } = JSON.parse(frame.toString('utf8')) as TargetEvent;
    const info = params.targetInfo;
    if (info && (info.type === 'browser_ui' || /^(chrome|devtools):/.test(info.url))) return false;
    if (method === 'Target.attachedToTarget' && params.sessionId) {
      this.#attachments.set(params.sessionId, { client, parent, targetId: info?.targetId ?? null, watchesPage: false });
    } else if (method === 'Target.detachedFromTarget' && params.sessionId && this.#attachments.get(params.sessionId)?.client === client) {
      this.#forget(params.sessionId);
    }
    return true;
  }

  #forget(sessionId: string): void {
    this.#attachments.delete(sessionId);
    for (const [child, attachment] of this.#attachments) if (attachment.parent === sessionId) this.#forget(child);
  }

  #receive(client: Client, raw: string | Buffer): void {
    if (!client.open) return;
    this.#options.onActivity();
    if (raw.length > largestMessageBytes) {
      this.#expel(client, 'protocol_error');
      return;
    }
    const message = readMessage(raw);
    if ('code' in message) this.#complain(client, message);
    else this.#judge(client, message);
  }

  #complain(client: Client, fault: Fault): void {
    const { id, code, message } = fault;
    this.#give(client, JSON.stringify(id === undefined ? { error: { code, message } } : { id, error: { code, message } }));
    client.faults += 1;
    if (client.faults > faultsTolerated) this.#expel(client, 'protocol_error');
  }

  #judge(client: Client, { id, method, params, sessionId }: ClientMessage): void {
    const attachment = this.#attachments.get(sessionId ?? client.sessionId);
    if (attachment?.client !== client) {
      this.#give(client, JSON.stringify({ id, error: { code: -32001, message: 'Session with given id not found.' } }));
      return;
    }
    const verdict = judge(method, params, this.#options.facts());
    if (verdict.kind === 'refuse') {
      this.#give(client, JSON.stringify({ id, error: { code: -32000, message: verdict.message }, sessionId }));
      return;
    }
    if (verdict.kind === 'close') {
      this.#give(client, JSON.stringify({ id, result: {}, sessionId }));
      this.#expel(client, 'browser_close');
      return;
    }
    this.#note(attachment, method, params);
    // Written anew from what was checked, so that what the browser reads cannot differ from it.
    this.#connection.forward(
      JSON.stringify({
        id,
        method,
        params: verdict.kind === 'rewrite' ? verdict.params : params,
        sessionId: sessionId ?? client.sessionId,
      }),
    );
  }

  #note(attachment: Attachment, method: string, params: Record<string, unknown>): void {
    if (method === 'Page.enable') attachment.watchesPage = true;
    else if (method === 'Page.disable') attachment.watchesPage = false;
    else if (method === 'Page.bringToFront' && attachment.targetId !== null) this.#options.onActivate(attachment.targetId);
    else if (method === 'Target.activateTarget' && typeof params['targetId'] === 'string') this.#options.onActivate(params['targetId']);
  }
}

class Client {
  readonly sessionId: string;
  readonly options: DevtoolsClientOptions;
  open = true;
  faults = 0;

  constructor(sessionId: string, options: DevtoolsClientOptions) {
    this.sessionId = sessionId;
    this.options = options;
  }

  end(reason: 'browser_close' | 'protocol_error' | 'browser_gone'): void {
    this.open = false;
    this.options.onClose(reason);
  }
}

interface Fault {
  id?: number | undefined;
  code: number;
  message: string;
}

/** A message as Chromium would take it, or what is wrong with it in Chromium's words. */
function readMessage(raw: string | Buffer): ClientMessage | Fault {
  let value: unknown;
  try {
    value = JSON.parse(typeof raw === 'string' ? raw : raw.toString('utf8'));
  } catch {
    return { code: -32700, message: 'JSON: the message cannot be parsed' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { code: -32600, message: 'Message must be an object' };
  const { id, method, params, sessionId, ...others } = value as Record<string, unknown>;
  if (typeof id !== 'number' || !Number.isInteger(id) || Math.abs(id) > 2 ** 31 - 1)
    return { code: -32600, message: "Message must have integer 'id' property" };
  if (typeof method !== 'string') return { id, code: -32600, message: "Message must have string 'method' property" };
  if (sessionId !== undefined && typeof sessionId !== 'string')
    return { id, code: -32600, message: "Message may have string 'sessionId' property" };
  if (Object.keys(others).length > 0)
    return { id, code: -32600, message: "Message has property other than 'id', 'method', 'sessionId', 'params'" };
  if (params === undefined || params === null) return { id, method, params: {}, sessionId };
  if (typeof params !== 'object' || Array.isArray(params))
    return { id, code: -32600, message: "Message may have object 'params' property" };
  if (!isShallow(params)) return { id, code: -32600, message: `'params' is deeper than ${deepestParams}` };
  return { id, method, params: params as Record<string, unknown>, sessionId };
}

/** Level by level and without recursion, so that no depth can exhaust the stack. */
function isShallow(top: object): boolean {
  let level: object[] = [top];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepestParams) return false;
    const below: object[] = [];
    for (const each of level)
      for (const value of Object.values(each)) if (typeof value === 'object' && value !== null) below.push(value as object);
    level = below;
  }
  return true;
}

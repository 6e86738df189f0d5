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
import { type Connection, isTargetEvent, withoutSession } from './connection.ts';
import type { DevtoolsClient, DevtoolsClientOptions } from '../model.ts';
import { BrowserClosed } from '../model.ts';
import { ClientContexts } from './client-contexts.ts';
import { applyRules, type RuleContext } from './client-rules.ts';

/** A page's whole content or a fulfilled response fits in one message; more is an attack. */
const messageBytesMax = 64 * 1024 * 1024;
/** The browser's own parser stops at 300, and its error then has no id. */
const paramsDepthMax = 200;
/** A client with a faulty library sends a bad message now and then; more are deliberate. */
const clientErrorsMax = 10;

interface MultiplexerDeps {
  log: Log;
  ruleContext(): RuleContext;
  onActivity(): void;
  /** A client activated a page. */
  onActivate(targetId: string): void;
  onClientClosed(): void;
}

interface Attachment {
  client: Client;
  parent: string | null;
  targetId: string | null;
  isWatchingPage: boolean;
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
  readonly #deps: MultiplexerDeps;
  readonly #attachments = new Map<string, Attachment>();
  readonly #clients = new Set<Client>();
  readonly #contexts = new ClientContexts<Client>();

  constructor(connection: Connection, options: MultiplexerDeps) {
    this.#connection = connection;
    this.#deps = options;
    connection.onForeign = (sessionId, frame) => this.#deliver(sessionId, frame);
  }

  get count(): number {
    return this.#clients.size;
  }

  /** How many more browser contexts clients may create. */
  get contextsFree(): number {
    return this.#contexts.free;
  }

  /** Whether a client has enabled the events of this page, and so handles its dialogs. */
  isWatching(targetId: string): boolean {
    for (const attachment of this.#attachments.values()) if (attachment.isWatchingPage && attachment.targetId === targetId) return true;
    return false;
  }

  /** @throws BrowserClosed */
  async connect(options: DevtoolsClientOptions): Promise<DevtoolsClient> {
    const { sessionId } = await this.#connection.send('Target.attachToBrowserTarget', undefined);
    const client = new Client(sessionId, options);
    this.#clients.add(client);
    this.#attachments.set(sessionId, { client, parent: null, targetId: null, isWatchingPage: false });
    return { receive: (message) => this.#receive(client, message), close: () => this.#close(client) };
  }

  /** Ends every client: the browser has closed. */
  end(): void {
    for (const client of this.#clients) client.end('browser_gone');
    this.#clients.clear();
    this.#attachments.clear();
  }

  #close(client: Client): void {
    if (!this.#clients.delete(client)) return;
    client.isOpen = false;
    this.#contexts.onClosed(client);
    for (const [sessionId, attachment] of this.#attachments) if (attachment.client === client) this.#attachments.delete(sessionId);
    // Its child sessions, paused pages and the contexts created with `disposeOnDetach` end with its session.
    this.#connection
      .send('Target.detachFromTarget', { sessionId: client.sessionId })
      .catch((error: unknown) => {
        if (!(error instanceof BrowserClosed)) this.#deps.log.debug({ err: error }, 'client detach failed');
      })
      .finally(() => this.#deps.onClientClosed());
  }

  #disconnect(client: Client, reason: 'browser_close' | 'protocol_error'): void {
    this.#close(client);
    client.end(reason);
  }

  #deliver(sessionId: string, frame: Buffer): void {
    const attachment = this.#attachments.get(sessionId);
    if (!attachment) return;
    this.#contexts.onReply(attachment.client, sessionId, frame);
    if (isTargetEvent(frame) && !this.#trackAttachment(sessionId, attachment, frame)) return;
    this.#send(attachment.client, attachment.parent === null ? withoutSession(frame) : frame);
  }

  #send(client: Client, message: string | Buffer): void {
    // Messages cannot be dropped, so a client whose buffer is full is disconnected.
    if (client.isOpen && client.options.send(message) === false) this.#disconnect(client, 'protocol_error');
  }

  /** Maintains the tree of attachments. Returns false when the event must not reach the client. */
  #trackAttachment(parent: string, { client }: Attachment, frame: Buffer): boolean {
    const { method, params } = JSON.parse(frame.toString('utf8')) as TargetEvent;
    const info = params.targetInfo;
    if (info && (info.type === 'browser_ui' || /^(chrome|devtools):/.test(info.url))) return false;
    if (method === 'Target.attachedToTarget' && params.sessionId) {
      this.#attachments.set(params.sessionId, { client, parent, targetId: info?.targetId ?? null, isWatchingPage: false });
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
    if (!client.isOpen) return;
    this.#deps.onActivity();
    if (raw.length > messageBytesMax) {
      this.#disconnect(client, 'protocol_error');
      return;
    }
    const message = parseMessage(raw);
    if ('code' in message) this.#sendError(client, message);
    else this.#applyRules(client, message);
  }

  #sendError(client: Client, error: MessageError): void {
    const { id, code, message } = error;
    this.#send(client, JSON.stringify(id === undefined ? { error: { code, message } } : { id, error: { code, message } }));
    client.errorCount += 1;
    if (client.errorCount > clientErrorsMax) this.#disconnect(client, 'protocol_error');
  }

  #applyRules(client: Client, { id, method, params, sessionId }: ClientMessage): void {
    const attachment = this.#attachments.get(sessionId ?? client.sessionId);
    if (attachment?.client !== client) {
      this.#send(client, JSON.stringify({ id, error: { code: -32001, message: 'Session with given id not found.' } }));
      return;
    }
    const decision = applyRules(method, params, this.#deps.ruleContext());
    if (decision.kind === 'refuse') {
      this.#send(client, JSON.stringify({ id, error: { code: decision.code ?? -32000, message: decision.message }, sessionId }));
      return;
    }
    if (decision.kind === 'close') {
      this.#send(client, JSON.stringify({ id, result: {}, sessionId }));
      this.#disconnect(client, 'browser_close');
      return;
    }
    this.#trackCommand(attachment, method, params);
    this.#contexts.onCommand(client, `${sessionId ?? client.sessionId} ${id}`, { method, params });
    // Serialized again from the checked values, so that the browser cannot read anything else.
    this.#connection.forward(
      JSON.stringify({
        id,
        method,
        params: decision.kind === 'rewrite' ? decision.params : params,
        sessionId: sessionId ?? client.sessionId,
      }),
    );
  }

  #trackCommand(attachment: Attachment, method: string, params: Record<string, unknown>): void {
    if (method === 'Page.enable') attachment.isWatchingPage = true;
    else if (method === 'Page.disable') attachment.isWatchingPage = false;
    else if (method === 'Page.bringToFront' && attachment.targetId !== null) this.#deps.onActivate(attachment.targetId);
    else if (method === 'Target.activateTarget' && typeof params['targetId'] === 'string') this.#deps.onActivate(params['targetId']);
  }
}

class Client {
  readonly sessionId: string;
  readonly options: DevtoolsClientOptions;
  isOpen = true;
  errorCount = 0;

  constructor(sessionId: string, options: DevtoolsClientOptions) {
    this.sessionId = sessionId;
    this.options = options;
  }

  end(reason: 'browser_close' | 'protocol_error' | 'browser_gone'): void {
    this.isOpen = false;
    this.options.onClose(reason);
  }
}

interface MessageError {
  id?: number | undefined;
  code: number;
  message: string;
}

/** The message as Chromium would read it, or Chromium's error for it. */
function parseMessage(raw: string | Buffer): ClientMessage | MessageError {
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
  if (!isShallow(params)) return { id, code: -32600, message: `'params' is deeper than ${paramsDepthMax}` };
  return { id, method, params: params as Record<string, unknown>, sessionId };
}

/** Level by level and without recursion, so that deep params cannot exhaust the stack. */
function isShallow(top: object): boolean {
  let level: object[] = [top];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > paramsDepthMax) return false;
    const below: object[] = [];
    for (const each of level)
      for (const value of Object.values(each)) if (typeof value === 'object' && value !== null) below.push(value as object);
    level = below;
  }
  return true;
}

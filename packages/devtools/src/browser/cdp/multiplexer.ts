/**
 * Many customers' DevTools clients on one pipe.
 *
 * Each client gets a browser-level session of its own. What it sends without a
 * session is stamped with that one and the replies are stripped of it, so it
 * believes to be alone. The sessions that grow out of it are learnt from the
 * browser's attachment events; a client may use those and no others. Message
 * ids are unique within a session, so they pass as they are.
 */
import type { Log } from '@berth/lib/log.ts';
import { section } from '@berth/lib/turns/sections.ts';
import { nextTurn, TurnBudget } from '@berth/lib/turns/turn-budget.ts';
import { type Connection, isTargetEvent, withoutSession } from './connection.ts';
import { BrowserClosedError, type DevtoolsClient, type DevtoolsClientOptions } from '../interface.ts';
import { Client } from './clients/client.ts';
import { ClientContexts } from './clients/client-contexts.ts';
import { HiddenFrames } from './clients/hidden-frames.ts';
import { parseMessage, type ClientMessage, type MessageError } from './messages/client-message.ts';
import { largeBytesMin, parseLargeMessage } from './messages/large-message.ts';
import { Attachments, type Attachment } from './clients/attachments.ts';
import type { Backlog } from './backlog.ts';
import {
  isHidden,
  isNegativeReply,
  isReply,
  noSuchTarget,
  replyIdOf,
  toError,
  withoutHiddenTarget,
  withoutTargets,
  type Reply,
  type TargetInfo,
} from './clients/client-replies.ts';
import { drivingCommands } from './clients/client-commands.ts';
import { applyRules, type RuleContext } from './clients/client-rules.ts';
import { Resumption, type Resume } from './clients/resumption.ts';

/** A client with a faulty library sends a bad message now and then; more are deliberate. */
const clientErrorsMax = 10;
/** The id of the worker's own commands on clients' sessions. No client can send it. */
const ownCommandId = -(2 ** 31);

interface Tracked {
  attachment: Attachment<Client>;
  id: number;
  params: ClientMessage['params'];
}

interface MultiplexerDeps {
  log: Log;
  ruleContext(pageId: string | null): RuleContext;
  onActivity(): void;
  /** A client activated a page. */
  onActivate(targetId: string): void;
  /** A client handles a page. */
  onWatching(targetId: string): void;
  /** A client has opened a page in front. */
  onOpened(targetId: string): void;
  /** A client does something with a page. */
  onDriving(targetId: string): void;
  /** A client sets the window of a page itself. */
  onWindowChanged(of: { targetId?: string | null; windowId?: unknown }): void;
  onClientClosed(): void;
}

interface TargetEvent {
  method: string;
  params: { sessionId?: string; targetInfo?: TargetInfo };
}

/** A target that the worker's own session waits on, too. `parentId`: the page of a frame or worker. */
export interface PausedTarget {
  targetId: string;
  type: string;
  parentId: string | null;
  /** A page in the process of its opener. */
  isPopup: boolean;
}

const keyOf = ({ attachment, id }: Tracked): string => `${attachment.sessionId} ${id}`;

export class Multiplexer {
  readonly #connection: Connection;
  readonly #deps: MultiplexerDeps;
  readonly #attachments = new Attachments<Client>();
  readonly #resumption = new Resumption<Client>();
  readonly #hiddenFrames: HiddenFrames;
  readonly #clients = new Set<Client>();
  /** The turn budget of all clients together, so that many clients get no more than one. */
  readonly #turn = new TurnBudget();
  readonly #contexts = new ClientContexts<Client>();
  /** The functions for the commands whose effects, or whose replies, are of interest here. */
  readonly #trackers = new Map<string, (command: Tracked) => void>(
    Object.entries({
      'Browser.setContentsSize': ({ params }) => this.#deps.onWindowChanged({ windowId: params['windowId'] }),
      'Browser.setDownloadBehavior': ({ attachment: { client }, params: { downloadPath } }) => {
        if (typeof downloadPath === 'string') client.downloadsFolder = downloadPath;
      },
      'Browser.setWindowBounds': ({ params }) => this.#deps.onWindowChanged({ windowId: params['windowId'] }),
      'Emulation.clearDeviceMetricsOverride': ({ attachment: { targetId } }) => this.#deps.onWindowChanged({ targetId }),
      'Page.bringToFront': ({ attachment: { targetId } }) => this.#activate(targetId),
      'Page.disable': ({ attachment }) => void (attachment.isWatchingPage = false),
      'Page.enable': ({ attachment }) => {
        attachment.isWatchingPage = true;
        if (attachment.targetId !== null) this.#deps.onWatching(attachment.targetId);
      },
      'Page.navigate': ({ attachment: { replies }, id, params }) => replies.onReply(id, (reply) => this.#withNetError(reply, params)),
      'Target.activateTarget': ({ params }) => this.#activate(params['targetId']),
      'Target.attachToTarget': ({ attachment: { replies }, id }) => replies.onReply(id, (reply) => this.#withoutHiddenSession(reply)),
      // A page that closes while it is paused leaves its opener paused.
      'Target.closeTarget': ({ params: { targetId } }) => {
        if (typeof targetId === 'string') this.#resumption.release(targetId);
      },
      'Target.createBrowserContext': (command) => this.#contexts.onCreate(command.attachment.client, keyOf(command), command.params),
      'Target.createTarget': (command) => this.#countTab(command),
      'Target.disposeBrowserContext': (command) => this.#contexts.onDispose(command.attachment.client, keyOf(command), command.params),
      'Target.getTargetInfo': ({ attachment: { replies }, id }) => replies.onReply(id, withoutHiddenTarget),
      'Target.getTargets': ({ attachment: { replies, client }, id }) =>
        replies.onReply(id, (reply) => withoutTargets(reply, (info) => isHidden(info) || client.isForeign(info))),
      'Target.setAutoAttach': ({ attachment: { sessionId }, params }) => this.#attachments.onAutoAttach(sessionId, params),
    } satisfies Record<string, (command: Tracked) => void>),
  );

  constructor(connection: Connection, options: MultiplexerDeps) {
    this.#connection = connection;
    this.#deps = options;
    this.#hiddenFrames = new HiddenFrames(connection);
    connection.onForeign = (sessionId, frame) => this.#deliver(sessionId, frame);
    // A target may get its address after a client has attached to it.
    connection.on('Target.targetInfoChanged', ({ targetInfo }) => {
      for (const each of this.#attachments.ofTarget(targetInfo.targetId)) {
        if (isHidden(targetInfo)) this.#hide(each);
        else if (each.isHidden && targetInfo.url !== '') this.#announce(each, targetInfo);
      }
    });
  }

  get count(): number {
    return this.#clients.size;
  }

  /** Tabs that clients are opening. */
  get openingTabs(): number {
    let sum = 0;
    for (const { openingTabs } of this.#clients) sum += openingTabs;
    return sum;
  }

  /** How many more browser contexts clients may create. */
  get contextsFree(): number {
    return this.#contexts.free;
  }

  /** Whether a client has enabled the events of this page, and so handles its dialogs. */
  isWatching(targetId: string): boolean {
    return this.#attachments.ofTarget(targetId).some(({ isWatchingPage }) => isWatchingPage);
  }

  /** Whether a client waits for a reply of this page. */
  isWaiting(targetId: string): boolean {
    return this.#attachments.ofPage(targetId).some(({ backlog }) => !backlog.isEmpty);
  }

  /** Calls `resume` when every client that waits on the target has resumed it. */
  holdResume({ targetId, type, parentId, isPopup }: PausedTarget, resume: () => void): void {
    this.#resumption.hold({ targetId, isPopup }, this.#attachments.waiting(type, parentId), resume);
  }

  /** @throws BrowserClosedError */
  async connect(options: DevtoolsClientOptions): Promise<DevtoolsClient> {
    const { sessionId, targetId } = await this.#attachToBrowser();
    const client = new Client(sessionId, targetId, options);
    this.#clients.add(client);
    this.#attachments.add({ sessionId, client, parent: null, targetId: null, targetType: 'browser', isHidden: false });
    return {
      receive: (message) => section('devtools', () => this.#receive(client, message)),
      close: () => this.#close(client),
      end: () => this.#detachClient(client),
    };
  }

  /** Each attachment has a browser target of its own, which only the event names. */
  async #attachToBrowser(): Promise<{ sessionId: string; targetId: string }> {
    const targetIds = new Map<string, string>();
    const ignore = this.#connection.on('Target.attachedToTarget', ({ sessionId, targetInfo }) =>
      targetIds.set(sessionId, targetInfo.targetId),
    );
    try {
      const { sessionId } = await this.#connection.send('Target.attachToBrowserTarget', undefined);
      return { sessionId, targetId: targetIds.get(sessionId) ?? '' };
    } finally {
      ignore();
    }
  }

  /** Ends every client: the browser has closed. */
  end(): void {
    this.#resumption.end();
    for (const client of this.#clients) {
      this.#announceEnd(client);
      client.end('browser_gone');
    }
    this.#clients.clear();
  }

  #announceEnd(client: Client): void {
    for (const attachment of this.#attachments.removeAll(client)) this.#sendDetached(attachment);
  }

  #detachClient(client: Client): void {
    if (this.#clients.has(client)) this.#announceEnd(client);
    this.#close(client);
  }

  #close(client: Client): void {
    if (!this.#clients.delete(client)) return;
    client.isOpen = false;
    this.#contexts.onClosed(client);
    this.#attachments.removeAll(client);
    this.#resumption.leave(client);
    // Its child sessions, paused pages and the contexts created with `disposeOnDetach` end with its session.
    this.#connection
      .send('Target.detachFromTarget', { sessionId: client.sessionId })
      .catch((error: unknown) => {
        if (!(error instanceof BrowserClosedError)) this.#deps.log.debug({ err: error }, 'client detach failed');
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
    if (isReply(frame)) attachment.backlog.onReply();
    this.#contexts.onReply(attachment.client, sessionId, frame);
    if (isTargetEvent(frame) && !this.#trackAttachment(sessionId, attachment, frame)) return;
    if (attachment.isHidden || (isNegativeReply(frame) && replyIdOf(frame) === ownCommandId)) return;
    const { client } = attachment;
    const copied = client.copyDownload(frame);
    const message = attachment.replies.apply(attachment.parent === null ? withoutSession(frame) : frame);
    if (copied) void copied.then(() => this.#send(client, message));
    else this.#send(client, message);
  }

  #send(client: Client, message: string | Buffer): void {
    // Messages cannot be dropped, so a client whose buffer is full is disconnected.
    if (client.isOpen && client.options.send(message) === false) this.#disconnect(client, 'protocol_error');
  }

  /** Maintains the tree of attachments. Returns false when the event must not reach the client. */
  #trackAttachment(parent: string, { client }: Attachment<Client>, frame: Buffer): boolean {
    const { method, params } = JSON.parse(frame.toString('utf8')) as TargetEvent;
    const { sessionId, targetInfo: info } = params;
    if (method === 'Target.attachedToTarget' && sessionId !== undefined && info) {
      if (isHidden(info)) this.#detach(parent, sessionId);
      else return this.#attach(parent, { sessionId, client, info });
    } else if (method === 'Target.detachedFromTarget' && sessionId !== undefined) {
      const attachment = this.#attachments.get(sessionId);
      if (attachment?.client !== client) return false;
      if (attachment.targetId !== null) this.#resumption.leave(client, attachment.targetId);
      this.#attachments.remove(sessionId);
      if (attachment.isHidden) return false;
    }
    return !info || !(isHidden(info) || client.isForeign(info));
  }

  /** Returns whether the client gets the event. A frame that will be one of the browser's own is resumed for it, and hidden when it is. */
  #attach(parent: string, { sessionId, client, info }: { sessionId: string; client: Client; info: TargetInfo }): boolean {
    const isHidden = this.#hiddenFrames.has(info.targetId);
    const attachment = this.#attachments.add({ sessionId, client, parent, targetId: info.targetId, targetType: info.type, isHidden });
    if (!isHidden) return !client.isForeign(info);
    const command = JSON.stringify({ id: ownCommandId, method: 'Runtime.runIfWaitingForDebugger', sessionId });
    this.#resume(attachment, { send: () => this.#connection.forward(command), answer: () => undefined });
    return false;
  }

  /** Reports to the client a frame that did not become one of the browser's own. */
  #announce(attachment: Attachment<Client>, targetInfo: TargetInfo): void {
    attachment.isHidden = false;
    this.#sendTarget(attachment, 'Target.attachedToTarget', { targetInfo, waitingForDebugger: false });
  }

  /** Takes a target that has become one of the browser's own from a client. */
  #hide(attachment: Attachment<Client>): void {
    const { client, sessionId, parent, targetId: frameId, targetType } = attachment;
    this.#attachments.remove(sessionId);
    if (parent === null) return;
    this.#detach(parent, sessionId);
    this.#sendDetached(attachment);
    // The frame went to another process, where a client waits for it.
    if (targetType === 'iframe' && this.#attachments.get(parent)?.isWatchingPage === true)
      this.#send(client, JSON.stringify({ method: 'Page.frameDetached', params: { frameId, reason: 'remove' }, sessionId: parent }));
  }

  /** Detaches from a target, which also resumes it: nobody else may. */
  #detach(parent: string, sessionId: string): void {
    this.#connection.forward(
      JSON.stringify({ id: ownCommandId, method: 'Target.detachFromTarget', params: { sessionId }, sessionId: parent }),
    );
  }

  #sendDetached(attachment: Attachment<Client>): void {
    if (!attachment.isHidden) this.#sendTarget(attachment, 'Target.detachedFromTarget', { targetId: attachment.targetId });
  }

  #sendTarget({ client, sessionId, parent }: Attachment<Client>, method: string, more: object): void {
    if (parent === null) return;
    const event = { method, params: { sessionId, ...more } };
    this.#send(client, JSON.stringify(parent === client.sessionId ? event : { ...event, sessionId: parent }));
  }

  #receive(client: Client, raw: string | Buffer): Promise<void> | undefined {
    if (!client.isOpen) return undefined;
    if (raw.length > largeBytesMin) return this.#receiveLarge(client, raw);
    this.#turn.isSpent();
    return this.#take(client, parseMessage(raw));
  }

  async #receiveLarge(client: Client, raw: string | Buffer): Promise<void> {
    const message = await parseLargeMessage(raw);
    if (client.isOpen) await section('devtools', () => this.#take(client, message));
  }

  #take(client: Client, message: ClientMessage | MessageError): Promise<void> | undefined {
    const backlog = 'code' in message ? this.#sendError(client, message) : this.#applyRules(client, message);
    this.#deps.onActivity();
    return this.#connection.drained() ?? backlog?.room() ?? (this.#turn.isSpent() ? nextTurn() : undefined);
  }

  #sendError(client: Client, error: MessageError): undefined {
    const { id, code, message } = error;
    this.#send(client, JSON.stringify(id === undefined ? { error: { code, message } } : { id, error: { code, message } }));
    client.errorCount += 1;
    if (client.errorCount > clientErrorsMax) this.#disconnect(client, 'protocol_error');
  }

  /** Returns what the command waits in; undefined where the browser does not get it. */
  #applyRules(client: Client, { id, method, params, sessionId, texts }: ClientMessage): Backlog | undefined {
    const attachment = this.#attachments.get(sessionId ?? client.sessionId);
    if (attachment?.client !== client || attachment.isHidden) {
      this.#send(client, JSON.stringify({ id, error: { code: -32001, message: 'Session with given id not found.' } }));
      return undefined;
    }
    const pageId = attachment.targetType === 'page' ? attachment.targetId : null;
    const decision = applyRules(method, params, () => this.#deps.ruleContext(pageId));
    if (decision.kind === 'refuse') {
      this.#send(client, JSON.stringify({ id, error: { code: decision.code ?? -32000, message: decision.message }, sessionId }));
      return undefined;
    }
    if (decision.kind === 'close') {
      this.#disposeContexts(client);
      this.#send(client, JSON.stringify({ id, result: {}, sessionId }));
      this.#disconnect(client, 'browser_close');
      return undefined;
    }
    if (decision.kind === 'crash') return this.#crash(attachment, id);
    this.#trackers.get(method)?.({ attachment, id, params });
    // Serialized again from the checked values, so that the browser cannot read anything else.
    const checkedParams = decision.kind === 'rewrite' ? decision.params : params;
    const checked = JSON.stringify({ id, method, params: checkedParams, sessionId: sessionId ?? client.sessionId });
    const message = texts?.fill(checked) ?? checked;
    attachment.backlog.onCommand();
    if (method === 'Runtime.runIfWaitingForDebugger')
      this.#resume(attachment, {
        send: () => this.#connection.forward(message),
        answer: () => {
          attachment.backlog.onReply();
          this.#send(client, JSON.stringify({ id, result: {}, sessionId }));
        },
      });
    else this.#connection.forward(message);
    // The rest has time while the browser works.
    if (drivingCommands.has(method)) this.#onDriving(attachment);
    return attachment.backlog;
  }

  #activate(targetId: unknown): void {
    if (typeof targetId === 'string') this.#deps.onActivate(targetId);
  }

  #onDriving(attachment: Attachment<Client>): void {
    const pageId = this.#attachments.pageOf(attachment);
    if (pageId !== null) this.#deps.onDriving(pageId);
  }

  /** The browser's reply to a navigation to `chrome://crash`. That to its own command comes when the page is loaded again. */
  #crash({ client, sessionId, targetId: frameId }: Attachment<Client>, id: number): undefined {
    this.#send(client, JSON.stringify({ id, result: { frameId, errorText: 'net::ERR_ABORTED' }, sessionId }));
    this.#connection.forward(JSON.stringify({ id: ownCommandId, method: 'Page.crash', params: {}, sessionId }));
  }

  /** Disposes of the contexts of a client that closes its browser, so that nothing of its own stays open. */
  #disposeContexts(client: Client): void {
    for (const browserContextId of this.#contexts.takeAll(client)) {
      this.#connection.send('Target.disposeBrowserContext', { browserContextId }).catch((error: unknown) => {
        if (!(error instanceof BrowserClosedError)) this.#deps.log.debug({ err: error }, 'browser context disposal failed');
      });
    }
  }

  #resume({ client, targetId, targetType, autoAttachFilter }: Attachment<Client>, command: Resume): void {
    // Whoever resumes a tab and does not attach to its page does not wait on that, either.
    if (targetType === 'tab' && !autoAttachFilter) this.#resumption.leave(client);
    if (targetId === null) command.send();
    else this.#resumption.resume(targetId, client, command);
  }

  #withNetError(reply: Reply, { url }: Record<string, unknown>): Reply {
    const result = this.#connection.netErrors.inReply(reply.result, String(url)) as Reply['result'];
    return result ? { ...reply, result } : reply;
  }

  /** The event came before the reply. */
  #withoutHiddenSession(reply: Reply): Reply {
    const sessionId = reply.result?.['sessionId'];
    return typeof sessionId !== 'string' || this.#attachments.get(sessionId) ? reply : toError(reply, noSuchTarget);
  }

  /** Tabs that clients open at the same time are counted before the browser has opened them. */
  #countTab({ attachment: { client, replies }, id, params: { background } }: Tracked): void {
    client.openingTabs += 1;
    replies.onReply(id, (reply) => {
      client.openingTabs -= 1;
      const targetId = reply.result?.['targetId'];
      if (background !== true && typeof targetId === 'string') this.#deps.onOpened(targetId);
      return reply;
    });
  }
}

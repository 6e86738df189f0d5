/**
 * What a network log with bodies has beside its entries: bodies, initiators, WebSocket messages and server-sent events.
 * The browser keeps bodies beyond a navigation, within limits; each is read here when its response is complete.
 */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import { orAfter } from '@berth/lib/deadline.ts';
import type { Connection } from '../cdp/connection.ts';
import type { EntryDetails, NetworkEntry, TrafficLimits, TrafficMessage } from '../page/private-model.ts';
import { noNetworkBuffers, type Tab } from '../tabs/tab.ts';
import { createEntry, toSentHeaders } from './network-entry.ts';

/** Bodies of other types say nothing about a site's API: images, fonts, media. */
const readTypes = new Set(['Document', 'XHR', 'Fetch', 'Script', 'Stylesheet', 'Manifest', 'EventSource', 'Other']);
/** The browser's buffer for all bodies of a page's process. */
const durableBytes = { maxTotalBufferSize: 64 * 1024 * 1024, maxResourceBufferSize: 2 * 1024 * 1024 };
/** The buffer in the page's process, without which it has no body of an upload. */
const uploadBytes = { maxTotalBufferSize: 8 * 1024 * 1024, maxResourceBufferSize: 2 * 1024 * 1024 };
const readMsMax = 5000;
const socketsMax = 100;
const textCharsMax = 2000;

interface TrafficDeps {
  connection: Connection;
  tab: Tab;
  isOwnSession(sessionId: string | undefined): boolean;
  limits: TrafficLimits;
}

interface Socket {
  entry: NetworkEntry;
  details: EntryDetails;
}

export class Traffic {
  /** The counts of what the limits left out. */
  readonly dropped = { bodies: 0, bytes: 0, messages: 0 };
  readonly #deps: TrafficDeps;
  readonly #open = new Map<string, EntryDetails>();
  readonly #sockets = new Map<string, Socket>();
  readonly #reads = new Set<Promise<void>>();
  readonly #undo: (() => void)[];
  #bytes = 0;
  #messages = 0;

  constructor(deps: TrafficDeps) {
    this.#deps = deps;
    const { connection, isOwnSession } = deps;
    const ifOwn =
      <P>(act: (params: P, from: string) => void) =>
      (params: P, from: string | undefined): void => {
        if (from !== undefined && isOwnSession(from)) act(params, from);
      };
    this.#undo = [
      connection.on('Target.attachedToTarget', ({ sessionId }) => isOwnSession(sessionId) && this.#keepBodies(sessionId)),
      connection.on(
        'Network.responseReceived',
        ifOwn((event: Protocol.Network.ResponseReceivedEvent, from) => this.#onResponse(event, from)),
      ),
      connection.on(
        'Network.webSocketCreated',
        ifOwn((event: Protocol.Network.WebSocketCreatedEvent, from) => this.#onSocket(event, from)),
      ),
      connection.on(
        'Network.webSocketWillSendHandshakeRequest',
        ifOwn((event: Protocol.Network.WebSocketWillSendHandshakeRequestEvent, from) => this.#onHandshake(event, from)),
      ),
      connection.on(
        'Network.webSocketHandshakeResponseReceived',
        ifOwn((event: Protocol.Network.WebSocketHandshakeResponseReceivedEvent, from) => this.#onAccepted(event, from)),
      ),
      connection.on(
        'Network.webSocketFrameSent',
        ifOwn((event: Protocol.Network.WebSocketFrameSentEvent, from) => this.#onFrame('send', event, from)),
      ),
      connection.on(
        'Network.webSocketFrameReceived',
        ifOwn((event: Protocol.Network.WebSocketFrameReceivedEvent, from) => this.#onFrame('receive', event, from)),
      ),
      connection.on(
        'Network.webSocketFrameError',
        ifOwn((event: Protocol.Network.WebSocketFrameErrorEvent, from) => this.#onSocketError(event, from)),
      ),
      connection.on(
        'Network.eventSourceMessageReceived',
        ifOwn((event: Protocol.Network.EventSourceMessageReceivedEvent, from) => this.#onEvent(event, from)),
      ),
    ];
  }

  /** Call before the first request of the page. */
  async start(signal: AbortSignal): Promise<void> {
    const { connection, tab, limits } = this.#deps;
    const { sessionId } = tab;
    if (limits.bodyBytesMax > 0) tab.networkBuffers = uploadBytes;
    void connection.send('Network.enable', tab.networkBuffers, { sessionId }).catch(() => {});
    await connection.send('Network.configureDurableMessages', durableBytes, { sessionId, signal }).catch(() => signal.throwIfAborted());
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#open.clear();
    const { connection, tab } = this.#deps;
    const { sessionId } = tab;
    tab.networkBuffers = noNetworkBuffers;
    void connection.send('Network.enable', noNetworkBuffers, { sessionId }).catch(() => {});
    void connection.send('Network.configureDurableMessages', noNetworkBuffers, { sessionId }).catch(() => {});
  }

  /** The details of a request that begins. */
  begin(event: Protocol.Network.RequestWillBeSentEvent, from: string): EntryDetails {
    const { request, requestId } = event;
    const details = createDetails(event);
    if (request.postData !== undefined) details.requestBody = this.#take(request.postData);
    else if (request.hasPostData === true) this.#track(this.#readPostData(requestId, from, details));
    this.#open.set(keyOf(from, requestId), details);
    return details;
  }

  /** Reads the body of a request that is complete. */
  finish(entry: Pick<NetworkEntry, 'requestId' | 'resourceType' | 'bodyBytes' | 'details'>, from: string): void {
    this.#open.delete(keyOf(from, entry.requestId));
    const { details } = entry;
    if (details && readTypes.has(entry.resourceType)) this.#track(this.#readBody(entry, from, details));
  }

  /** Resolves when the bodies of complete requests are read, at most after `withinMs`. */
  async bodiesRead(withinMs: number): Promise<void> {
    await orAfter(Promise.all(this.#reads), withinMs);
  }

  /** WebSockets as entries, in the order of their creation. */
  sockets(): NetworkEntry[] {
    return [...this.#sockets.values()].map(({ entry }) => entry);
  }

  #keepBodies(sessionId: string): void {
    void this.#deps.connection.send('Network.configureDurableMessages', durableBytes, { sessionId }).catch(() => {});
  }

  #track(read: Promise<void>): void {
    const tracked = read.catch(() => {}).finally(() => this.#reads.delete(tracked));
    this.#reads.add(tracked);
  }

  async #readPostData(requestId: string, sessionId: string, details: EntryDetails): Promise<void> {
    const options = { sessionId, timeoutMs: readMsMax };
    const { postData, base64Encoded } = await this.#deps.connection.send('Network.getRequestPostData', { requestId }, options);
    details.requestBody = this.#take(base64Encoded ? Buffer.from(postData, 'base64').toString() : postData);
  }

  async #readBody(
    { requestId, bodyBytes }: Pick<NetworkEntry, 'requestId' | 'bodyBytes'>,
    sessionId: string,
    details: EntryDetails,
  ): Promise<void> {
    const { bodyBytesMax, totalBytesMax } = this.#deps.limits;
    if (bodyBytesMax === 0 || bodyBytes === 0) return;
    if (bodyBytes > bodyBytesMax || this.#bytes + bodyBytes > totalBytesMax) return this.#drop(bodyBytes);
    // Held from here on, so that concurrent reads stay within the total.
    this.#bytes += bodyBytes;
    const options = { sessionId, timeoutMs: readMsMax };
    const { body, base64Encoded } = await this.#deps.connection.send('Network.getResponseBody', { requestId }, options);
    details.responseBody = { text: body, isBase64: base64Encoded };
  }

  #take(text: string): string | null {
    const { bodyBytesMax, totalBytesMax } = this.#deps.limits;
    if (bodyBytesMax === 0) return null;
    if (text.length > bodyBytesMax || this.#bytes + text.length > totalBytesMax) {
      this.#drop(text.length);
      return null;
    }
    this.#bytes += text.length;
    return text;
  }

  #drop(bytes: number): void {
    this.dropped.bodies += 1;
    this.dropped.bytes += bytes;
  }

  #onResponse({ requestId, response: { securityDetails } }: Protocol.Network.ResponseReceivedEvent, from: string): void {
    const details = this.#open.get(keyOf(from, requestId));
    if (details && securityDetails) details.security = toSecurity(securityDetails);
  }

  #onSocket({ requestId, url, initiator }: Protocol.Network.WebSocketCreatedEvent, from: string): void {
    if (this.#sockets.size >= socketsMax) return;
    const details = { ...noDetails(), initiator: initiator ? toInitiator(initiator) : null };
    const entry = { ...createEntry({ requestId, url, method: 'GET', resourceType: 'WebSocket', startedAt: new Date() }), details };
    this.#sockets.set(keyOf(from, requestId), { entry, details });
  }

  #onHandshake({ requestId, request, wallTime }: Protocol.Network.WebSocketWillSendHandshakeRequestEvent, from: string): void {
    const entry = this.#sockets.get(keyOf(from, requestId))?.entry;
    if (entry) Object.assign(entry, { startedAt: new Date(wallTime * 1000), requestHeaders: toSentHeaders(request.headers) });
  }

  #onAccepted({ requestId, response }: Protocol.Network.WebSocketHandshakeResponseReceivedEvent, from: string): void {
    const entry = this.#sockets.get(keyOf(from, requestId))?.entry;
    if (!entry) return;
    const { status, statusText, headers, requestHeaders } = response;
    Object.assign(entry, { status, statusText: cutText(statusText, 200), responseHeaders: toSentHeaders(headers) });
    if (requestHeaders) entry.requestHeaders = toSentHeaders(requestHeaders);
  }

  #onFrame(
    type: TrafficMessage['type'],
    { requestId, timestamp, response: { opcode, payloadData } }: Protocol.Network.WebSocketFrameReceivedEvent,
    from: string,
  ): void {
    const socket = this.#sockets.get(keyOf(from, requestId));
    if (!socket) return;
    socket.entry.bodyBytes += payloadData.length;
    if (!this.#countMessage()) return;
    const data = this.#take(payloadData);
    if (data !== null) socket.details.messages.push({ type, time: timestamp, opcode, data });
  }

  #onSocketError({ requestId, errorMessage }: Protocol.Network.WebSocketFrameErrorEvent, from: string): void {
    const entry = this.#sockets.get(keyOf(from, requestId))?.entry;
    if (entry) entry.error = cutText(errorMessage, 200);
  }

  #onEvent({ requestId, timestamp, eventName, eventId, data }: Protocol.Network.EventSourceMessageReceivedEvent, from: string): void {
    const details = this.#open.get(keyOf(from, requestId));
    if (!details || !this.#countMessage()) return;
    const text = this.#take(data);
    if (text !== null)
      details.events.push({ time: timestamp, eventName: cutText(eventName, 200), eventId: cutText(eventId, 200), data: text });
  }

  #countMessage(): boolean {
    if (this.#messages >= this.#deps.limits.messagesMax) {
      this.dropped.messages += 1;
      return false;
    }
    this.#messages += 1;
    return true;
  }
}

const keyOf = (sessionId: string, requestId: string): string => `${sessionId} ${requestId}`;

const noDetails = (): EntryDetails => ({
  initiator: null,
  priority: null,
  frameId: null,
  documentUrl: null,
  requestBody: null,
  responseBody: null,
  security: null,
  messages: [],
  events: [],
});

const createDetails = ({ initiator, request, frameId, documentURL }: Protocol.Network.RequestWillBeSentEvent): EntryDetails => ({
  ...noDetails(),
  initiator: toInitiator(initiator),
  priority: request.initialPriority,
  frameId: frameId ?? null,
  documentUrl: cutText(documentURL, textCharsMax),
});

/** The innermost frame of the stack says which script sent the request. */
function toInitiator({ type, url, lineNumber, stack }: Protocol.Network.Initiator): NonNullable<EntryDetails['initiator']> {
  const frame = innermostFrame(stack);
  const where = url ?? frame?.url;
  const line = lineNumber ?? frame?.lineNumber;
  return {
    type,
    ...(where === undefined || where === '' ? {} : { url: cutText(where, textCharsMax) }),
    ...(line === undefined ? {} : { lineNumber: line }),
  };
}

const stackDepthMax = 10;

function innermostFrame(stack: Protocol.Runtime.StackTrace | undefined): Protocol.Runtime.CallFrame | undefined {
  let trace = stack;
  for (let depth = 0; trace && depth < stackDepthMax; depth += 1, trace = trace.parent) {
    const frame = trace.callFrames.find(({ url }) => url !== '');
    if (frame) return frame;
  }
  return undefined;
}

const toSecurity = ({ protocol, issuer, subjectName, validTo, sanList }: Protocol.Network.SecurityDetails): EntryDetails['security'] => ({
  protocol: cutText(protocol, 50),
  issuer: cutText(issuer, 200),
  subjectName: cutText(subjectName, 200),
  validTo,
  sanCount: sanList.length,
});

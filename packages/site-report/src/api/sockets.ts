/** Messages of WebSockets and event streams, by type. */
import type { InspectApi } from '@berth/contract';
import { type CapturedExchange, type JsonValue, type ReportInput, parseJson } from '../exchange.ts';
import { SchemaBuilder } from './schema.ts';

type Socket = InspectApi['websockets'][number];
type Stream = InspectApi['event_streams'][number];

const typesMax = 100;
const messagesMax = 20_000;
const evidenceMax = 20;

interface Message {
  type: string;
  data: string;
}

const messagesOf = ({ entry }: CapturedExchange): Message[] => (entry._webSocketMessages ?? []).slice(0, messagesMax);

const withoutQuery = ({ url }: CapturedExchange): string => `${url.origin}${url.path}`;

export function readWebSockets({ exchanges }: ReportInput): Socket[] {
  const sockets = exchanges.filter(({ resourceType, entry }) => resourceType === 'websocket' || entry._webSocketMessages !== undefined);
  return [...Map.groupBy(sockets, withoutQuery).values()].map((group) => {
    const messages = group.flatMap(messagesOf);
    const sent = messages.filter(({ type }) => type === 'send').length;
    const [first] = group;
    const subprotocol = first?.responseHeaders.get('sec-websocket-protocol') ?? null;
    return {
      url: first?.url.href ?? '',
      subprotocol,
      frames_sent: sent,
      frames_received: messages.length - sent,
      bytes: messages.reduce((sum, { data }) => sum + data.length, 0),
      message_types: messageTypes(messages),
      ...protocolOf(first, subprotocol, messages),
      evidence: group.slice(0, evidenceMax).map(({ id }) => id),
    };
  });
}

type ProtocolGuess = Pick<Socket, 'protocol_guess' | 'confidence'>;
const guess = (protocol: Socket['protocol_guess'], confidence: Socket['confidence']): ProtocolGuess => ({
  protocol_guess: protocol,
  confidence,
});

/** Guesses the protocol: what the URL or the handshake names is sure, what messages look like is likely. */
function protocolOf(first: CapturedExchange | undefined, subprotocol: string | null, messages: readonly Message[]): ProtocolGuess {
  const url = first?.url.href ?? '';
  if (/[?&]EIO=\d/.test(url)) return guess('socket.io', 'high');
  if (/graphql/.test(subprotocol ?? '')) return guess('graphql-ws', 'high');
  if (messages.some(({ data }) => data.endsWith('\u001e') && data.startsWith('{'))) return guess('signalr', 'high');
  if (messages.some(({ data }) => /"phx_|^\[(?:"|null)[^\]]{0,80}"phoenix"/.test(data.slice(0, 400)))) return guess('phoenix', 'high');
  if (/[?&]vsn=\d/.test(url)) return guess('phoenix', 'medium');
  const json = messages.filter(({ data }) => parseJson(data) !== undefined).length;
  if (json > 0) return guess('json', json === messages.length ? 'high' : 'medium');
  return guess('raw', messages.length > 0 ? 'medium' : 'low');
}

interface Group {
  direction: 'sent' | 'received';
  discriminator: string | null;
  count: number;
  schema: SchemaBuilder;
}

function messageTypes(messages: readonly Message[]): Socket['message_types'] {
  const groups = new Map<string, Group>();
  for (const { type, data } of messages) {
    const direction = type === 'send' ? 'sent' : 'received';
    const value = parseJson(data.replace(/^\d{1,6}(?=[[{])/, ''));
    const discriminator = value === undefined ? null : discriminatorOf(value);
    addTo(groups, `${direction} ${discriminator}`, { direction, discriminator }, value);
  }
  return [...groups.values()].map(({ schema, ...group }) => ({ ...group, schema: schema.samples > 0 ? schema.toSchema() : null }));
}

function addTo(
  groups: Map<string, Group>,
  key: string,
  head: Pick<Group, 'direction' | 'discriminator'>,
  value: JsonValue | undefined,
): void {
  let group = groups.get(key);
  if (!group) {
    if (groups.size >= typesMax) return;
    group = { ...head, count: 0, schema: new SchemaBuilder() };
    groups.set(key, group);
  }
  group.count += 1;
  if (value !== undefined) group.schema.add(value);
}

const discriminators = ['type', 'event', 'action', 'op', 'kind', 'method', 'channel', 'topic', 'cmd', 't'];

/** `type=update`, or of an array such as those of Socket.IO its first word. */
function discriminatorOf(value: JsonValue): string | null {
  if (Array.isArray(value)) return typeof value[0] === 'string' && value[0].length <= 60 ? value[0] : null;
  if (typeof value !== 'object' || value === null) return null;
  for (const name of discriminators) {
    const kind = Object.hasOwn(value, name) ? value[name] : undefined;
    if ((typeof kind === 'string' && kind.length <= 60) || typeof kind === 'number') return `${name}=${kind}`;
  }
  return null;
}

export function readEventStreams({ exchanges }: ReportInput): Stream[] {
  const streams = exchanges.filter(
    ({ resourceType, responseType }) => resourceType === 'eventsource' || responseType === 'text/event-stream',
  );
  return [...Map.groupBy(streams, withoutQuery).values()].map((group) => ({
    url: group[0]?.url.href ?? '',
    events: eventTypes(group.flatMap(eventsOf)),
    evidence: group.slice(0, evidenceMax).map(({ id }) => id),
  }));
}

interface StreamEvent {
  name: string;
  data: string;
}

function eventTypes(events: readonly StreamEvent[]): Stream['events'] {
  const groups = new Map<string, Group & { name: string }>();
  for (const { name, data } of events.slice(0, messagesMax)) {
    const value = parseJson(data);
    const discriminator = value === undefined ? null : discriminatorOf(value);
    const key = `${name} ${discriminator}`;
    addTo(groups, key, { direction: 'received', discriminator }, value);
    const group = groups.get(key);
    if (group) group.name = name;
  }
  return [...groups.values()].map(({ name, discriminator, count, schema }) => ({
    ...{ name, discriminator, count },
    schema: schema.samples > 0 ? schema.toSchema() : null,
  }));
}

/** The events as the browser recorded them, else as they stand in the body. */
function eventsOf({ entry, responseText }: CapturedExchange): StreamEvent[] {
  const recorded = (entry as { _eventSourceMessages?: { eventName?: string; data?: string }[] })._eventSourceMessages;
  if (recorded && recorded.length > 0)
    return recorded.slice(0, messagesMax).map(({ eventName, data }) => ({ name: eventName || 'message', data: data ?? '' }));
  const events: StreamEvent[] = [];
  let event: StreamEvent = { name: 'message', data: '' };
  for (const line of `${responseText}\n\n`.split(/\r?\n/)) {
    if (line.startsWith('event:')) event.name = line.slice(6).trim();
    else if (line.startsWith('data:')) event.data += (event.data === '' ? '' : '\n') + line.slice(5).trim();
    else if (line === '') {
      if (event.data !== '') events.push(event);
      event = { name: 'message', data: '' };
    }
  }
  return events;
}

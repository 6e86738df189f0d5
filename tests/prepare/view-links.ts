/** View links, as browsers use them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createViewToken, createVncToken } from '@berth/contract';
import { frameHeaderBytes, type LiveViewCommand, type LiveViewMessage } from '@berth/contract/live-view';
import WebSocket from 'ws';
import { assertIfDeclared } from '../contract/declared-replies.ts';
import type { Reply, TestApp } from '../harness.ts';
import { eventually } from '../harness.ts';

export type LinkScope = 'view' | 'control' | 'recording' | 'vnc';

/** Creates a link and returns its token. */
export async function tokenFor(
  served: Pick<TestApp, 'call' | 'key'>,
  session_id: string,
  scope: LinkScope = 'view',
  key: string = served.key,
): Promise<string> {
  const request = { params: { session_id }, key };
  const reply =
    scope === 'vnc' ? await served.call(createVncToken, request) : await served.call(createViewToken, { ...request, body: { scope } });
  assert.equal(reply.status, 200, reply.text);
  return reply.body.token ?? assert.fail('the response has no token');
}

/** The only cookie that a reply sets, as a Cookie header. */
export function cookieOf({ headers }: Pick<Reply, 'headers'>): string {
  const [cookie = '', ...rest] = headers.getSetCookie();
  assert.deepEqual(rest, []);
  return cookie.split(';', 1)[0] ?? '';
}

/** Requests a page as a browser does. */
export async function open(url: string, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await fetch(url, { headers, redirect: 'manual' });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const reply = { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  assertIfDeclared('GET', url, reply);
  return reply;
}

/** A live view socket. It records all messages. */
export class ViewSocket {
  readonly socket: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Raw binary messages. */
  readonly bytes: Buffer[] = [];
  readonly messages: LiveViewMessage[] = [];

  private constructor(address: string, headers: Record<string, string>) {
    this.socket = new WebSocket(address, { headers, perMessageDeflate: false });
    this.closed = new Promise((resolve) => this.socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })));
    this.socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.bytes.push(data);
      else this.messages.push(JSON.parse(data.toString()) as LiveViewMessage);
    });
  }

  static async open(address: string, headers: Record<string, string> = {}): Promise<ViewSocket> {
    const opened = new ViewSocket(address, headers);
    await once(opened.socket, 'open');
    return opened;
  }

  send(command: LiveViewCommand): void {
    this.socket.send(JSON.stringify(command));
  }

  /** The frames so far. */
  frames(): { seq: number; picture: string; width: number; height: number }[] {
    return this.bytes.map((data) => ({
      seq: data.readUInt32LE(4),
      picture: data.subarray(frameHeaderBytes).toString('latin1'),
      width: data.readUInt16LE(16),
      height: data.readUInt16LE(18),
    }));
  }

  of<T extends LiveViewMessage['type']>(type: T): Extract<LiveViewMessage, { type: T }>[] {
    return this.messages.filter((message): message is Extract<LiveViewMessage, { type: T }> => message.type === type);
  }

  /** Waits for the next `failed` message and returns its code. */
  async failure(act: () => void): Promise<string> {
    const before = this.of('failed').length;
    act();
    await eventually('a failure is reported', () => this.of('failed').length > before);
    return this.of('failed')[before]?.code ?? '';
  }
}

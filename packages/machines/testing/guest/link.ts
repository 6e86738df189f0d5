/** A link and its peer in this process, over sockets like QEMU's ports. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  performServerHandshake,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { GuestLink } from '../../src/qemu/guest/link.ts';

/** Two ends of one connection. */
export async function socketPair(): Promise<[Socket, Socket]> {
  const folder = mkdtempSync(join(tmpdir(), 'link-test-'));
  const server = createServer().listen(join(folder, 'socket'));
  await once(server, 'listening');
  const near = connect(join(folder, 'socket'));
  const [[far]] = await Promise.all([once(server, 'connection') as Promise<[Socket]>, once(near, 'connect')]);
  server.close();
  rmSync(folder, { recursive: true });
  // `close` reports an abort.
  for (const socket of [near, far]) socket.on('error', () => {});
  return [near, far];
}

export interface LinkUnderTest {
  link: GuestLink;
  /** The guest's ends. */
  control: Socket;
  egress: Socket;
  /** Connections that the guest has opened. */
  accepted: Duplex[];
  close: () => void;
}

export async function newLink({
  slowdown = 1,
  acceptEgress,
}: { slowdown?: number; acceptEgress?: (connection: Duplex) => void } = {}): Promise<LinkUnderTest> {
  const [[near, control], [nearEgress, egress]] = await Promise.all([socketPair(), socketPair()]);
  const accepted: Duplex[] = [];
  const link = new GuestLink({
    control: near,
    egress: nearEgress,
    acceptEgress: acceptEgress ?? ((connection) => accepted.push(connection)),
    slowdown,
  });
  const close = (): void => {
    link.close();
    control.destroy();
    egress.destroy();
  };
  return { link, control, egress, accepted, close };
}

export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => unknown;

/** An agent that speaks correct HTTP/2 and answers what a test provides. */
export function agent(port: Duplex, handle: StreamHandler, settings: Settings = {}): ServerHttp2Session {
  const session = performServerHandshake(port, { settings });
  session.on('error', () => {});
  session.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    handle(stream, headers);
  });
  return session;
}

export const hello = JSON.stringify({ protocol: 1, browser: 'Chrome/1' });

export interface LinkUnderAttack {
  link: GuestLink;
  close: () => Promise<void>;
}

/** A link to a process that runs one of {@link attacks}. */
export async function attackedLink(
  name: string,
  { slowdown, acceptEgress }: { slowdown: number; acceptEgress: (connection: Duplex) => void },
): Promise<LinkUnderAttack> {
  const fixture = fileURLToPath(new URL('./attacks.ts', import.meta.url));
  const attacker = spawn(process.execPath, [fixture, name], { stdio: ['ignore', 'pipe', 'inherit', 'pipe', 'pipe'] });
  const exit = once(attacker, 'exit');
  const [control, egress] = [attacker.stdio[3] as Socket, attacker.stdio[4] as Socket];
  assert.ok(attacker.stdout);
  await once(attacker.stdout, 'data');
  const link = new GuestLink({ control, egress, acceptEgress, slowdown });
  const close = async (): Promise<void> => {
    link.close();
    attacker.kill('SIGKILL');
    await exit;
  };
  return { link, close };
}

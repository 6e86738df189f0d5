/** A link and whoever is at its other end, in this process and over sockets such as QEMU's ports are. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { performServerHandshake } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream, Settings } from 'node:http2';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { GuestLink } from './link.ts';

/** Two ends of one connection. */
export async function socketPair(): Promise<[Socket, Socket]> {
  const folder = mkdtempSync(join(tmpdir(), 'link-test-'));
  const server = createServer().listen(join(folder, 'socket'));
  await once(server, 'listening');
  const near = connect(join(folder, 'socket'));
  const [[far]] = await Promise.all([once(server, 'connection') as Promise<[Socket]>, once(near, 'connect')]);
  server.close();
  rmSync(folder, { recursive: true });
  // Whoever is cut off is told by the close.
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
  slowness = 1,
  acceptEgress,
}: { slowness?: number; acceptEgress?: (connection: Duplex) => void } = {}): Promise<LinkUnderTest> {
  const [[near, control], [nearEgress, egress]] = await Promise.all([socketPair(), socketPair()]);
  const accepted: Duplex[] = [];
  const link = new GuestLink({
    control: near,
    egress: nearEgress,
    acceptEgress: acceptEgress ?? ((connection) => accepted.push(connection)),
    slowness,
  });
  const close = (): void => {
    link.close();
    control.destroy();
    egress.destroy();
  };
  return { link, control, egress, accepted, close };
}

export type Attend = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => unknown;

/** An agent that speaks HTTP/2 as it should, and says what a test likes. */
export function agent(port: Duplex, attend: Attend, settings: Settings = {}): ServerHttp2Session {
  const session = performServerHandshake(port, { settings });
  session.on('error', () => {});
  session.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    attend(stream, headers);
  });
  return session;
}

export const hello = JSON.stringify({ protocol: 1, browser: 'Chrome/1' });

export interface LinkUnderAttack {
  link: GuestLink;
  close: () => Promise<void>;
}

/** A link to a process that does as {@link attacks} says. */
export async function attackedLink(
  name: string,
  { slowness, acceptEgress }: { slowness: number; acceptEgress: (connection: Duplex) => void },
): Promise<LinkUnderAttack> {
  const fixture = fileURLToPath(new URL('./attacks.fixture.ts', import.meta.url));
  const attacker = spawn(process.execPath, [fixture, name], { stdio: ['ignore', 'pipe', 'inherit', 'pipe', 'pipe'] });
  const exit = once(attacker, 'exit');
  const [control, egress] = [attacker.stdio[3] as Socket, attacker.stdio[4] as Socket];
  assert.ok(attacker.stdout);
  await once(attacker.stdout, 'data');
  const link = new GuestLink({ control, egress, acceptEgress, slowness });
  const close = async (): Promise<void> => {
    link.close();
    attacker.kill('SIGKILL');
    await exit;
  };
  return { link, close };
}

/** A database connection that a test can interrupt, as a lost network or a stopped server would. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFakeRuntime } from '../packages/server/src/runtime/fake/fake.ts';
import { testStore } from '../packages/server/src/store/test-store.ts';
import { startApp, type AppOptions, type TestApp } from './harness.ts';

export interface DatabaseProxy {
  /** The database's address through the proxy. */
  url: string;
  /** Drops all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts connections again at the same address. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** `url` is the address of a server on a unix socket, as test stores have, or on TCP. */
export async function createDatabaseProxy(url: string): Promise<DatabaseProxy> {
  const target = new URL(url);
  const folder = target.searchParams.get('host');
  const reach = (): Socket =>
    folder ? connect(`${folder}/.s.PGSQL.${target.port || 5432}`) : connect(Number(target.port || 5432), target.hostname);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = reach();
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const port = await listen(0);
  const near = new URL(url);
  near.searchParams.delete('host');
  near.host = `127.0.0.1:${port}`;
  return { url: near.href, cut, restore: () => listen(port).then(() => undefined), close: cut };
}

export interface ProxiedApp extends TestApp {
  proxy: DatabaseProxy;
  /** The database's address without the proxy. */
  directUrl: string;
}

/** Starts the service with a database connection that can be interrupted. */
export async function startProxiedApp(options: Omit<AppOptions, 'remains'> = {}): Promise<ProxiedApp> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-wired-'));
  const database = await testStore();
  const proxy = await createDatabaseProxy(database.url);
  const served = await startApp({ ...options, previous: { dataDir, databaseUrl: proxy.url, runtime: createFakeRuntime() } });
  const close = async (): Promise<void> => {
    await served.close();
    await proxy.close();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { ...served, proxy, directUrl: database.url, close };
}

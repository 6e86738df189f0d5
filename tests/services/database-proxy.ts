/** A database connection that a test can interrupt, as a lost network or a stopped server would. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { testStore } from '../../packages/server/testing/test-store.ts';
import { startApp, type AppOptions, type TestApp } from '../harness.ts';
import { createTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export interface DatabaseProxy extends TcpProxy {
  /** The database's address through the proxy. */
  url: string;
}

/** `url` is the address of a server on a unix socket, as test stores have, or on TCP. */
export async function createDatabaseProxy(url: string): Promise<DatabaseProxy> {
  const target = new URL(url);
  const folder = target.searchParams.get('host');
  const proxy = await createTcpProxy((): Socket =>
    folder ? connect(`${folder}/.s.PGSQL.${target.port || 5432}`) : connect(Number(target.port || 5432), target.hostname),
  );
  const near = new URL(url);
  near.searchParams.delete('host');
  near.host = `127.0.0.1:${proxy.port}`;
  return { ...proxy, url: near.href };
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

/**
 * The embedded database: a PostgreSQL server from npm, on a Unix socket.
 *
 * The server outlives this process when that is killed; the next start adopts
 * it. No code here ever deletes a cluster: one that cannot be started is
 * reported and left as it is.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import {
  assertMajor,
  changeOwner,
  isErrno,
  nobody,
  openBinaries,
  openHome,
  removeAbandoned,
  unprivilegedAccount,
} from './postgres-files.ts';
import { isAlive, processWith, readPostmaster, takeOverStaleLock, type ServerProcess } from './postmaster.ts';
import { clusterIn, connectionAt, findRunning, type ClusterFiles } from './running.ts';
import { openSocketDir, ownSocketDir, removeShortDir } from './socket-dir.ts';

export interface Embedded {
  /** Settings for `pg`: directory of the Unix socket, user, database. No password: other users cannot enter the directory. */
  readonly connection: { host: string; user: string; database: string };
  /** Current process id of the server; changes after a crash. */
  readonly pid: number;
  /** Whether the server was already running. */
  readonly adopted: boolean;
  /** Fast shutdown: rolls back open transactions. Idempotent. */
  stop(): Promise<void>;
  /** Stops watching the server, which another process has claimed. */
  detach(): Promise<void>;
}

/** Afterwards the server is stopped as in a crash, which loses no committed data. */
const stopTimeoutMs = 15_000;
/** The log holds starts, stops and crashes: two files of this size cover months. */
const logBytesMax = 2 * 1024 * 1024;

/**
 * Settings for a small service on a small machine: the whole server stays
 * under 60 MB. Durability is not traded: fsync and synchronous_commit are on.
 */
const serviceSettings = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '16MB',
  work_mem: '2MB',
  maintenance_work_mem: '16MB',
  temp_buffers: '1MB',
  max_wal_size: '128MB',
  min_wal_size: '32MB',
  wal_buffers: '512kB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // What a backup while the server runs needs, and no more.
  wal_level: 'replica',
  max_wal_senders: '2',
  max_replication_slots: '2',
  // One machine, no replicas, no parallel plans: none of their processes.
  max_logical_replication_workers: '0',
  max_parallel_workers: '0',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  max_worker_processes: '1',
  io_method: 'sync',
  autovacuum_worker_slots: '2',
  autovacuum_max_workers: '1',
  jit: 'off',
  huge_pages: 'off',
  // Errors of statements go to the client. Logged statements would put callers' data into the log.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
} as const;

interface EmbeddedOptions {
  /** An absolute path. All files are in its `postgres` directory. */
  dataDir: string;
  log: Log;
  /** Crash recovery after a kill under load took 2 s at worst; a slow disk may take far longer. */
  startTimeoutMs?: number;
  /** Replace some of the service's own. */
  settings?: Readonly<Record<string, string>>;
}

interface ClusterContext extends ClusterFiles {
  binaries: string;
  logFile: string;
  log: Log;
  startTimeoutMs: number;
  settings: Readonly<Record<string, string>>;
}

/**
 * Starts the database of a data directory, or adopts the running one. Safe to
 * race: one of two callers starts it, the other adopts it. A server that dies
 * afterwards is restarted automatically.
 */
export async function startEmbedded({ dataDir, log, startTimeoutMs = 60_000, settings = {} }: EmbeddedOptions): Promise<Embedded> {
  const account = unprivilegedAccount();
  const home = openHome(dataDir, account);
  const binaries = openBinaries(home, account);
  const context: ClusterContext = {
    ...clusterIn(home, account),
    binaries,
    logFile: join(home, 'postgres.log'),
    log,
    startTimeoutMs,
    settings: { ...serviceSettings, ...settings },
  };
  if (!existsSync(context.cluster)) await initialize(context);
  assertMajor(context.cluster);
  ensureClusterOwner(context);
  return new RunningServer(context, await launch(context)).watch();
}

interface Server extends ServerProcess {
  socketDir: string;
  /** Absent when the server was adopted. */
  child: ChildProcess | undefined;
}

class RunningServer implements Embedded {
  readonly adopted: boolean;
  readonly #context: ClusterContext;
  readonly #watch: Loop;
  #server: Server;
  #stopping: Promise<void> | undefined;

  constructor(context: ClusterContext, server: Server) {
    this.#context = context;
    this.#server = server;
    this.adopted = server.child === undefined;
    this.#watch = new Loop('embedded-database', 500, () => this.#revive());
  }

  get connection() {
    return connectionAt(this.#server.socketDir);
  }

  get pid(): number {
    return this.#server.pid;
  }

  watch(): this {
    this.#watch.start();
    this.#server.child?.once('exit', () => this.#watch.nudge());
    return this;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#watch.stop().then(() => shutDown(this.#server, this.#context));
    return this.#stopping;
  }

  detach(): Promise<void> {
    this.#stopping ??= this.#watch.stop();
    return this.#stopping;
  }

  async #revive(): Promise<void> {
    rotateLog(this.#context.logFile);
    if (this.#stopping || isAlive(this.#server)) return;
    this.#context.log.error({ pid: this.#server.pid }, 'database server exited');
    try {
      this.#server = await launch(this.#context);
      this.#server.child?.once('exit', () => this.#watch.nudge());
    } catch (error) {
      this.#context.log.error({ err: error }, 'database server restart failed');
      throw error;
    }
  }
}

/** Creates a cluster in a staging directory and renames it: of two racing processes, one drops its own new copy. */
async function initialize(context: ClusterContext): Promise<void> {
  removeAbandoned(context.home);
  const staging = mkdtempSync(join(context.home, 'cluster-new-'));
  const initAccount = context.account && nobody;
  if (initAccount) changeOwner(staging, initAccount);
  const args = [
    '-D',
    staging,
    '-U',
    'berth',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--no-sync',
    '--no-instructions',
  ];
  const child = spawn(join(context.binaries, 'initdb'), args, {
    ...initAccount,
    cwd: '/',
    env: serverEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  try {
    if (code !== 0) throw new Error(`initdb failed (${code}): ${output.trim()}`);
    if (context.account) changeOwner(staging, context.account);
    renameSync(staging, context.cluster);
  } catch (error) {
    rmSync(staging, { recursive: true, force: true });
    if (!isErrno(error, 'ENOTEMPTY') && !isErrno(error, 'EEXIST')) throw error;
  }
}

/** A data directory copied by root belongs to root, and the server could not read it. */
function ensureClusterOwner({ cluster, account }: ClusterContext): void {
  if (account && statSync(cluster).uid !== account.uid) changeOwner(cluster, account);
}

/** Adopts or starts, whichever succeeds first: PostgreSQL refuses to run twice on one cluster. */
async function launch(context: ClusterContext): Promise<Server> {
  const deadline = performance.now() + context.startTimeoutMs;
  for (let retryDelayMs = 10; ; retryDelayMs = Math.min(retryDelayMs * 2, 500)) {
    const running = await findRunning(context);
    if (running) return { ...running, child: undefined };
    const server = await startServer(context, ownSocketDir(context, readPostmaster(context.cluster)?.socketDir), deadline);
    if (server) return server;
    if (performance.now() > deadline) throw new Error(`the database in ${context.cluster} did not start:\n${lastLines(context.logFile)}`);
    await sleep(retryDelayMs);
  }
}

async function startServer(context: ClusterContext, lastSocketDir: string | undefined, deadline: number): Promise<Server | undefined> {
  rotateLog(context.logFile);
  takeOverStaleLock(context, lastSocketDir);
  const socketDir = openSocketDir(context, lastSocketDir);
  const output = openSync(context.logFile, 'a', 0o600);
  const args = [
    '-D',
    context.cluster,
    '-k',
    socketDir,
    ...Object.entries(context.settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  // Detached: Ctrl-C must not reach the server, which is stopped after its last client.
  const child = spawn(join(context.binaries, 'postgres'), args, {
    ...context.account,
    cwd: '/',
    env: serverEnv,
    detached: true,
    stdio: ['ignore', output, output],
  });
  child.unref();
  closeSync(output);
  await once(child, 'spawn');
  while (performance.now() < deadline) {
    const now = readPostmaster(context.cluster);
    const started = now?.ready && now.pid === child.pid ? processWith(now.pid) : undefined;
    if (started) return { ...started, socketDir, child };
    if (hasExited(child)) break;
    await sleep(3);
  }
  if (socketDir !== lastSocketDir) removeShortDir(socketDir);
  if (!hasExited(child)) child.kill('SIGQUIT');
  return undefined;
}

async function shutDown(server: Server, context: ClusterContext): Promise<void> {
  const started = performance.now();
  signalServer(server, 'SIGINT');
  for (let cutOff = false; isAlive(server); await sleep(3)) {
    if (cutOff || performance.now() - started < stopTimeoutMs) continue;
    cutOff = true;
    context.log.warn({ pid: server.pid }, 'database server stop timed out');
    signalServer(server, 'SIGQUIT');
  }
  removeShortDir(server.socketDir);
}

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** Signals only the process that was identified: its id may have been reused. */
function signalServer(server: Server, signal: NodeJS.Signals): void {
  if (isAlive(server)) process.kill(server.pid, signal);
}

/** The server appends to an open file, so the file is copied and truncated. */
function rotateLog(file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < logBytesMax) return;
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}

const lastLines = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-12).join('\n') : '(no log)');

/** Environment of the server. It is not the service's: that one has secrets, and PG* variables would change the server's behaviour. */
const serverEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * The embedded database: a PostgreSQL server from npm, on a Unix socket.
 *
 * It is a process of its own that outlives us when we are killed; the next
 * start adopts it. Nothing here ever removes a cluster: what cannot be started
 * is reported and left as it is.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import { type Account, giveTo, isErrno, nobody, openBinaries, openHome, unprivilegedAccount } from './postgres-files.ts';
import { answers, disownDead, isAlive, readPostmaster } from './postmaster.ts';

export interface Embedded {
  /** For `pg`: the folder of the Unix socket, the only user, the only database. No password: the folder is closed to others. */
  readonly connection: { host: string; user: string; database: string };
  /** The server's process at this moment: another one after a crash. */
  readonly pid: number;
  /** Whether the server was running when we came. */
  readonly adopted: boolean;
  /** Fast shutdown: open transactions are rolled back, everything committed is on disk. Idempotent. */
  stop(): Promise<void>;
  /** Lets the server run on without us: somebody else has claimed it. */
  leave(): Promise<void>;
}

/** Past this, running backends are cut off as in a crash, which loses nothing that was committed. */
const stopTimeoutMs = 15_000;
/** The log says little (starts, stops, crashes), so two files of this size hold months. */
const logBytesMax = 2 * 1024 * 1024;
/** The kernel keeps a socket's path in 108 bytes, the last of them zero. */
const socketPathBytesMax = 107;

/**
 * Settings for a small service on a small machine: the whole server stays
 * under 60 MB. Durability is not traded: fsync and synchronous_commit are on.
 */
const settings = {
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
  // One machine, no replicas, no parallel plans: none of their processes.
  wal_level: 'minimal',
  max_wal_senders: '0',
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
  // What clients do wrong is told to them. Statements would bring callers' data into the log.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
} as const;

export interface EmbeddedOptions {
  /** An absolute path. Everything lies in its `postgres` folder. */
  dataDir: string;
  log: Log;
  /** Crash recovery after a kill under load took 2 s at worst; a slow disk may take far longer. */
  startTimeoutMs?: number;
}

interface Place {
  home: string;
  cluster: string;
  binaries: string;
  account: Account;
  logFile: string;
  log: Log;
  startTimeoutMs: number;
}

/**
 * Starts the database of a data folder, or adopts the one that runs there
 * already. Safe to race: one of two callers starts it, the other adopts it.
 * Afterwards a server that dies is started again by itself.
 */
export async function startEmbedded({ dataDir, log, startTimeoutMs = 60_000 }: EmbeddedOptions): Promise<Embedded> {
  const account = unprivilegedAccount();
  const home = openHome(dataDir, account);
  const binaries = openBinaries(home, account);
  const place: Place = {
    home,
    cluster: join(home, 'cluster'),
    binaries,
    account,
    logFile: join(home, 'postgres.log'),
    log,
    startTimeoutMs,
  };
  if (!existsSync(place.cluster)) await initialize(place);
  ownCluster(place);
  return new RunningServer(place, await launch(place)).watch();
}

interface Server {
  pid: number;
  socketDir: string;
  /** Absent when the server is not our child. */
  child: ChildProcess | undefined;
}

class RunningServer implements Embedded {
  readonly adopted: boolean;
  readonly #place: Place;
  readonly #watch: Loop;
  #server: Server;
  #stopping: Promise<void> | undefined;

  constructor(place: Place, server: Server) {
    this.#place = place;
    this.#server = server;
    this.adopted = server.child === undefined;
    this.#watch = new Loop('embedded-database', 500, () => this.#revive());
  }

  get connection() {
    return { host: this.#server.socketDir, user: 'berth', database: 'postgres' };
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
    this.#stopping ??= this.#watch.stop().then(() => shutDown(this.#server, this.#place));
    return this.#stopping;
  }

  leave(): Promise<void> {
    this.#stopping ??= this.#watch.stop();
    return this.#stopping;
  }

  async #revive(): Promise<void> {
    boundLog(this.#place.logFile);
    if (this.#stopping || isAlive(this.#server.pid)) return;
    this.#place.log.error({ pid: this.#server.pid }, 'the database server died: starting it again');
    try {
      this.#server = await launch(this.#place);
      this.#server.child?.once('exit', () => this.#watch.nudge());
    } catch (error) {
      this.#place.log.error({ err: error }, 'the database server could not be started again');
      throw error;
    }
  }
}

/** Makes a cluster beside and moves it into place whole: of two who race, one loses nothing but its own new copy. */
async function initialize(place: Place): Promise<void> {
  removeAbandoned(place.home);
  const staging = mkdtempSync(join(place.home, 'cluster-new-'));
  const initAccount = place.account && nobody;
  if (initAccount) giveTo(staging, initAccount);
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
  const child = spawn(join(place.binaries, 'initdb'), args, {
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
    if (place.account) giveTo(staging, place.account);
    renameSync(staging, place.cluster);
  } catch (error) {
    rmSync(staging, { recursive: true, force: true });
    if (!isErrno(error, 'ENOTEMPTY') && !isErrno(error, 'EEXIST')) throw error;
  }
}

/** What a start left that was killed half-way. Never a cluster: those bear another name. */
function removeAbandoned(home: string): void {
  const anHourAgo = Date.now() - 3_600_000;
  for (const name of readdirSync(home)) {
    const path = join(home, name);
    if (/^(cluster|binaries)-new-/.test(name) && statSync(path).mtimeMs < anHourAgo) rmSync(path, { recursive: true, force: true });
  }
}

/** A data folder that root has copied belongs to root afterwards, and the server could not read it. */
function ownCluster({ cluster, account }: Place): void {
  if (account && statSync(cluster).uid !== account.uid) giveTo(cluster, account);
}

/** Adopts or starts, whichever comes true first: the server itself refuses to be the second on one cluster. */
async function launch(place: Place): Promise<Server> {
  const deadline = performance.now() + place.startTimeoutMs;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    const found = readPostmaster(place.cluster);
    if (found && (await answers(found, place.cluster))) return { pid: found.pid, socketDir: found.socketDir, child: undefined };
    const server = await startServer(place, found?.socketDir, deadline);
    if (server) return server;
    if (performance.now() > deadline) throw new Error(`the database in ${place.cluster} did not start:\n${lastLines(place.logFile)}`);
    await wait(pauseMs);
  }
}

async function startServer(place: Place, lastSocketDir: string | undefined, deadline: number): Promise<Server | undefined> {
  boundLog(place.logFile);
  disownDead(place.cluster);
  const socketDir = openSocketDir(place, lastSocketDir);
  const output = openSync(place.logFile, 'a', 0o600);
  const args = ['-D', place.cluster, '-k', socketDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  // A session of its own: Ctrl-C reaches us, and we stop the server after its last client is gone.
  const child = spawn(join(place.binaries, 'postgres'), args, {
    ...place.account,
    cwd: '/',
    env: serverEnv,
    detached: true,
    stdio: ['ignore', output, output],
  });
  child.unref();
  closeSync(output);
  await once(child, 'spawn');
  while (performance.now() < deadline) {
    const now = readPostmaster(place.cluster);
    if (now?.pid === child.pid && now?.ready) return { pid: now.pid, socketDir, child };
    if (hasExited(child)) break;
    await wait(3);
  }
  if (socketDir !== lastSocketDir) removeShortDir(socketDir);
  if (!hasExited(child)) child.kill('SIGQUIT');
  return undefined;
}

/**
 * A folder that only the server's user and root can enter. It lies beside the
 * cluster unless its path is too long for a socket; then the one that the last
 * server used is taken again if it is still ours.
 */
function openSocketDir({ home, account }: Place, last: string | undefined): string {
  const beside = join(home, 'socket');
  if (Buffer.byteLength(join(beside, '.s.PGSQL.5432.lock')) <= socketPathBytesMax) {
    mkdirSync(beside, { recursive: true, mode: 0o700 });
    if (account) chownSync(beside, account.uid, account.gid);
    return beside;
  }
  const known = last?.startsWith(shortDirPrefix) ? statSync(last, { throwIfNoEntry: false }) : undefined;
  if (last && known?.isDirectory() && known.uid === (account?.uid ?? process.getuid?.()) && (known.mode & 0o077) === 0) return last;
  const short = mkdtempSync(shortDirPrefix);
  if (account) chownSync(short, account.uid, account.gid);
  return short;
}

const shortDirPrefix = join(tmpdir(), 'berth-db-');

function removeShortDir(folder: string): void {
  if (!folder.startsWith(shortDirPrefix)) return;
  try {
    rmdirSync(folder);
  } catch {
    // It is not empty, so it is in use, or it is gone already.
  }
}

async function shutDown(server: Server, place: Place): Promise<void> {
  const started = performance.now();
  signalServer(server.pid, place, 'SIGINT');
  for (let cutOff = false; isAlive(server.pid); await wait(3)) {
    if (cutOff || performance.now() - started < stopTimeoutMs) continue;
    cutOff = true;
    place.log.warn({ pid: server.pid }, 'the database server takes long to stop: cutting off what still runs');
    signalServer(server.pid, place, 'SIGQUIT');
  }
  removeShortDir(server.socketDir);
}

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** Only to the server that the cluster names: the number of one long dead may be somebody else's by now. */
function signalServer(pid: number, place: Place, signal: NodeJS.Signals): void {
  if (readPostmaster(place.cluster)?.pid === pid && isAlive(pid)) process.kill(pid, signal);
}

/** The server appends to an open file, so the file is emptied under it and its past kept in a second one. */
function boundLog(file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < logBytesMax) return;
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}

const lastLines = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-12).join('\n') : '(no log)');

/** Nothing of our own environment: it holds secrets, and PG* variables would change what the server does. */
const serverEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

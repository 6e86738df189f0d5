/** The workers of the database that have an internal listener, as their rows say. Requests name workers, never addresses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Loop } from '@berth/lib/loop.ts';

/** Another worker. */
export interface Peer {
  workerId: string;
  /** `host:port` of its internal listener. */
  address: string;
  /** Whether it has no recent heartbeat. */
  isSilent: boolean;
}

export interface DirectoryDeps {
  /** Reads the rows of the other workers that have an address. */
  readPeers(): Promise<Peer[]>;
}

const readMs = 2000;
/** A worker that is not known may have started just now; rows are read for it no more often than this. */
const rereadMs = 500;

export class Directory {
  readonly watch: Loop;
  readonly #deps: DirectoryDeps;
  #addresses = new Map<string, string>();
  #readAtMs = -Infinity;
  #reading: Promise<void> | null = null;
  readonly #silentListeners: ((workerId: string) => void)[] = [];

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
    this.watch = new Loop('fleet-directory', readMs, () => this.#refresh());
  }

  /** The workers that can be reached. */
  get workerIds(): string[] {
    return [...this.#addresses.keys()];
  }

  /** Called for each worker that has fallen silent. */
  onSilent(listener: (workerId: string) => void): void {
    this.#silentListeners.push(listener);
  }

  /** Address of a worker; undefined if it has no listener or recent heartbeat, or just started. @throws ServiceError store_unavailable */
  async addressOf(workerId: string): Promise<string | undefined> {
    const known = this.#addresses.get(workerId);
    if (known !== undefined || performance.now() - this.#readAtMs < rereadMs) return known;
    await this.#refresh();
    return this.#addresses.get(workerId);
  }

  /** Address of a worker that runs what is asked for: one that has just started is waited for. @throws ServiceError store_unavailable */
  async currentAddressOf(workerId: string): Promise<string | undefined> {
    const readMsAgo = performance.now() - this.#readAtMs;
    if (!this.#addresses.has(workerId) && readMsAgo < rereadMs) await sleep(Math.ceil(rereadMs - readMsAgo));
    // What is being read may be older.
    if (!this.#addresses.has(workerId)) await this.#reading;
    if (!this.#addresses.has(workerId)) await this.#refresh();
    return this.#addresses.get(workerId);
  }

  /** Another address of a worker where nobody listens at `refused`, once its row has one. @throws ServiceError store_unavailable */
  async rereadAddressOf(workerId: string, refused: string): Promise<string | undefined> {
    // What is being read may be older.
    await this.#reading;
    await this.#refresh();
    const current = this.#addresses.get(workerId);
    return current === refused ? undefined : current;
  }

  #refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #read(): Promise<void> {
    const peers = await this.#deps.readPeers();
    this.#readAtMs = performance.now();
    const before = this.#addresses;
    this.#addresses = new Map(peers.filter(({ isSilent }) => !isSilent).map(({ workerId, address }) => [workerId, address]));
    for (const { workerId, isSilent } of peers)
      if (isSilent && before.has(workerId)) for (const listener of this.#silentListeners) listener(workerId);
  }
}

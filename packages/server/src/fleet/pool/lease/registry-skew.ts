import type { Log } from '@berth/lib/log.ts';

/** Workers of one database have one file of regions: another version at one of them is logged, once for each change. */
export class RegistrySkew {
  readonly #log: Log;
  #seen = new Map<string, string | null>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** `others`: the version of each, by worker; null where it does not say. */
  observe(own: string, others: ReadonlyMap<string, string | null>): void {
    for (const [worker, version] of others)
      if (version !== null && version !== own && this.#seen.get(worker) !== version)
        this.#log.warn({ worker, version, own_version: own }, 'region registry skew detected');
    this.#seen = new Map(others);
  }
}

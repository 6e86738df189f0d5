/** The certificate of this worker: of the fleet's own authority, or of the operator's files. Renewed without a restart. */
import { readFile } from 'node:fs/promises';
import type { Clock } from '@berth/lib/clock.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Store } from '../../store/store.ts';
import type { TlsCredentials } from './tls.ts';

/** Paths of PEM files. */
export interface CredentialFiles {
  cert: string;
  key: string;
  ca: string;
}

export interface CredentialsDeps {
  store: Store;
  clock: Clock;
  workerId: string;
  /** null: the fleet's own authority. */
  files: CredentialFiles | null;
}

interface Source {
  /** The same values as before, unless something has to change. */
  read(): Promise<TlsCredentials>;
}

/** Often enough that an authority is trusted long before it signs. */
const readMs = 300_000;

export class Credentials {
  readonly renewal: Loop;
  readonly #deps: CredentialsDeps;
  #source: Source | null = null;
  #current: TlsCredentials | null = null;
  readonly #listeners: ((credentials: TlsCredentials) => void)[] = [];

  constructor(deps: CredentialsDeps) {
    this.#deps = deps;
    this.renewal = new Loop('fleet-certificates', readMs, () => this.#renew());
  }

  /** @throws Error before `open` */
  get current(): TlsCredentials {
    if (!this.#current) throw new Error('there is no certificate yet');
    return this.#current;
  }

  /** Called with every change. */
  onChanged(listener: (credentials: TlsCredentials) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads or makes the first certificate. @throws ServiceError store_unavailable, Error for files that cannot be read */
  async open(): Promise<TlsCredentials> {
    const { files } = this.#deps;
    this.#source ??= files ? new FileSource(files) : await authoritySource(this.#deps);
    await this.#renew();
    return this.current;
  }

  async #renew(): Promise<void> {
    if (!this.#source) return;
    this.replace(await this.#source.read());
  }

  replace(next: TlsCredentials): void {
    if (this.#current && isSame(this.#current, next)) return;
    this.#current = next;
    for (const listener of this.#listeners) listener(next);
  }
}

const isSame = (one: TlsCredentials, other: TlsCredentials): boolean =>
  one.cert === other.cert && one.key === other.key && one.ca.join('') === other.ca.join('');

class FileSource implements Source {
  readonly #files: CredentialFiles;

  constructor(files: CredentialFiles) {
    this.#files = files;
  }

  async read(): Promise<TlsCredentials> {
    const [cert, key, ca] = await Promise.all([this.#files.cert, this.#files.key, this.#files.ca].map((path) => readFile(path, 'utf8')));
    return { cert: cert ?? '', key: key ?? '', ca: [ca ?? ''] };
  }
}

/** The library for certificates is imported only where there is a fleet. */
async function authoritySource({ store, clock, workerId }: CredentialsDeps): Promise<Source> {
  const { Authority, renewMs } = await import('./authority.ts');
  const authority = new Authority({ store, clock, workerId });
  let issued: TlsCredentials | null = null;
  let issuedMs = 0;
  return {
    read: async () => {
      const nowMs = clock.monotonicMs();
      if (!issued || nowMs - issuedMs >= renewMs) {
        issued = await authority.issue();
        issuedMs = nowMs;
      } else issued = { ...issued, ca: await authority.trusted() };
      return issued;
    },
  };
}

/** Which session a folder or a name stands for. The session itself lives in the service; here is only its id. */
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readJson, removeFile, writePrivateJson } from './files.ts';

export interface StoredSession {
  session_id: string;
  /** Tab that `berth tab` selected; absent where the active one is meant. */
  tab_id?: string | undefined;
  /** The latest snapshot, with which `berth diff` compares. */
  snapshot_id?: string | undefined;
  /** For whoever reads the file. */
  service: string;
  of: string;
}

interface Place {
  env: Readonly<Record<string, string | undefined>>;
  service: string;
  /** Undefined for the session of the folder. */
  name: string | undefined;
  folder: string;
}

export class SessionFile {
  readonly #path: string;
  readonly #service: string;
  readonly #of: string;

  constructor({ env, service, name, folder }: Place) {
    this.#service = service;
    this.#of = name === undefined ? `folder ${realpathSync(folder)}` : `name ${name}`;
    const digest = createHash('sha256').update(`${service}\n${this.#of}`).digest('hex').slice(0, 24);
    const state = env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state');
    this.#path = join(state, 'berth', 'sessions', `${digest}.json`);
  }

  read(): StoredSession | undefined {
    const stored = readJson(this.#path) as Partial<StoredSession> | undefined;
    return typeof stored?.session_id === 'string' ? (stored as StoredSession) : undefined;
  }

  write(session: Pick<StoredSession, 'session_id' | 'tab_id' | 'snapshot_id'>): void {
    writePrivateJson(this.#path, { ...session, service: this.#service, of: this.#of });
  }

  /** Changes what is stored, if anything is. */
  change(fields: Partial<Pick<StoredSession, 'tab_id' | 'snapshot_id'>>): void {
    const stored = this.read();
    if (stored) this.write({ ...stored, ...fields });
  }

  remove(): void {
    removeFile(this.#path);
  }
}

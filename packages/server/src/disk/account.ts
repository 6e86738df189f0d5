interface AccountDeps {
  canGrow(bytes: number): boolean;
  onGrown(bytes: number): void;
  onClosed(): void;
}

/** What one thing of an owner takes on the disk. */
export class DiskAccount {
  readonly owner: string;
  readonly #deps: AccountDeps;
  #bytes = 0;

  constructor(owner: string, deps: AccountDeps) {
    this.owner = owner;
    this.#deps = deps;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts this size from now on. False, and nothing changes, if there is no room for it; a smaller size always has room. */
  resize(bytes: number): boolean {
    if (bytes > this.#bytes && !this.#deps.canGrow(bytes - this.#bytes)) return false;
    this.set(bytes);
    return true;
  }

  /** Counts what is there in any case. */
  set(bytes: number): void {
    this.#deps.onGrown(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  /** Its files are deleted. Idempotent. */
  close(): void {
    this.#bytes = 0;
    this.#deps.onClosed();
  }
}

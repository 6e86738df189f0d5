/**
 * The browser contexts that customers' DevTools clients have created. Each costs
 * memory of its own, so their number is limited. Which context a command created
 * is only known from its reply.
 */

/** Maximum contexts of all clients of a session together. Test runners open one for each test and close it again. */
const contextsMax = 32;
/** Replies to these commands are short. */
const replyBytesMax = 4096;

interface ContextCall {
  /** Session and message id, which a client may use twice. */
  key: string;
  /** The context to dispose of; null for a new one. */
  contextId: string | null;
  disposeOnDetach: boolean;
}

interface ContextOwner {
  /** Calls without a reply. */
  calls: ContextCall[];
  /** Its contexts, and whether they end with the client's session. */
  own: Map<string, { disposeOnDetach: boolean }>;
}

export class ClientContexts<C extends object> {
  readonly #contexts = new Set<string>();
  readonly #owners = new Map<C, ContextOwner>();
  /** Contexts that stay, and whose reply nobody read. */
  #unknown = 0;

  /** How many more contexts may be created. */
  get free(): number {
    let creating = this.#unknown;
    for (const { calls } of this.#owners.values()) creating += calls.filter(({ contextId }) => contextId === null).length;
    return contextsMax - this.#contexts.size - creating;
  }

  /** A client sends `Target.createBrowserContext`. */
  onCreate(client: C, key: string, { disposeOnDetach }: Record<string, unknown>): void {
    this.#ownerOf(client).calls.push({ key, contextId: null, disposeOnDetach: disposeOnDetach === true });
  }

  /** A client sends `Target.disposeBrowserContext`. */
  onDispose(client: C, key: string, { browserContextId }: Record<string, unknown>): void {
    if (typeof browserContextId !== 'string' || !this.#contexts.has(browserContextId)) return;
    this.#ownerOf(client).calls.push({ key, contextId: browserContextId, disposeOnDetach: false });
  }

  /** Call it for each message from the browser. */
  onReply(client: C, sessionId: string, frame: Buffer): void {
    const owner = this.#owners.get(client);
    if (!owner || owner.calls.length === 0 || frame.length > replyBytesMax) return;
    const { id, result } = JSON.parse(frame.toString('utf8')) as { id?: number; result?: { browserContextId?: string } };
    const at = owner.calls.findIndex(({ key }) => key === `${sessionId} ${id}`);
    const [call] = at < 0 ? [] : owner.calls.splice(at, 1);
    if (!call) return;
    if (call.contextId !== null) {
      if (result) this.#delete(call.contextId);
    } else if (result?.browserContextId !== undefined) {
      this.#contexts.add(result.browserContextId);
      owner.own.set(result.browserContextId, { disposeOnDetach: call.disposeOnDetach });
    }
  }

  /** The contexts that the client has created and not disposed of, for the caller to do it. */
  takeAll(client: C): string[] {
    const contextIds = [...(this.#owners.get(client)?.own.keys() ?? [])];
    for (const contextId of contextIds) this.#delete(contextId);
    return contextIds;
  }

  /** Forgets a client. Its contexts that were created without `disposeOnDetach` stay. */
  onClosed(client: C): void {
    const owner = this.#owners.get(client);
    for (const [contextId, { disposeOnDetach }] of owner?.own ?? []) if (disposeOnDetach) this.#contexts.delete(contextId);
    for (const { contextId, disposeOnDetach } of owner?.calls ?? []) if (contextId === null && !disposeOnDetach) this.#unknown += 1;
    this.#owners.delete(client);
  }

  /** Whoever has created it. */
  #delete(contextId: string): void {
    this.#contexts.delete(contextId);
    for (const { own } of this.#owners.values()) own.delete(contextId);
  }

  #ownerOf(client: C): ContextOwner {
    const owner = this.#owners.get(client) ?? { calls: [], own: new Map() };
    this.#owners.set(client, owner);
    return owner;
  }
}

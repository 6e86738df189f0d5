import { once } from 'node:events';
import { WebSocket } from 'ws';

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

/** A minimal DevTools client for one page, without library overhead. */
export class DevTools {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, { resolve: (result: Record<string, unknown>) => void; reject: (error: Error) => void }>();
  readonly #listeners = new Map<string, (params: Record<string, unknown>) => void>();
  #lastId = 0;
  #sessionId: string | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString()) as Message));
    socket.on('close', (code) => this.#fail(new Error(`the DevTools socket closed with ${code}`)));
  }

  /** Connects, and attaches to the first page. */
  static async connect(url: string, headers: Record<string, string> = {}): Promise<DevTools> {
    const socket = new WebSocket(url, { headers, perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
    await once(socket, 'open');
    const client = new DevTools(socket);
    const { targetInfos } = (await client.send('Target.getTargets')) as { targetInfos: { type: string; targetId: string }[] };
    const page = targetInfos.find(({ type }) => type === 'page');
    if (!page) throw new Error('the browser has no page');
    const attached = await client.send('Target.attachToTarget', { targetId: page.targetId, flatten: true });
    client.#sessionId = attached.sessionId as string;
    return client;
  }

  send(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    if (this.#socket.readyState !== WebSocket.OPEN) return Promise.reject(new Error('the DevTools socket is closed'));
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params, ...(this.#sessionId ? { sessionId: this.#sessionId } : {}) }));
    });
  }

  /** Sets the only listener of an event; null removes it. */
  onEvent(method: string, listener: ((params: Record<string, unknown>) => void) | null): void {
    if (listener) this.#listeners.set(method, listener);
    else this.#listeners.delete(method);
  }

  evaluate(expression: string): Promise<Record<string, unknown>> {
    return this.send('Runtime.evaluate', { expression, returnByValue: true });
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }

  #receive({ id, method, params = {}, result, error }: Message): void {
    if (method !== undefined) return this.#listeners.get(method)?.(params);
    const caller = id === undefined ? undefined : this.#pending.get(id);
    if (!caller || id === undefined) return;
    this.#pending.delete(id);
    if (error) caller.reject(new Error(error.message));
    else caller.resolve(result ?? {});
  }

  #fail(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

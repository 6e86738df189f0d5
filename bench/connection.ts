import { Agent, request } from 'node:http';

export interface Answer {
  status: number;
  text: string;
  /** Whether the connection had been used before. */
  isWarm: boolean;
}

/** One connection that is kept open, as a client has that calls again and again. */
export class Connection {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
  }

  ask(method: string, path: string, body?: object): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const headers = { ...this.#headers, ...(body ? { 'content-type': 'application/json' } : {}) };
    const outgoing = request(this.#url + path, { method, headers, agent: this.#agent }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      incoming.once('end', () => resolve({ status: incoming.statusCode ?? 0, text, isWarm: outgoing.reusedSocket }));
      incoming.once('error', reject);
    });
    outgoing.once('error', reject).end(body && JSON.stringify(body));
    return promise;
  }

  /** Throws for an answer that is not a success. */
  async get<T>(method: string, path: string, body?: object): Promise<T> {
    const { status, text } = await this.ask(method, path, body);
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  close(): void {
    this.#agent.destroy();
  }
}

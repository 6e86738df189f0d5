import { Agent, request } from 'node:http';

export interface ConnectionResponse {
  status: number;
  text: string;
  /** Whether the connection had been used before. */
  isWarm: boolean;
}

/** One keep-alive connection, as of a client that calls repeatedly. */
export class Connection {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
  }

  send(method: string, path: string, body?: object): Promise<ConnectionResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<ConnectionResponse>();
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

  /** Throws when the response is not a success. */
  async requestJson<T>(method: string, path: string, body?: object): Promise<T> {
    const { status, text } = await this.send(method, path, body);
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  close(): void {
    this.#agent.destroy();
  }
}

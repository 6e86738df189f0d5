/** A DevTools client that sends exactly the given messages. */
import { connectSession } from '@berth/contract';
import { WebSocket } from 'ws';
import type { Client } from '../harness.ts';

interface Answer {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

export class RawDevtools {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('message', (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as Answer;
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer);
    });
  }

  static async open(client: Client, session_id: string): Promise<RawDevtools> {
    const { body } = await client.call(connectSession, { params: { session_id } });
    const socket = new WebSocket(body.cdp_url);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return new RawDevtools(socket);
  }

  send(method: string, params: object = {}, sessionId?: string): Promise<Answer> {
    const id = ++this.#lastId;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
    return answered;
  }

  /** Attaches to the first page and returns the CDP session's id. */
  async attach(): Promise<string> {
    const { result } = await this.send('Target.getTargets');
    const targets = (result?.['targetInfos'] ?? []) as { type: string; targetId: string }[];
    const targetId = targets.find(({ type }) => type === 'page')?.targetId;
    const attached = await this.send('Target.attachToTarget', { targetId, flatten: true });
    return String(attached.result?.['sessionId']);
  }

  close(): void {
    this.#socket.close();
  }
}

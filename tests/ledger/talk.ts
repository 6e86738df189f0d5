/** How a client asks the service: again and again until it is answered, as the service's documents tell it to. */
import { setTimeout as wait } from 'node:timers/promises';
import { ErrorBody, type Endpoint } from '@berth/contract';
import { Client, type Request } from '../harness.ts';
import type { History } from './history.ts';
import type { Door, DoorAnswer, Doors } from './protocol.ts';
import type { Life, Lives } from './lives.ts';
import { Lost, type WorkerProcess } from './worker-process.ts';

export interface Heard {
  status: number;
  /** Of an error. */
  code: string | null;
  body: unknown;
  isReplay: boolean;
}

export interface Answered extends Heard {
  /** The life of the service that has done it; 0: the answer is a repetition of one that an earlier life may have given. */
  life: number;
  /** Which of that life's workers. */
  worker: number;
  workers: number;
}

export interface Asking {
  /** As it is told in the trace. */
  what: string;
  /** Gives up on an answer after so long; null: waits for it. */
  patienceMs: number | null;
  /** Whether it asks once and, without an answer, goes on with something else. */
  isAbandoned?: boolean;
  /** Told of each time that nobody knows what came of it. */
  lost?: () => void;
  /** Which worker is asked, where there are several: one that has a session drives it. */
  worker?: number;
}

interface Partner {
  life: Life;
  worker: WorkerProcess;
  patienceMs: number | null;
}
type Ask = (partner: Partner) => Promise<Heard>;

/** Before the same is asked again. */
const pauseMs = 15;
/** By then a round is over, also on a machine that others share: whoever is not answered until then waits for ever. */
const roundMsMax = 240_000;

export class Talk {
  readonly #lives: Lives;
  readonly #history: History;
  readonly #adminKey: string;
  readonly #startedMs = performance.now();
  #asked = 0;

  constructor(parts: { lives: Lives; history: History; adminKey: string }) {
    this.#lives = parts.lives;
    this.#history = parts.history;
    this.#adminKey = parts.adminKey;
  }

  /** Asks over HTTP. null: there was no answer, and it is not asked again. */
  request<E extends Endpoint>(
    endpoint: E,
    asking: Asking,
    request: (life: Life) => Request<E> | Promise<Request<E>>,
  ): Promise<Answered | null> {
    return this.#until(asking, async ({ life, worker, patienceMs }) => {
      const made = await request(life);
      const signal = patienceMs === null ? {} : { signal: AbortSignal.timeout(patienceMs) };
      const { status, body, headers } = await new Client(worker.url, '', this.#adminKey).call(endpoint, { ...made, ...signal });
      const error = ErrorBody.safeParse(body);
      return { status, body, code: error.success ? error.data.error.code : null, isReplay: headers.has('idempotent-replayed') };
    });
  }

  /** Asks at a door. */
  open<D extends Door>(door: D, asking: Asking, order: Doors[D]): Promise<Answered | null> {
    return this.#until(asking, async ({ worker, patienceMs }) => toHeard(await patiently(worker.open(door, order), patienceMs)));
  }

  /** Until what was counted is written down. */
  flush(asking: Asking): Promise<Answered | null> {
    return this.#until(asking, async ({ life }) => {
      const answers = await Promise.all(life.workers.map((worker) => worker.turn(['metering'])));
      // A loop tells no one what it failed with: the database was away.
      const failed = answers.find(({ status }) => status === 500);
      return failed
        ? { status: 503, code: 'store_unavailable', body: failed, isReplay: false }
        : { status: 200, code: null, body: {}, isReplay: false };
    });
  }

  async #until(asking: Asking, ask: Ask): Promise<Answered | null> {
    let { patienceMs } = asking;
    while (performance.now() - this.#startedMs < roundMsMax) {
      const life = await this.#lives.current();
      const number = (asking.worker ?? (this.#asked += 1)) % life.workers.length;
      const worker = life.workers[number] as WorkerProcess;
      const heard = await this.#once(life, asking.what, () => ask({ life, worker, patienceMs }));
      // A machine that others share may never be as fast as it takes: then it is the one who asks that must wait.
      if (!heard && patienceMs !== null) patienceMs *= 2;
      if (heard && isFinal(heard))
        return { ...heard, life: heard.isReplay ? 0 : life.number, worker: number, workers: life.workers.length };
      const isUnknown = !heard || heard.code === 'store_unavailable' || heard.code === 'deadline_exceeded';
      if (isUnknown) asking.lost?.();
      if (isUnknown && asking.isAbandoned) return null;
      if (!life.isOver) await wait(pauseMs);
    }
    throw new Error(`${asking.what} was asked again and again, and not answered`);
  }

  async #once(life: Life, what: string, ask: () => Promise<Heard>): Promise<Heard | null> {
    try {
      const heard = await ask();
      life.noteReply();
      this.#history.note(
        `${what} → life ${life.number}: ${heard.status} ${heard.code ?? JSON.stringify(heard.body)?.slice(0, 120) ?? ''}${heard.isReplay ? ' replayed' : ''}`,
      );
      if (heard.status === 500) throw new Error(`${what} was answered 500: ${JSON.stringify(heard.body)}`);
      return heard;
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#history.note(`${what} → life ${life.number}: no answer`);
      return null;
    }
  }
}

/** What the service asks to be asked again is no answer. */
function isFinal({ status, code }: Heard): boolean {
  return status < 500 && status !== 429 && code !== 'idempotency_in_progress';
}

function toHeard(answer: DoorAnswer): Heard {
  if ('code' in answer) return { status: answer.status, code: answer.code, body: answer, isReplay: false };
  return { status: answer.status, code: null, body: answer.value, isReplay: false };
}

/** A connection that broke, a service that is gone, or a client that would not wait: not a word of what was done. */
const isLost = (error: unknown): boolean =>
  error instanceof Lost ||
  (error instanceof TypeError && /fetch failed|terminated/.test(error.message)) ||
  (error instanceof DOMException && error.name === 'TimeoutError');

async function patiently<T>(work: Promise<T>, patienceMs: number | null): Promise<T> {
  if (patienceMs === null) return work;
  const leaving = new AbortController();
  const late = wait(patienceMs, undefined, { signal: leaving.signal }).then(
    () => {
      throw new Lost('nobody waited for the answer');
    },
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    leaving.abort();
    work.catch(() => {});
  }
}

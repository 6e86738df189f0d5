/** Sends requests to any worker of the fleet, as a proxy without health checks does. */
import { ErrorBody, type Endpoint } from '@berth/contract';
import { Client, type Request } from '../client.ts';
import type { Random } from '../ledger/random.ts';
import type { FleetProcess } from './fleet-process.ts';
import type { Recorder } from './history.ts';

/** `done`: it happened. `refused`: it did not. `unknown`: either. */
export type Answer =
  | { outcome: 'done'; status: number; code: null; body: unknown; worker: string | null }
  | { outcome: 'refused'; status: number; code: string; body: unknown; worker: string | null }
  | { outcome: 'unknown'; status: number | null; code: string | null };

const attemptsMax = 4;

export class FleetClient {
  readonly #workers: readonly FleetProcess[];
  readonly #adminKey: string;
  readonly #recorder: Recorder;

  constructor(deps: { workers: readonly FleetProcess[]; adminKey: string; recorder: Recorder }) {
    this.#workers = deps.workers;
    this.#adminKey = deps.adminKey;
    this.#recorder = deps.recorder;
  }

  /**
   * The request was executed at most once: only where no worker has received it is it sent to another one. Answers that
   * no client may get become issues. `at`: the id of the only worker that is asked.
   */
  async send(
    endpoint: Endpoint,
    request: Request<Endpoint>,
    { random, timeoutMs, at }: { random: Random; timeoutMs: number; at?: string },
  ): Promise<Answer> {
    const workers = at === undefined ? random.shuffled(this.#workers) : this.#workers.filter(({ workerId }) => workerId === at);
    for (const worker of workers.slice(0, attemptsMax)) {
      const answer = await this.#sendTo(worker, endpoint, { ...request, signal: AbortSignal.timeout(timeoutMs) });
      if (answer) return answer;
    }
    return { outcome: 'unknown', status: null, code: null };
  }

  /** null when no worker that could do it has received it. */
  async #sendTo(worker: FleetProcess, endpoint: Endpoint, request: Request<Endpoint>): Promise<Answer | null> {
    const what = `${endpoint.method} ${endpoint.path} at worker ${worker.index}`;
    try {
      const { status, body, headers } = await new Client(worker.url, '', this.#adminKey).send(endpoint, request);
      const id = headers.get('x-berth-worker');
      if (status < 400) return { outcome: 'done', status, code: null, body, worker: id };
      const parsed = ErrorBody.safeParse(body);
      const code = parsed.success ? parsed.data.error.code : String(status);
      // The worker says that the one it asked has not received the request.
      if (code === 'worker_unreachable' && parsed.data?.error.retryable === true) return null;
      if (status === 500 || status === 422) this.#recorder.issues.push(`${what} was answered ${status}`);
      return status > 500 ? { outcome: 'unknown', status, code } : { outcome: 'refused', status, code, body, worker: id };
    } catch (error) {
      if (isUnsent(error)) return null;
      if (!isLost(error)) this.#recorder.issues.push(`${what}: ${String(error)}`);
      return { outcome: 'unknown', status: null, code: null };
    }
  }
}

const causeOf = (error: unknown): string => {
  const { cause } = error as { cause?: { code?: string } };
  return cause?.code ?? '';
};
const isUnsent = (error: unknown): boolean => error instanceof TypeError && causeOf(error) === 'ECONNREFUSED';
/** A broken connection or a timeout. */
const isLost = (error: unknown): boolean =>
  (error instanceof TypeError && /fetch failed|terminated/.test(error.message)) ||
  (error instanceof DOMException && (error.name === 'TimeoutError' || error.name === 'AbortError'));

/** Sends a client's requests, with the retries that the API's documentation recommends. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorBody, type Endpoint } from '@berth/contract';
import { Client, type Request } from '../../harness.ts';
import type { History } from '../history.ts';
import type { CreditsMethod, CallResult, CreditsMethods } from './protocol.ts';
import type { ServiceRun, ServiceRuns } from './service-runs.ts';
import { ConnectionLostError, type WorkerProcess } from './worker-process.ts';

export interface WorkerResponse {
  status: number;
  /** The error code; null on success. */
  code: string | null;
  body: unknown;
  isReplay: boolean;
}

export interface FinalResponse extends WorkerResponse {
  /** The run that answered; 0 for a replayed response, which may come from an earlier run. */
  run: number;
  /** Index of the worker in its run. */
  worker: number;
  workers: number;
}

export interface RequestOptions {
  /** Shown in the trace. */
  label: string;
  /** How long to wait for a response; null waits forever. */
  timeoutMs: number | null;
  /** Whether the request is not retried. */
  isSentOnce?: boolean;
  /** Called for each attempt with an unknown outcome. */
  onUnanswered?: () => void;
  /** Called for each attempt that a running service left without an answer: it may take effect after its retry at another worker. */
  onLost?: () => void;
  /** Index of the worker to use: a session is driven by the worker that owns it. */
  worker?: number;
}

interface Target {
  run: ServiceRun;
  worker: WorkerProcess;
  timeoutMs: number | null;
}
type Send = (target: Target) => Promise<WorkerResponse>;

/** Delay before a retry. After several in a row it doubles each time: clients that ask without a pause starve the work they wait for. */
const pauseMs = 15;
const quickRetries = 8;
const pauseMsMax = 240;
/** Longer than any round takes, also on a busy machine. */
const roundMsMax = 240_000;

export class WorkerClient {
  readonly #runs: ServiceRuns;
  readonly #history: History;
  readonly #adminKey: string;
  readonly #startedMs = performance.now();
  #requestCount = 0;

  constructor(deps: { runs: ServiceRuns; history: History; adminKey: string }) {
    this.#runs = deps.runs;
    this.#history = deps.history;
    this.#adminKey = deps.adminKey;
  }

  /** Sends an HTTP request. Returns null when there was no response and `isSentOnce` is set. */
  request<E extends Endpoint>(
    endpoint: E,
    options: RequestOptions,
    request: (run: ServiceRun) => Request<E> | Promise<Request<E>>,
  ): Promise<FinalResponse | null> {
    return this.#retry(options, async ({ run, worker, timeoutMs }) => {
      const resolved = await request(run);
      const signal = timeoutMs === null ? {} : { signal: AbortSignal.timeout(timeoutMs) };
      const { status, body, headers } = await new Client(worker.url, '', this.#adminKey).call(endpoint, { ...resolved, ...signal });
      const error = ErrorBody.safeParse(body);
      return { status, body, code: error.success ? error.data.error.code : null, isReplay: headers.has('idempotent-replayed') };
    });
  }

  /** Calls a credit operation in process. */
  call<D extends CreditsMethod>(method: D, options: RequestOptions, parameters: CreditsMethods[D]): Promise<FinalResponse | null> {
    return this.#retry(options, async ({ worker, timeoutMs }) => toResponse(await withTimeout(worker.call(method, parameters), timeoutMs)));
  }

  /** Writes the counted usage to the database. */
  flush(options: RequestOptions): Promise<FinalResponse | null> {
    return this.#retry(options, async ({ run }) => {
      const answers = await Promise.all(run.workers.map((worker) => worker.runLoops(['metering'])));
      // A loop does not report its error's code; the database was unavailable.
      const failed = answers.find(({ status }) => status === 500);
      return failed
        ? { status: 503, code: 'store_unavailable', body: failed, isReplay: false }
        : { status: 200, code: null, body: {}, isReplay: false };
    });
  }

  async #retry(options: RequestOptions, send: Send): Promise<FinalResponse | null> {
    let { timeoutMs } = options;
    const answers = new Map<string, number>();
    let retries = 0;
    // What is answered again may be answered by another worker than the one that did it.
    let wrongWorkers = 0;
    while (performance.now() - this.#startedMs < roundMsMax) {
      const run = await this.#runs.current();
      const number = ((options.worker ?? (this.#requestCount += 1)) + wrongWorkers) % run.workers.length;
      const worker = run.workers[number] as WorkerProcess;
      const response = await this.#attempt(run, options.label, () => send({ run, worker, timeoutMs }));
      // A busy machine may never answer within the timeout, so it doubles.
      if (!response && timeoutMs !== null) timeoutMs *= 2;
      if (!response && !run.isOver) options.onLost?.();
      if (response && isFinal(response))
        return { ...response, run: response.isReplay ? 0 : run.number, worker: number, workers: run.workers.length };
      const answer = response ? (response.code ?? String(response.status)) : 'no answer';
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      if (response?.code === 'worker_unreachable') wrongWorkers += 1;
      const isUnknown = !response || response.code === 'store_unavailable' || response.code === 'deadline_exceeded';
      if (isUnknown) options.onUnanswered?.();
      if (isUnknown && options.isSentOnce) return null;
      if (!run.isOver) await sleep(Math.min(pauseMs * 2 ** Math.max(0, retries - quickRetries), pauseMsMax));
      retries += 1;
    }
    const counts = [...answers].map(([answer, count]) => `${count} × ${answer}`).join(', ');
    throw new Error(`${options.label} was retried and never answered: ${counts}`);
  }

  async #attempt(run: ServiceRun, label: string, send: () => Promise<WorkerResponse>): Promise<WorkerResponse | null> {
    try {
      const response = await send();
      run.noteReply();
      const summary = response.code ?? JSON.stringify(response.body)?.slice(0, 120) ?? '';
      this.#history.note(`${label} → run ${run.number}: ${response.status} ${summary}${response.isReplay ? ' replayed' : ''}`);
      if (response.status === 500) throw new Error(`${label} was answered 500: ${JSON.stringify(response.body)}`);
      return response;
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#history.note(`${label} → run ${run.number}: no answer`);
      return null;
    }
  }
}

/** They ask for the request again; a worker that was frozen has not read what arrived meanwhile. */
const retriedCodes: readonly (string | null)[] = ['idempotency_in_progress', 'request_timeout'];

/** Whether the response needs no retry. */
function isFinal({ status, code }: WorkerResponse): boolean {
  return status < 500 && status !== 429 && !retriedCodes.includes(code);
}

function toResponse(answer: CallResult): WorkerResponse {
  if ('code' in answer) return { status: answer.status, code: answer.code, body: answer, isReplay: false };
  return { status: answer.status, code: null, body: answer.value, isReplay: false };
}

/** A broken connection, an exited service or a timeout: the outcome is unknown. */
const isLost = (error: unknown): boolean =>
  error instanceof ConnectionLostError ||
  (error instanceof TypeError && /fetch failed|terminated/.test(error.message)) ||
  (error instanceof DOMException && error.name === 'TimeoutError');

async function withTimeout<T>(work: Promise<T>, timeoutMs: number | null): Promise<T> {
  if (timeoutMs === null) return work;
  const timer = new AbortController();
  const timeout = sleep(timeoutMs, undefined, { signal: timer.signal }).then(
    () => {
      throw new ConnectionLostError('timed out while waiting for the response');
    },
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timer.abort();
    work.catch(() => {});
  }
}

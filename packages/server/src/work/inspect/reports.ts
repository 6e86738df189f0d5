/** Makes reports in threads with limits: a hostile capture costs this process neither time nor memory. */
import type { WorkError } from '@berth/contract';
import { toJsonText } from '@berth/lib/json/text.ts';
import type { Log } from '@berth/lib/log.ts';
import { fromPieces } from '@berth/lib/turns/pieces.ts';
import { ThreadError, ThreadPool } from '@berth/lib/thread-pool.ts';
import type { ReportResult, ReportSource, ReportTask } from './report-thread.ts';
import type { Report } from '@berth/site-report';

export type { ReportSource } from './report-thread.ts';

const threadsMax = 2;
const runMsMax = 30_000;
const heapMbMax = 512;
const waitingMax = 64;
const waitingSizeMax = 512 * 1024 * 1024;

/** The report cannot be made. The error is for the caller. */
export class ReportError extends Error {
  readonly error: WorkError;

  constructor(error: WorkError, options?: ErrorOptions) {
    super(error.message, options);
    this.name = 'ReportError';
    this.error = error;
  }
}

export class Reports {
  readonly #threads: ThreadPool<ReportTask, ReportResult>;

  constructor({ log, runMs = runMsMax }: { log: Log; runMs?: number }) {
    const file = new URL('./report-thread.ts', import.meta.url);
    this.#threads = new ThreadPool({ file, threadsMax, runMsMax: runMs, heapMbMax, waitingMax, waitingSizeMax, log });
  }

  /** @throws ReportError, or the signal's reason */
  async create(
    { source, options }: Pick<ReportTask, 'options'> & { source: ReportSource },
    call: { owner: string; size: number; signal: AbortSignal },
  ): Promise<Report> {
    const result = await this.#run({ source: await toText(source), options }, call);
    if ('problem' in result) throw new ReportError({ code: 'invalid_har', message: result.problem, retryable: false });
    return (await fromPieces(result.pieces)) as Report;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  async #run(task: ReportTask, call: { owner: string; size: number; signal: AbortSignal }): Promise<ReportResult> {
    try {
      return await this.#threads.run(task, call);
    } catch (error) {
      if (error instanceof ThreadError) throw new ReportError(failures[error.reason], { cause: error });
      throw error;
    }
  }
}

async function toText(source: ReportSource): Promise<ReportTask['source']> {
  if ('capture' in source) return { capture: await toJsonText(source.capture) };
  return { ...source, har: typeof source.har === 'string' ? source.har : await toJsonText(source.har) };
}

const failures: Record<ThreadError['reason'], WorkError> = {
  too_large: {
    code: 'report_failed',
    message: 'The report needs more memory than it may have. Inspect fewer pages, or upload a smaller HAR.',
    retryable: false,
  },
  timeout: {
    code: 'report_failed',
    message: 'The report took too long. Inspect fewer pages, or upload a smaller HAR.',
    retryable: false,
  },
  busy: { code: 'no_capacity', message: 'Too many reports are waiting. Try again in a moment.', retryable: true },
  failed: { code: 'internal_error', message: 'An internal error occurred while the report was made. Retry.', retryable: true },
};

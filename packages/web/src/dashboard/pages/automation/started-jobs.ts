/**
 * The jobs that were started in this tab. The API has no list of jobs, so the tab remembers their ids, until it is
 * closed or its user signs out. Neither inputs nor results are remembered: they may have secrets in them.
 */
import { signal, type ReadonlySignal } from '@preact/signals';
import type { JobResponse, JobStatus } from '@berth/contract';

export interface StartedJob {
  jobId: string;
  kind: JobResponse['kind'];
  /** Host of the URL and how it was fetched, or name of the flow or template. */
  title: string;
  /** Epoch milliseconds. */
  startedAtMs: number;
  /** Status as it was last read. */
  status: JobStatus;
  /** Whether it runs in a session that its owner can open. */
  hasSession?: boolean;
}

/** Results are retained for a day; nobody starts more by hand. */
const jobsMax = 200;

/** One entry of the tab's storage. */
export interface JobStorage {
  read: () => string | null;
  write: (text: string) => void;
  remove: () => void;
}

export class StartedJobs {
  readonly #storage: () => JobStorage | null;
  readonly #list = signal<readonly StartedJob[]>([]);

  /** `storage` returns null where nothing may outlive a reload. */
  constructor(storage: () => JobStorage | null) {
    this.#storage = storage;
    this.#list.value = this.#read();
  }

  /** Newest first. */
  get list(): ReadonlySignal<readonly StartedJob[]> {
    return this.#list;
  }

  add(job: StartedJob): void {
    this.#write([job, ...this.#list.value.filter(({ jobId }) => jobId !== job.jobId)].slice(0, jobsMax));
  }

  /** Notes what a job is now. No effect on jobs of others. */
  update(jobId: string, status: JobStatus): void {
    if (this.#list.value.some((job) => job.jobId === jobId && job.status !== status))
      this.#write(this.#list.value.map((job) => (job.jobId === jobId ? { ...job, status } : job)));
  }

  remove(jobId: string): void {
    this.#write(this.#list.value.filter((job) => job.jobId !== jobId));
  }

  /** Removes all jobs, for the next user of this tab. */
  clear(): void {
    this.#list.value = [];
    this.#storage()?.remove();
  }

  #write(list: readonly StartedJob[]): void {
    this.#list.value = list;
    try {
      this.#storage()?.write(JSON.stringify(list));
    } catch {
      // Without storage the list lasts until the page is reloaded.
    }
  }

  #read(): readonly StartedJob[] {
    try {
      const stored: unknown = JSON.parse(this.#storage()?.read() ?? '[]');
      return Array.isArray(stored) ? stored.filter(isStartedJob).slice(0, jobsMax) : [];
    } catch {
      return [];
    }
  }
}

const isStartedJob = (value: unknown): value is StartedJob =>
  typeof value === 'object' &&
  value !== null &&
  ['jobId', 'kind', 'title', 'status'].every((name) => typeof (value as Record<string, unknown>)[name] === 'string') &&
  Number.isFinite((value as StartedJob).startedAtMs);

/** The host alone: paths and queries may have secrets in them. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}

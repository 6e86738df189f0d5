/** State, progress and end of a job. */
import { useSignal } from '@preact/signals';
import type { JobResponse, WorkError, WorkUsage } from '@berth/contract';
import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { hrefOf } from '../../../href.ts';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { Empty, ErrorNote, Loading } from '../../../ui/states.tsx';
import { durationText, numberText, sizeText } from '../../../ui/values/texts.ts';
import { toastError } from '../../../ui/toasts.ts';
import { useJob } from './use-job.ts';

const tones: Readonly<Record<JobResponse['status'], Tone>> = { pending: 'accent', ok: 'good', blocked: 'warn', error: 'bad' };

/** What a job works on, as its link. */
export const targetText = ({ target, kind }: Pick<JobResponse, 'target' | 'kind'>): string =>
  target?.replace(/^https?:\/\//, '') ?? (kind === 'inspect' ? 'HAR file' : kind);

export const JobBadge = ({ status }: { status: JobResponse['status'] }) => <Badge tone={tones[status]}>{status}</Badge>;

interface JobViewProps {
  jobId: string;
  /** Kinds whose result `children` shows. */
  kinds: readonly JobResponse['kind'][];
  /** Shows the result of a job that has ended. */
  children: (job: JobResponse) => ComponentChildren;
}

/** A job: its progress while it is pending, then its result. */
export function JobView({ jobId, kinds, children }: JobViewProps) {
  const { state, cancel } = useJob(jobId);
  if (state.status === 'failed') return <ErrorNote error={state.error} />;
  return (
    <>
      {state.problem && <ErrorNote error={state.problem} />}
      {state.status === 'loading' ? (
        <Loading label="Loading the job" />
      ) : state.job.status === 'pending' ? (
        <Progress job={state.job} onCancel={cancel} />
      ) : kinds.includes(state.job.kind) ? (
        children(state.job)
      ) : (
        <OtherKind job={state.job} />
      )}
    </>
  );
}

/** An address that somebody changed by hand. */
const OtherKind = ({ job }: { job: JobResponse }) => (
  <Empty icon="search" title={`This job is of another kind: ${job.kind}`}>
    <a href={hrefOf(`/jobs/${encodeURIComponent(job.job_id)}`)}>Open the job</a>
  </Empty>
);

const stages: Readonly<Record<JobResponse['stage'], string>> = { queued: 'Waiting for a browser', running: 'Running', done: 'Done' };

function Progress({ job, onCancel }: { job: JobResponse; onCancel: () => Promise<void> }) {
  const { progress, stage, created_at: createdAt } = job;
  const { path } = useLocation();
  const address = hrefOf(`/jobs/${encodeURIComponent(job.job_id)}`);
  const isCancelling = useSignal(false);
  const cancel = async (): Promise<void> => {
    isCancelling.value = true;
    await onCancel().catch(toastError);
    isCancelling.value = false;
  };
  const steps = progress.total === null ? progress.step > 0 && `step ${progress.step}` : `step ${progress.step} of ${progress.total}`;
  return (
    <section class="automation-progress" aria-label="Progress">
      <div class="row">
        <span class="spinner" aria-hidden="true" />
        <p role="status">{[stages[stage], steps, progress.note].filter(Boolean).join(', ')}</p>
        <Elapsed since={createdAt} />
        <button type="button" class="button" disabled={isCancelling.value} onClick={() => void cancel()}>
          <Icon name="stop" />
          Cancel the job
        </button>
      </div>
      <progress aria-label="Progress of the job" {...(progress.total ? { value: progress.step, max: progress.total } : {})} />
      <p class="muted">
        The job goes on without this page, and its result is retained for 24 hours after its end
        {path === address ? (
          '.'
        ) : (
          <>
            : <a href={address}>its own page</a>.
          </>
        )}
      </p>
    </section>
  );
}

/** Hidden from screen readers, which would announce every second. */
function Elapsed({ since }: { since: string }) {
  const nowMs = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (nowMs.value = Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="muted" aria-hidden="true">
      {durationText(Math.max(0, nowMs.value - new Date(since).getTime()))}
    </span>
  );
}

/** What a job, a fetch or a run has used. */
export function usageText({ actions, egress_bytes: bytes, credits }: WorkUsage): string {
  const parts = [`${numberText(actions)} ${actions === 1 ? 'action' : 'actions'}`, `${sizeText(bytes)} of traffic`];
  return [...parts, ...(credits > 0 ? [`${numberText(credits)} credits`] : [])].join(', ');
}

/** The error of work, whose HTTP status is 200. */
export const WorkErrorNote = ({ error }: { error: WorkError }) => (
  <div class="error-note" role="alert">
    <Icon name="alert" />
    <div>
      <p>{error.message}</p>
      <p class="muted">
        <code>{error.code}</code>
        {error.retryable && ' – the same request may succeed later.'}
      </p>
    </div>
  </div>
);

/** Warnings are names such as `load_timed_out`, some with a detail. */
export const Warnings = ({ warnings }: { warnings: readonly string[] }) =>
  warnings.length === 0 ? null : (
    <ul class="automation-warnings" aria-label="Warnings">
      {warnings.map((warning) => (
        <li key={warning}>
          <Badge tone="warn">{warning.replaceAll('_', ' ')}</Badge>
        </li>
      ))}
    </ul>
  );

/** Small values side by side, such as status and duration. */
export const Stats = ({ items }: { items: readonly (readonly [name: string, value: ComponentChildren] | false)[] }) => (
  <dl class="stats">
    {items.map(
      (item) =>
        item && (
          <div key={item[0]}>
            <dt>{item[0]}</dt>
            <dd>{item[1]}</dd>
          </div>
        ),
    )}
  </dl>
);

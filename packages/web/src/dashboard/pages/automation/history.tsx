import type { StartedJob } from './started-jobs.ts';
import { Time } from '../../ui/time.tsx';
import { startedJobs } from './jobs-of-tab.ts';
import { JobBadge } from './job-view.tsx';

interface HistoryProps {
  kinds: readonly StartedJob['kind'][];
  /** Only jobs of this name. Default: all of these kinds. */
  title?: string;
  hrefOfJob: (job: StartedJob) => string;
}

const shownMax = 10;

/** What was started in this tab before. */
export function History({ kinds, title, hrefOfJob }: HistoryProps) {
  const jobs = startedJobs.list.value.filter((job) => kinds.includes(job.kind) && (title === undefined || job.title === title));
  if (jobs.length === 0) return null;
  return (
    <section class="automation-history" aria-label="History">
      <h2>Started in this tab</h2>
      <ul>
        {jobs.slice(0, shownMax).map((job) => (
          <li key={job.jobId}>
            <a href={hrefOfJob(job)} class="automation-foreign">
              {job.title || job.jobId}
            </a>
            <JobBadge status={job.status} />
            <span class="muted">
              <Time at={new Date(job.startedAtMs).toISOString()} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

import type { JobItemResponse } from '@berth/contract';
import type { ComponentChildren } from 'preact';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Loaded } from '../../../ui/states.tsx';
import { Time } from '../../../ui/values/time.tsx';
import { JobBadge, targetText } from './job-view.tsx';

interface HistoryProps {
  kind: JobItemResponse['kind'];
  /** Only runs of this flow or template. Default: all of the kind. */
  target?: string;
  /** The job that was started last: the list is read again for it. */
  latest?: string | undefined;
  hrefOfJob: (job: JobItemResponse) => string;
  /** Shown while there are none. */
  empty?: ComponentChildren;
}

const shownMax = 10;
/** Of these the shown ones are taken, where only those of one name are. */
const readMax = 100;

/** Earlier jobs of a kind whose results can still be read. */
export function History({ kind, target, latest, hrefOfJob, empty = null }: HistoryProps) {
  const live = useLive((signal) => call('listJobs', { query: { kind, limit: target === undefined ? shownMax : readMax }, signal }), {
    inputs: [kind, latest],
  });
  return (
    <Loaded live={live} loading="Loading earlier ones">
      {(listed) => {
        const jobs = listed.filter((job) => !isExpired(job) && (target === undefined || job.target === target)).slice(0, shownMax);
        if (jobs.length === 0) return empty;
        return (
          <section class="automation-history" aria-label="History">
            <h2>Earlier</h2>
            <ul>
              {jobs.map((job) => (
                <li key={job.job_id}>
                  <a href={hrefOfJob(job)} class="automation-foreign">
                    {targetText(job)}
                  </a>
                  <JobBadge status={job.status} />
                  <span class="muted">
                    <Time at={job.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          </section>
        );
      }}
    </Loaded>
  );
}

export const isExpired = ({ expires_at: at }: JobItemResponse): boolean => at !== null && Date.parse(at) <= Date.now();

/** The fetch playground: one page in all formats, by a browser, by plain HTTP, or by both to compare. */
import { useSignal } from '@preact/signals';
import { useLocation } from 'preact-iso';
import type { ApiError } from '../../../api-error.ts';
import { toShown } from '../../../api-error.ts';
import { hrefOf } from '../../../href.ts';
import { Empty } from '../../../ui/states.tsx';
import { toUrl } from '../../../ui/values/to-url.ts';
import { FetchFormView } from './fetch-form.tsx';
import { toFetchBodies, type FetchForm } from './fetch-request.ts';
import { FetchComparison, FetchView } from './fetch-result.tsx';
import { History } from '../jobs/history.tsx';
import { JobView } from '../jobs/job-view.tsx';
import { startJob } from '../jobs/start-job.ts';
import '../automation.css';

/** `?job=` is a fetch; with `&with=` it is compared with another one. `?url=` fills in the form. */
export default function FetchPage() {
  const { query, route } = useLocation();
  const { job, with: other, url = '' } = query;
  const error = useSignal<ApiError | null>(null);
  const isStarting = useSignal(false);
  const start = async (form: FetchForm): Promise<void> => {
    isStarting.value = true;
    error.value = null;
    try {
      const ids: string[] = [];
      for (const body of toFetchBodies({ ...form, url: toUrl(form.url) })) ids.push(await startJob('fetchPage', body));
      const [first = '', second] = ids;
      route(`${hrefOf('/fetch')}?${new URLSearchParams({ job: first, ...(second === undefined ? {} : { with: second }) })}`);
    } catch (thrown) {
      error.value = toShown(thrown);
    }
    isStarting.value = false;
  };
  return (
    <div class="page">
      <div class="page-head">
        <h1>Fetch</h1>
      </div>
      <FetchFormView initialUrl={url} isStarting={isStarting.value} error={error.value} onStart={start} />
      {job === undefined ? (
        <Empty icon="globe" title="Nothing fetched yet">
          Enter the address of a page. You see what a program gets: HTML, Markdown, links, tables, a screenshot and more.
        </Empty>
      ) : other === undefined ? (
        <JobView key={job} jobId={job} kinds={['fetch']}>
          {(done) => <FetchView job={done} />}
        </JobView>
      ) : (
        <FetchComparison key={`${job} ${other}`} first={job} second={other} />
      )}
      <History kind="fetch" latest={job} hrefOfJob={({ job_id: id }) => `${hrefOf('/fetch')}?${new URLSearchParams({ job: id })}`} />
    </div>
  );
}

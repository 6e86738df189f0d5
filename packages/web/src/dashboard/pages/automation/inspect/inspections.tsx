/** Inspections: start one by address or from a HAR, and open earlier ones. */
import { useSignal } from '@preact/signals';
import { useLocation } from 'preact-iso';
import { toShown, type ApiError } from '../../../api-error.ts';
import { hrefOf } from '../../../href.ts';
import { Empty } from '../../../ui/states.tsx';
import { History } from '../jobs/history.tsx';
import { InspectForm } from './inspect-form.tsx';
import { startJob } from '../jobs/start-job.ts';
import '../automation.css';

export const hrefOfInspection = (jobId: string): string => hrefOf(`/inspections/${encodeURIComponent(jobId)}`);

export default function InspectionsPage() {
  const { query, route } = useLocation();
  const error = useSignal<ApiError | null>(null);
  const isStarting = useSignal(false);
  const start = async (body: Record<string, unknown>): Promise<void> => {
    isStarting.value = true;
    error.value = null;
    try {
      route(hrefOfInspection(await startJob('inspect', body)));
    } catch (thrown) {
      error.value = toShown(thrown);
    }
    isStarting.value = false;
  };
  return (
    <div class="page">
      <div class="page-head">
        <h1>Inspections</h1>
      </div>
      <p class="muted">A report on a site: its API, how it signs people in, what it loads, which third parties it uses.</p>
      <InspectForm initialUrl={query['url'] ?? ''} isStarting={isStarting.value} error={error.value} onStart={start} />
      <History
        kind="inspect"
        hrefOfJob={({ job_id: id }) => hrefOfInspection(id)}
        empty={
          <Empty icon="search" title="No inspections yet">
            Enter the address of a site, or choose a HAR file that a browser exported.
          </Empty>
        }
      />
    </div>
  );
}

/** The page of one flow or template: what it does, a form of its inputs, the run that was started, and those before. */
import { useSignal } from '@preact/signals';
import { useLocation } from 'preact-iso';
import type { AgentTaskResponse, TemplateItemResponse } from '@berth/contract';
import { toShown, type ApiError } from '../../../api-error.ts';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { hrefOf } from '../../../href.ts';
import { Badge } from '../../../ui/badge.tsx';
import { Hint } from '../../../ui/hint.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { hrefOfRun, type RunKind } from './flows.tsx';
import { History } from '../jobs/history.tsx';
import { JobView } from '../jobs/job-view.tsx';
import { RunForm } from './run-form.tsx';
import { RunView } from './run-view.tsx';
import { startJob } from '../jobs/start-job.ts';
import { TemplateSteps } from './template-steps.tsx';
import { TextBlock } from '../values/value-view.tsx';
import '../automation.css';

interface RunPageProps {
  kind: RunKind;
  name: string;
}

type Runnable = AgentTaskResponse | TemplateItemResponse;

export function RunPage({ kind, name }: RunPageProps) {
  const live = useLive(async (signal): Promise<readonly Runnable[]> =>
    kind === 'flows' ? call('listTasks', { signal }) : call('listTemplates', { signal }),
  );
  return (
    <div class="page">
      <Loaded live={live} loading={`Loading the ${nounOf(kind)}`}>
        {(items) => {
          const item = items.find((each) => each.name === name);
          return item ? <RunnableView kind={kind} item={item} /> : <Unknown kind={kind} name={name} />;
        }}
      </Loaded>
    </div>
  );
}

const nounOf = (kind: RunKind): string => (kind === 'flows' ? 'flow' : 'template');
const hrefOfList = (kind: RunKind): string => `${hrefOf('/flows')}?list=${kind}`;

const Unknown = ({ kind, name }: RunPageProps) => (
  <>
    <h1 class="automation-foreign">{name}</h1>
    <Empty icon="search" title={`This service has no such ${nounOf(kind)}`}>
      <a href={hrefOfList(kind)}>All {kind}</a>
    </Empty>
  </>
);

function RunnableView({ kind, item }: { kind: RunKind; item: Runnable }) {
  const { query, route } = useLocation();
  const { job } = query;
  const error = useSignal<ApiError | null>(null);
  const isStarting = useSignal(false);
  const start = async (body: Record<string, unknown>): Promise<void> => {
    isStarting.value = true;
    error.value = null;
    try {
      const jobId = await startJob(kind === 'flows' ? 'runAgent' : 'runTemplate', body);
      route(hrefOfRun(kind, item.name, jobId));
    } catch (thrown) {
      error.value = toShown(thrown);
    }
    isStarting.value = false;
  };
  return (
    <>
      <div class="page-head">
        <h1>{item.title}</h1>
        <Badge>version {item.version}</Badge>
        <a class="button" href={hrefOfList(kind)}>
          All {kind}
        </a>
      </div>
      <p>
        <Hint text={item.description} />
      </p>
      <RunForm kind={kind} item={item} isStarting={isStarting.value} error={error.value} onStart={start} />
      {job !== undefined && (
        <JobView key={job} jobId={job} kinds={[kind === 'flows' ? 'agent' : 'template']}>
          {(done) => <RunView job={done} />}
        </JobView>
      )}
      <History
        kind={kind === 'flows' ? 'agent' : 'template'}
        target={item.name}
        latest={job}
        hrefOfJob={({ job_id: id }) => hrefOfRun(kind, item.name, id)}
      />
      {'steps' in item && <TemplateSteps template={item} />}
      <details class="automation-options">
        <summary>JSON Schema of the output</summary>
        <TextBlock text={JSON.stringify(item.output, null, 2)} label="JSON Schema" fileName={`${item.name}.schema.json`} />
      </details>
    </>
  );
}

import { useSignal } from '@preact/signals';
import type { WorkerResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { TextField } from '../../../ui/form/fields.tsx';
import { SendForm } from '../form.tsx';
import { Note } from '../parts.tsx';

interface FormProps {
  worker: WorkerResponse;
  workers: readonly WorkerResponse[];
  /** Called with a sentence that says what was done. */
  onChanged: (text: string) => Promise<void>;
}

export function CordonForm({ worker, workers, onChanged }: FormProps) {
  const { worker_id: id, state } = worker;
  const send = async (): Promise<void> => {
    await call('cordonWorker', { params: { worker_id: id } });
    await onChanged(`The worker ${id} is cordoned.`);
  };
  return (
    <SendForm action="Cordon the worker" onSend={send}>
      <p>
        <code>{id}</code> gets no new sessions, fetches and jobs. What it runs goes on
        {state === 'draining' && ', without a limit: the drain ends'}. Uncordon it at any time.
      </p>
      <AloneNote worker={worker} workers={workers} />
    </SendForm>
  );
}

/** A week, as the API allows. */
const minutesMax = 10_080;

export function DrainForm({ worker, workers, onChanged }: FormProps) {
  const { worker_id: id } = worker;
  const minutes = useSignal('');
  const hasLimit = minutes.value !== '';
  const send = async (): Promise<void> => {
    await call('drainWorker', { params: { worker_id: id }, body: { limit_seconds: hasLimit ? Number(minutes.value) * 60 : null } });
    await onChanged(`The worker ${id} is draining.`);
  };
  return (
    <SendForm action="Drain the worker" onSend={send} isDanger={hasLimit}>
      <p>
        <code>{id}</code> gets no new sessions, fetches and jobs, and its <code>/health</code> fails, so that load balancers leave it out.
      </p>
      <TextField
        label="End its sessions after (minutes)"
        type="number"
        min={0}
        max={minutesMax}
        step={1}
        hint={hasLimit ? 'Sessions that still run then are ended as drained.' : 'Empty: its sessions go on until they end.'}
        value={minutes.value}
        onInput={(value) => (minutes.value = value)}
      />
      <AloneNote worker={worker} workers={workers} />
    </SendForm>
  );
}

function AloneNote({ worker, workers }: Omit<FormProps, 'onChanged'>) {
  const isOther = ({ worker_id: id, region, alive, state }: WorkerResponse): boolean =>
    id !== worker.worker_id && region === worker.region && alive && state === 'active';
  if (workers.some(isOther)) return null;
  return <Note tone="warn">No other worker of the region {worker.region} takes new work: it is refused until one does.</Note>;
}

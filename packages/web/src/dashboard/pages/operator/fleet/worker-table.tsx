import { useSignal } from '@preact/signals';
import type { WorkerResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { numberText, wordsOf } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { toasts } from '../../../ui/toasts.ts';
import { useSending } from '../../../ui/form/use-sending.ts';
import { Note, Panel } from '../parts.tsx';
import { CordonForm, DrainForm } from './worker-forms.tsx';

interface WorkersProps {
  workers: readonly WorkerResponse[];
  /** The worker that answers this page; undefined until it is known. */
  own: string | undefined;
  reload: () => Promise<void>;
}

interface Opened {
  worker: WorkerResponse;
  act: 'cordon' | 'drain';
}

export function Workers({ workers, own, reload }: WorkersProps) {
  const opened = useSignal<Opened | null>(null);
  const { error, send } = useSending();
  const close = () => (opened.value = null);
  const uncordon = ({ worker_id: id }: WorkerResponse) =>
    send(async () => {
      await call('uncordonWorker', { params: { worker_id: id } });
      toasts.show(`The worker ${id} takes new work again.`);
      await reload();
    });
  const changed = async (text: string): Promise<void> => {
    toasts.show(text);
    close();
    await reload();
  };
  return (
    <Panel title="Workers">
      <LostNote count={workers.filter(({ alive }) => !alive).length} />
      {error && <ErrorNote error={error} />}
      <Table
        caption="Workers of all regions"
        columns={columnsFor({ own, onOpen: (next) => (opened.value = next), onUncordon: (worker) => void uncordon(worker) })}
        rows={workers}
        keyOf={({ worker_id: id }) => id}
        hasFilter={workers.length > 10}
        empty={<p class="muted">No worker has reported yet.</p>}
      />
      <Dialog title={opened.value?.act === 'drain' ? 'Drain a worker' : 'Cordon a worker'} isOpen={opened.value !== null} onClose={close}>
        {opened.value?.act === 'drain' && <DrainForm worker={opened.value.worker} workers={workers} onChanged={changed} />}
        {opened.value?.act === 'cordon' && <CordonForm worker={opened.value.worker} workers={workers} onChanged={changed} />}
      </Dialog>
    </Panel>
  );
}

const LostNote = ({ count }: { count: number }) =>
  count > 0 && (
    <Note tone="bad">
      {count === 1 ? 'A worker is' : `${count} workers are`} lost. Sessions there end as worker_lost; jobs that can be repeated run on other
      workers, the rest end with an error that is worth a retry.
    </Note>
  );

const tones: Record<WorkerResponse['state'], Tone> = { active: 'good', cordoned: 'warn', draining: 'warn' };

/** What the operator decided, and how far it is. A lost worker keeps the decision for when it comes back. */
const State = ({ worker: { alive, state, state_by: by, drain_until: until, sessions } }: { worker: WorkerResponse }) => (
  <div class="operator-worker">
    {!alive && <Badge tone="bad">Lost</Badge>}
    {(alive || state !== 'active') && (
      <span title={by === null ? undefined : `by ${by}`}>
        <Badge tone={alive ? tones[state] : 'neutral'}>{wordsOf(state)}</Badge>
      </span>
    )}
    {alive && state === 'draining' && <span class="hint">{drainText(sessions, until)}</span>}
  </div>
);

function drainText(sessions: number, until: string | null) {
  if (sessions === 0) return 'No session is left: it can be stopped.';
  if (until === null) return 'Its sessions go on until they end.';
  if (Date.parse(until) <= Date.now()) return 'Its sessions are being ended.';
  return (
    <>
      Its sessions are ended <Time at={until} />.
    </>
  );
}

interface ColumnsOptions {
  own: string | undefined;
  onOpen: (opened: Opened) => void;
  onUncordon: (worker: WorkerResponse) => void;
}

const columnsFor = ({ own, onOpen, onUncordon }: ColumnsOptions): readonly Column<WorkerResponse>[] => [
  {
    title: 'Worker',
    cell: ({ worker_id: id, url, version, started_at: at }) => (
      <div class="operator-worker">
        <code>{id}</code>
        {id === own && <Badge tone="accent">This one</Badge>}
        <span class="hint">
          {url} {version} started <Time at={at} />
        </span>
      </div>
    ),
    text: ({ worker_id: id, url, version }) => `${id} ${url} ${version}`,
  },
  { title: 'State', cell: (worker) => <State worker={worker} />, text: ({ alive, state }) => (alive ? state : `lost ${state}`) },
  { title: 'Region', cell: ({ region }) => region, text: ({ region }) => region, isMinor: true },
  {
    title: 'Sessions',
    cell: ({ sessions, sessions_max: max }) => `${numberText(sessions)} of ${numberText(max)}`,
    text: ({ sessions }) => sessions,
    isNumber: true,
  },
  {
    title: 'Warm',
    cell: ({ warm }) => numberText(warm.headless + warm.full_browser),
    text: ({ warm }) => warm.headless + warm.full_browser,
    isNumber: true,
    isMinor: true,
  },
  {
    title: 'New sessions',
    cell: ({ admitting, processors_busy: isBusy, machines_left: left }) => roomText({ admitting, isBusy, left }),
    isMinor: true,
  },
  { title: 'Last report', cell: ({ heartbeat_at: at }) => <Time at={at} />, text: ({ heartbeat_at: at }) => at, isMinor: true },
  { title: 'Actions', cell: (worker) => <Actions worker={worker} onOpen={onOpen} onUncordon={onUncordon} /> },
];

function roomText({ admitting, isBusy, left }: { admitting: boolean; isBusy: boolean; left: number | null }): string {
  if (!admitting) return 'Wait for room';
  const room = left === null ? 'Accepted' : `${numberText(left)} fit`;
  return isBusy ? `${room}, slowly` : room;
}

function Actions({ worker, onOpen, onUncordon }: { worker: WorkerResponse } & Omit<ColumnsOptions, 'own'>) {
  const { worker_id: id, state, alive } = worker;
  return (
    <div class="row">
      {state !== 'active' && (
        <button type="button" class="button" aria-label={`Uncordon the worker ${id}`} onClick={() => onUncordon(worker)}>
          Uncordon
        </button>
      )}
      {state !== 'cordoned' && (
        <button type="button" class="button" aria-label={`Cordon the worker ${id}`} onClick={() => onOpen({ worker, act: 'cordon' })}>
          Cordon
        </button>
      )}
      {alive && (
        <button type="button" class="button" aria-label={`Drain the worker ${id}`} onClick={() => onOpen({ worker, act: 'drain' })}>
          Drain
        </button>
      )}
    </div>
  );
}

import { useSignal } from '@preact/signals';
import type { PoolKind, PoolResponse } from '@berth/contract';
import { isolationText } from '../../sessions/session-state.tsx';
import { toShown, type ApiError } from '../../../api-error.ts';
import { call } from '../../../api.ts';
import { useLive, type Live } from '../../../live.ts';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { TextField } from '../../../ui/form/fields.tsx';
import { Empty, ErrorNote, Loaded } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { durationText, numberText, sizeText, wordsOf } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { toasts } from '../../../ui/toasts.ts';
import { Note, PageFrame, Panel, Stats, refreshMs } from '../parts.tsx';

export default function PoolPage() {
  const live = useLive((signal) => call('getPool', { signal }), { everyMs: refreshMs });
  const resized = useSignal<PoolKind | null>(null);
  return (
    <PageFrame
      title="Warm pool"
      about="Machines that are started before a session needs them: a session that gets one begins at once."
      actions={
        <>
          <button type="button" class="button" onClick={() => (resized.value = 'full_browser')}>
            Resize full browsers
          </button>
          <button type="button" class="button button-main" onClick={() => (resized.value = 'headless')}>
            Resize headless
          </button>
        </>
      }
    >
      <Loaded live={live} loading="Loading the pool">
        {(pool) => <Content pool={pool} />}
      </Loaded>
      <Dialog title={`Resize the pool: ${resized.value ?? ''}`} isOpen={resized.value !== null} onClose={() => (resized.value = null)}>
        {resized.value && <Resize kind={resized.value} live={live} onClose={() => (resized.value = null)} />}
      </Dialog>
    </PageFrame>
  );
}

function Content({ pool }: { pool: PoolResponse }) {
  const { targets, counts, worker } = pool;
  const wanted = targets.headless.target + targets.full_browser.target;
  return (
    <>
      {counts.ready < wanted && (
        <Note tone="warn">
          The pool is short: {counts.ready} of {wanted} warm machines are ready, {counts.warming} starting.{' '}
          {worker.pressure.admitting ? '' : `No machine starts: ${worker.pressure.reason ?? 'the host is overloaded'}.`}
        </Note>
      )}
      {worker.warnings.map((text) => (
        <Note key={text} tone="warn">
          {text}
        </Note>
      ))}
      <div class="operator-columns">
        <Targets pool={pool} />
        <Host pool={pool} />
      </div>
      <Panel title={`Machines in the region ${pool.region}`}>
        <Table
          caption="Machines"
          columns={columns}
          rows={pool.vms}
          keyOf={({ vm_id: id }) => id}
          empty={
            <Empty icon="server" title="No machines">
              <p>Set a target above 0, and machines are started ahead. Without one, each session starts its own.</p>
            </Empty>
          }
        />
      </Panel>
      <Templates templates={worker.templates} />
    </>
  );
}

const targetText = ({ updated_at: at, updated_by: by }: PoolResponse['targets']['headless']) =>
  at === null ? (
    'from the configuration'
  ) : (
    <>
      set <Time at={at} /> by {by}
    </>
  );

const Targets = ({ pool: { targets, counts } }: { pool: PoolResponse }) => (
  <Panel title="Targets and machines">
    <Stats
      stats={[
        ['Headless, target', numberText(targets.headless.target), targetText(targets.headless)],
        ['Full browser, target', numberText(targets.full_browser.target), targetText(targets.full_browser)],
        ['Ready', numberText(counts.ready), `${counts.warming} starting`],
        ['In use', numberText(counts.assigned), `${counts.draining} ending, ${counts.failed} failed`],
      ]}
    />
  </Panel>
);

const percentText = (percent: number | null): string => (percent === null ? 'unknown' : `${numberText(percent)} %`);

const Host = ({ pool: { worker } }: { pool: PoolResponse }) => (
  <Panel title="Host of this worker">
    <Stats
      stats={[
        [
          'New sessions',
          worker.pressure.admitting ? 'Accepted' : 'Wait for room',
          worker.pressure.reason ?? isolationText(worker.isolation),
        ],
        [
          'Memory available',
          worker.pressure.memory_available_bytes === null ? 'unknown' : sizeText(worker.pressure.memory_available_bytes),
        ],
        ['Sessions waiting', numberText(worker.pressure.waiting)],
        [
          'Stalled for memory',
          percentText(worker.pressure.memory_stall_percent),
          `for a CPU ${percentText(worker.pressure.cpu_stall_percent)}`,
        ],
      ]}
    />
  </Panel>
);

type Vm = PoolResponse['vms'][number];

const vmTones: Record<Vm['state'], Tone> = { warming: 'warn', ready: 'good', assigned: 'accent', draining: 'neutral', failed: 'bad' };

const columns: readonly Column<Vm>[] = [
  { title: 'Machine', cell: ({ vm_id: id }) => <code>{id}</code>, text: ({ vm_id: id }) => id },
  {
    title: 'State',
    cell: ({ state, outdated }) => (
      <>
        <Badge tone={vmTones[state]}>{wordsOf(state)}</Badge> {outdated && <Badge tone="warn">Outdated</Badge>}
      </>
    ),
    text: ({ state }) => state,
  },
  { title: 'Kind', cell: ({ kind }) => <span class="operator-name">{kind}</span>, text: ({ kind }) => kind },
  { title: 'Session', cell: ({ session_id: id }) => id && <code>{id}</code>, text: ({ session_id: id }) => id },
  {
    title: 'Waiting',
    cell: ({ idle_seconds: seconds }) => seconds !== null && durationText(seconds * 1000),
    text: ({ idle_seconds: seconds }) => seconds,
    isNumber: true,
  },
  {
    title: 'Memory',
    cell: ({ memory_bytes: bytes }) => bytes !== null && sizeText(bytes),
    text: ({ memory_bytes: bytes }) => bytes,
    isNumber: true,
    isMinor: true,
  },
  { title: 'Worker', cell: ({ worker_id: id }) => <code>{id}</code>, text: ({ worker_id: id }) => id, isMinor: true },
  { title: 'Runtime', cell: ({ runtime }) => runtime, text: ({ runtime }) => runtime, isMinor: true },
  { title: 'Created', cell: ({ created_at: at }) => <Time at={at} />, text: ({ created_at: at }) => at, isMinor: true },
];

type Template = PoolResponse['worker']['templates'][number];

const templateColumns: readonly Column<Template>[] = [
  { title: 'Kind', cell: ({ kind }) => kind },
  { title: 'Starts by', cell: ({ method }) => method },
  { title: 'Failed boots', cell: ({ failures }) => numberText(failures), isNumber: true },
  { title: 'Note', cell: ({ note }) => note },
];

const Templates = ({ templates }: { templates: readonly Template[] }) => (
  <Panel title="How machines start">
    <Table
      caption="How machines start"
      columns={templateColumns}
      rows={templates}
      keyOf={({ kind }) => kind}
      hasFilter={false}
      empty={<p class="muted">This runtime has no machine templates.</p>}
    />
  </Panel>
);

interface ResizeProps {
  kind: PoolKind;
  live: Live<PoolResponse>;
  onClose: () => void;
}

function Resize({ kind, live, onClose }: ResizeProps) {
  const current = live.data?.targets[kind].target ?? 0;
  const text = useSignal(String(current));
  const error = useSignal<ApiError | null>(null);
  const isSending = useSignal(false);
  const target = Number(text.value);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    isSending.value = true;
    try {
      await call('resizePool', { body: { kind, target } });
      toasts.show(`The target for ${kind} machines is ${target}.`);
      onClose();
      await live.reload();
    } catch (failure) {
      error.value = toShown(failure);
    }
    isSending.value = false;
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <TextField
        label={`Warm ${kind} machines in the region`}
        type="number"
        min={0}
        max={1000}
        step={1}
        isRequired
        hint="Shared by the workers of the region. Each takes memory of its host while it waits."
        value={text.value}
        onInput={(value) => (text.value = value)}
      />
      <p>{consequence(current, target)}</p>
      {error.value && <ErrorNote error={error.value} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button button-main" disabled={isSending.value}>
          Set the target
        </button>
      </div>
    </form>
  );
}

function consequence(current: number, target: number): string {
  const rest = 'The target persists over restarts. Machines in use are not affected.';
  if (target > current) return `${target - current} more are started, as far as the host has room. ${rest}`;
  if (target < current) return `Idle machines above ${target} are ended at once. ${rest}`;
  return `The target is ${current} now. ${rest}`;
}

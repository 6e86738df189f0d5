import type { OverviewResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Badge } from '../../../ui/badge.tsx';
import { Loaded } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { durationText, numberText } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { PageFrame, Panel, refreshMs } from '../parts.tsx';
import { Workers } from './worker-table.tsx';

export default function WorkersPage() {
  const workers = useLive((signal) => call('listWorkers', { signal }), { everyMs: refreshMs });
  const overview = useLive((signal) => call('overview', { signal }), { everyMs: refreshMs });
  return (
    <PageFrame title="Workers and loops" about="The workers that share the database, and which of them take new work.">
      <Loaded live={workers} loading="Loading workers">
        {(rows) => <Workers workers={rows} own={overview.data?.worker_id} reload={workers.reload} />}
      </Loaded>
      <Loaded live={overview} loading="Loading loops">
        {(data) => <Loops overview={data} />}
      </Loaded>
    </PageFrame>
  );
}

type Loop = OverviewResponse['loops'][number];

const loopColumns: readonly Column<Loop>[] = [
  { title: 'Loop', cell: ({ name }) => <code class="operator-name">{name}</code>, text: ({ name }) => name },
  {
    title: 'State',
    cell: ({ failures, turns }) =>
      failures > 0 ? (
        <Badge tone="bad">{`Failed ${failures} times`}</Badge>
      ) : (
        <Badge tone={turns > 0 ? 'good' : 'neutral'}>{turns > 0 ? 'Runs' : 'Waits'}</Badge>
      ),
    text: ({ failures }) => failures,
  },
  { title: 'Last error', cell: ({ last_error: error }) => error, text: ({ last_error: error }) => error },
  { title: 'Last iteration', cell: ({ last_turn_at: at }) => <Time at={at} />, text: ({ last_turn_at: at }) => at },
  { title: 'Every', cell: ({ interval_ms: ms }) => durationText(ms), text: ({ interval_ms: ms }) => ms, isNumber: true, isMinor: true },
  { title: 'Iterations', cell: ({ turns }) => numberText(turns), text: ({ turns }) => turns, isNumber: true, isMinor: true },
];

const Loops = ({ overview: { loops } }: { overview: OverviewResponse }) => (
  <Panel title="Loops">
    <p class="muted">Periodic work of this worker. An error is shown until the next iteration that succeeds.</p>
    <Table
      caption="Loops of this worker"
      columns={loopColumns}
      rows={loops.toSorted((one, other) => other.failures - one.failures)}
      keyOf={({ name }) => name}
      rowsPerPage={50}
      empty={<p class="muted">No loop runs.</p>}
    />
  </Panel>
);

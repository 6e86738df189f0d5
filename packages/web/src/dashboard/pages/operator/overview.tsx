import type { OverviewResponse } from '@berth/contract';
import { call } from '../../api.ts';
import { useLive } from '../../live.ts';
import { hrefOf } from '../../href.ts';
import { Loaded } from '../../ui/states.tsx';
import { durationText, numberText, sizeText } from '../../ui/values/texts.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { attentionOf } from './attention.ts';
import { Note, PageFrame, Panel, Stats, filtered, refreshMs } from './parts.tsx';

export default function OverviewPage() {
  const live = useLive((signal) => call('overview', { signal }), { everyMs: refreshMs });
  return (
    <PageFrame title="Overview" about="The service at a glance. The figures are read again every five seconds.">
      <Loaded live={live} loading="Loading the overview">
        {(overview) => <Content overview={overview} />}
      </Loaded>
    </PageFrame>
  );
}

const Content = ({ overview }: { overview: OverviewResponse }) => (
  <>
    <AttentionList overview={overview} />
    <div class="operator-columns">
      <Sessions overview={overview} />
      <Machines overview={overview} />
      <Money overview={overview} />
      <Worker overview={overview} />
    </div>
    <Denials denials={overview.denials} />
  </>
);

function AttentionList({ overview }: { overview: OverviewResponse }) {
  const items = attentionOf(overview);
  return (
    <Panel title="Needs attention">
      {items.length + overview.warnings.length === 0 ? (
        <p class="muted">Nothing: all workers report, no loop fails, and the pool has what it should.</p>
      ) : (
        <ul class="operator-notes">
          {items.map(({ tone, text, href }) => (
            <li key={text}>
              <Note tone={tone}>
                {text} <a href={href}>See more</a>
              </Note>
            </li>
          ))}
          {overview.warnings.map((text) => (
            <li key={text}>
              <Note tone="warn">{text}</Note>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

const Sessions = ({ overview: { sessions, jobs, fetch_machines: fetching } }: { overview: OverviewResponse }) => (
  <Panel title="Sessions and jobs" actions={<a href={hrefOf('/operator/sessions')}>All sessions</a>}>
    <Stats
      stats={[
        ['Sessions ready', numberText(sessions.ready), `${sessions.starting} starting, ${sessions.ending} ending`],
        ['Ended, still readable', numberText(sessions.ended), `${sessions.failed} failed to start`],
        ['Jobs running', numberText(jobs.running), `${jobs.queued} queued`],
        ['Jobs finished', numberText(jobs.ok), `${jobs.blocked} blocked, ${jobs.error} failed`],
        ['Fetch machines', numberText(fetching)],
      ]}
    />
  </Panel>
);

const Machines = ({ overview: { pool, host } }: { overview: OverviewResponse }) => (
  <Panel title="Machines" actions={<a href={hrefOf('/operator/pool')}>Warm pool</a>}>
    <Stats
      stats={[
        ['Warm', `${pool.counts.ready} of ${pool.targets.headless + pool.targets.full_browser}`, `${pool.counts.warming} starting`],
        ['In use', numberText(pool.counts.assigned), `${pool.counts.draining} ending, ${pool.counts.failed} failed`],
        ['Memory available', host.memory_available_bytes === null ? 'unknown' : sizeText(host.memory_available_bytes)],
        ['Disk free', host.disk_free_bytes === null ? 'unknown' : sizeText(host.disk_free_bytes), `The disk is ${host.disk}.`],
        ['New sessions', host.admitting ? 'Accepted' : 'Wait for room'],
      ]}
    />
  </Panel>
);

const Money = ({ overview: { credits, blocks_24h: blocks, egress } }: { overview: OverviewResponse }) => (
  <Panel title="Credits, blocks and traffic" actions={<a href={hrefOf('/operator/economics')}>Economics</a>}>
    <Stats
      stats={[
        ['Credits in wallets', numberText(credits.balance)],
        ['Credits granted', numberText(credits.granted), `${numberText(credits.spent)} spent`],
        ['Blocks in 24 hours', <a href={filtered('/operator/blocks', { by: 'site' })}>{numberText(blocks)}</a>],
        ['Traffic in', sizeText(egress.bytes_in), `${sizeText(egress.bytes_out)} out`],
        ['Through proxies', sizeText(egress.proxied_bytes), `${egress.routes} open routes`],
      ]}
    />
  </Panel>
);

const Worker = ({ overview }: { overview: OverviewResponse }) => (
  <Panel title="This worker" actions={<a href={hrefOf('/operator/workers')}>Workers and loops</a>}>
    <dl class="operator-details">
      <dt>Version</dt>
      <dd>{overview.version}</dd>
      <dt>Id</dt>
      <dd>
        <code>{overview.worker_id}</code>
      </dd>
      <dt>Region</dt>
      <dd>{overview.region}</dd>
      <dt>Running for</dt>
      <dd>{durationText(overview.uptime_seconds * 1000)}</dd>
      <dt>Workers</dt>
      <dd>
        {overview.workers.filter(({ alive }) => alive).length} of {overview.workers.length} report
      </dd>
      <dt>Loops</dt>
      <dd>
        {overview.loops.length}, of which {overview.loops.filter(({ failures }) => failures > 0).length} fail
      </dd>
    </dl>
  </Panel>
);

type Denial = readonly [code: string, count: number];

const denialColumns: readonly Column<Denial>[] = [
  {
    title: 'Code',
    cell: ([code]) => (
      <a href="/docs/errors#troubleshooting-by-error-code">
        <code>{code}</code>
      </a>
    ),
    text: ([code]) => code,
  },
  { title: 'Requests', cell: ([, count]) => numberText(count), text: ([, count]) => count, isNumber: true },
];

const Denials = ({ denials }: { denials: Record<string, number> }) => (
  <Panel title="Refused requests">
    <p class="muted">Since this worker started, by the code of the error.</p>
    <Table
      caption="Refused requests by code"
      columns={denialColumns}
      rows={Object.entries(denials).toSorted(([, one], [, other]) => other - one)}
      keyOf={([code]) => code}
      hasFilter={false}
      empty={<p class="muted">No request was refused.</p>}
    />
  </Panel>
);

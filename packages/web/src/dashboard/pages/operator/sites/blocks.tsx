import type { BlockEventResponse, BlockGroup, BlockHistoryResponse, BlockVendor } from '@berth/contract';
import { call, callPage } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Badge } from '../../../ui/badge.tsx';
import { Chart } from '../../../ui/chart/chart.tsx';
import { SelectField } from '../../../ui/form/fields.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { List, Table, type Column } from '../../../ui/table.tsx';
import { numberText, wordsOf } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { usePages } from '../../../use-pages.ts';
import { OwnerLink, PageFrame, Panel, SiteLink, Stats, UsedFilters, shareText, slowRefreshMs } from '../parts.tsx';
import { useQuery } from '../../../query.ts';

const spans = [
  { value: '', label: '24 hours' },
  { value: '48', label: '2 days' },
  { value: '168', label: '7 days' },
  { value: '720', label: '30 days' },
];
const groups: readonly { value: BlockGroup; label: string }[] = [
  { value: 'vendor', label: 'Vendor' },
  { value: 'site', label: 'Site' },
  { value: 'type', label: 'Type' },
  { value: 'owner', label: 'Owner' },
];
/** An object, so that the compiler finds one that is missing. */
const isVendor: Readonly<Record<BlockVendor, true>> = {
  cloudflare: true,
  akamai: true,
  datadome: true,
  human: true,
  imperva: true,
  aws_waf: true,
  kasada: true,
  sucuri: true,
  f5: true,
  ddos_guard: true,
  reblaze: true,
  google: true,
  recaptcha: true,
  hcaptcha: true,
  turnstile: true,
  arkose: true,
  generic: true,
  unknown: true,
};
const vendors = Object.keys(isVendor).map((value) => ({ value }));
/** The filter that stands for one group. */
const filterOf = { vendor: 'vendor', site: 'domain', type: 'type', owner: 'owner' } as const satisfies Record<BlockGroup, string>;
/** More lines cannot be distinguished. */
const linesMax = 4;

const isGroup = (text: string | undefined): text is BlockGroup => groups.some(({ value }) => value === text);

export default function BlocksPage() {
  const { values, set } = useQuery({ hours: spans, by: groups, owner: 'text', domain: 'text', type: 'text', vendor: vendors });
  const { hours = '24', by, ...filters } = values;
  const group = isGroup(by) ? by : 'vendor';
  const inputs = [hours, group, ...Object.values(filters)];
  const live = useLive((signal) => call('blockHistory', { query: { ...filters, hours, by: group }, signal }), {
    everyMs: slowRefreshMs,
    inputs,
  });
  return (
    <PageFrame
      title="Blocks"
      about="Pages that sites refused to fetches and navigations, and whether a later attempt of the same task succeeded."
    >
      <div class="filter-fields">
        <SelectField label="Time" value={hours === '24' ? '' : hours} options={spans} onInput={(value) => set({ hours: value })} />
        <SelectField label="Grouped by" value={group} options={groups} onInput={(value) => set({ by: value })} />
      </div>
      <UsedFilters values={filters} onClear={(name) => set({ [name]: '' })} />
      <Loaded live={live} loading="Loading blocks">
        {(history) => <History history={history} onPick={(name) => set({ [filterOf[group]]: name })} />}
      </Loaded>
      <Events filters={filters} hours={Number(hours)} />
    </PageFrame>
  );
}

interface HistoryProps {
  history: BlockHistoryResponse;
  onPick: (name: string) => void;
}

function History({ history, onPick }: HistoryProps) {
  const { total, series, since, interval_seconds: seconds } = history;
  if (total.blocks === 0)
    return (
      <Empty icon="shield" title="No blocks">
        <p>In this time no site blocked a fetch or navigation that matches.</p>
      </Empty>
    );
  const timesMs = total.counts.map((_, index) => Date.parse(since) + index * seconds * 1000);
  const lines = series
    .slice(0, linesMax)
    .map(({ name, counts }) => ({ title: history.by === 'type' ? wordsOf(name) : name, values: counts }));
  return (
    <>
      <Panel title="Blocks over time">
        <Stats
          stats={[
            ['Blocks', numberText(total.blocks)],
            ['Resolved', shareText(total.resolved / total.blocks), `${numberText(total.resolved)} of them`],
          ]}
        />
        <Chart
          label={`Blocks over time by ${history.by}`}
          timesMs={timesMs}
          series={[...lines, ...(series.length > 1 ? [{ title: 'All', values: total.counts }] : [])]}
          kind={series.length > 1 ? 'line' : 'bars'}
        />
      </Panel>
      <Panel title={`By ${history.by}`}>
        <Groups history={history} onPick={onPick} />
      </Panel>
    </>
  );
}

function Groups({ history: { by, series, other }, onPick }: HistoryProps) {
  const columns: readonly Column<(typeof series)[number]>[] = [
    {
      title: wordsOf(by),
      cell: ({ name }) => (
        <button type="button" class="button" aria-label={`Only blocks of the ${by} ${name}`} onClick={() => onPick(name)}>
          {name}
        </button>
      ),
      text: ({ name }) => name,
    },
    { title: 'Blocks', cell: ({ blocks }) => numberText(blocks), text: ({ blocks }) => blocks, isNumber: true },
    {
      title: 'Resolved',
      cell: ({ blocks, resolved }) => shareText(resolved / blocks),
      text: ({ blocks, resolved }) => resolved / blocks,
      isNumber: true,
    },
  ];
  return (
    <>
      <Table caption={`Blocks by ${by}`} columns={columns} rows={series} keyOf={({ name }) => name} hasFilter={false} empty={null} />
      {other.blocks > 0 && <p class="muted">And {numberText(other.blocks)} blocks of smaller groups.</p>}
    </>
  );
}

const eventsMax = 500;

function Events({ filters, hours }: { filters: Partial<Record<string, string>>; hours: number }) {
  const { live, onMore } = usePages<BlockEventResponse>(
    ({ cursor, signal }) =>
      callPage('listBlocks', {
        query: { ...filters, since: Math.floor(Date.now() / 1000) - hours * 3600, limit: eventsMax, cursor },
        signal,
      }),
    { everyMs: slowRefreshMs, inputs: [hours, ...Object.values(filters)] },
  );
  return (
    <Panel title="The newest events">
      <List
        live={live}
        caption="Block events"
        name="main"
        columns={eventColumns}
        keyOf={({ event_id: id }) => id}
        onMore={onMore}
        empty={<p class="muted">No event matches.</p>}
      />
    </Panel>
  );
}

const eventColumns: readonly Column<BlockEventResponse>[] = [
  { title: 'When', cell: ({ created_at: at }) => <Time at={at} />, text: ({ created_at: at }) => at },
  { title: 'Site', cell: ({ owner, domain }) => <SiteLink owner={owner} domain={domain} />, text: ({ domain, url }) => `${domain} ${url}` },
  { title: 'Owner', cell: ({ owner }) => <OwnerLink owner={owner} />, text: ({ owner }) => owner },
  { title: 'Type', cell: ({ type }) => wordsOf(type), text: ({ type }) => type },
  { title: 'Vendor', cell: ({ vendor }) => vendor, text: ({ vendor }) => vendor },
  { title: 'Confidence', cell: ({ confidence }) => confidence, text: ({ confidence }) => confidence, isMinor: true },
  {
    title: 'Strategy',
    cell: ({ strategy, attempt }) => `${strategy}, attempt ${attempt}`,
    text: ({ strategy }) => strategy,
    isMinor: true,
  },
  { title: 'Status', cell: ({ status_code: status }) => status, text: ({ status_code: status }) => status, isNumber: true, isMinor: true },
  {
    title: 'Outcome',
    cell: ({ resolved_by: by }) => (by === null ? <Badge tone="bad">Unresolved</Badge> : <Badge tone="good">{`By ${by}`}</Badge>),
    text: ({ resolved_by: by }) => by ?? 'unresolved',
  },
];

import type { SiteHealthResponse, StrategiesResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import type { PageProps } from '../../../page-entry.ts';
import { Badge } from '../../../ui/badge.tsx';
import { Loaded } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { durationText, numberText, wordsOf } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { Note, OwnerLink, PageFrame, Panel, Stats, filtered, shareText, siteTones, slowRefreshMs } from '../parts.tsx';

export default function SitePage({ params: { owner = '', domain = '' } }: PageProps) {
  const live = useLive(
    async (signal) => {
      const [health, strategies] = await Promise.all([
        call('getSiteHealth', { params: { domain }, query: { owner }, signal }),
        call('getStrategies', { query: { owner, domain }, signal }),
      ]);
      return { health, strategies };
    },
    { everyMs: slowRefreshMs, inputs: [owner, domain] },
  );
  return (
    <PageFrame
      title={domain}
      about={
        <>
          As seen by <OwnerLink owner={owner} />.{' '}
          <a href={filtered('/operator/blocks', { owner, domain, hours: '168' })}>Blocks of the last week</a>
        </>
      }
    >
      <Loaded live={live} loading="Loading the site">
        {({ health, strategies }) => (
          <>
            <Health health={health} />
            <Strategies strategies={strategies} />
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

const Health = ({ health }: { health: SiteHealthResponse }) => (
  <>
    {health.cooldown_until !== null && (
      <Note tone="bad">
        The site is in a cooldown after {health.consecutive_blocks} blocks in a row. It is tried again <Time at={health.cooldown_until} />.
      </Note>
    )}
    <Panel title="Health">
      <Stats
        stats={[
          ['State', <Badge tone={siteTones[health.state]}>{wordsOf(health.state)}</Badge>],
          ['Success', shareText(health.success_rate) || 'no attempts', `${health.window.ok} of ${health.window.attempts} attempts`],
          ['Blocked', numberText(health.window.blocked), `${health.consecutive_blocks} in a row`],
          ['Failed', numberText(health.window.error)],
          ['Latency', health.avg_latency_ms === null ? 'unknown' : durationText(health.avg_latency_ms)],
          ['Last success', <Time at={health.last_ok_at} />],
          ['Last block', <Time at={health.last_block_at} />, [health.last_block_type, health.vendor].filter(Boolean).join(', ')],
        ]}
      />
    </Panel>
  </>
);

type Strategy = StrategiesResponse['strategies'][number];

const columnsFor = (current: string): readonly Column<Strategy>[] => [
  {
    title: 'Strategy',
    cell: ({ name, enabled }) => (
      <>
        {name} {name === current && <Badge tone="accent">Next</Badge>} {!enabled && <Badge>Not configured</Badge>}
      </>
    ),
    text: ({ name }) => name,
  },
  { title: 'Attempts', cell: ({ attempts }) => numberText(attempts), text: ({ attempts }) => attempts, isNumber: true },
  { title: 'Success', cell: ({ success_rate: rate }) => shareText(rate), text: ({ success_rate: rate }) => rate, isNumber: true },
  { title: 'Blocks', cell: ({ blocks }) => numberText(blocks), text: ({ blocks }) => blocks, isNumber: true },
  { title: 'Score', cell: ({ score }) => shareText(score), text: ({ score }) => score, isNumber: true, isMinor: true },
  {
    title: 'Latency',
    cell: ({ avg_latency_ms: ms }) => ms !== null && durationText(ms),
    text: ({ avg_latency_ms: ms }) => ms,
    isNumber: true,
    isMinor: true,
  },
  {
    title: 'Credits',
    cell: ({ avg_cost_credits: credits }) => credits !== null && numberText(credits),
    text: ({ avg_cost_credits: credits }) => credits,
    isNumber: true,
    isMinor: true,
  },
  { title: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} />, text: ({ last_used_at: at }) => at, isMinor: true },
];

const Strategies = ({ strategies }: { strategies: StrategiesResponse }) => (
  <Panel title="Strategies">
    <p class="muted">
      In the order in which they are tried. The score is the lower bound of what the success rate may be; the next task starts with{' '}
      <code>{strategies.current}</code>.
    </p>
    <Table
      caption="Strategies"
      columns={columnsFor(strategies.current)}
      rows={strategies.strategies}
      keyOf={({ name }) => name}
      hasFilter={false}
      empty={null}
    />
  </Panel>
);

import type { SiteHealthResponse } from '@berth/contract';
import { call, callPage } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Badge } from '../../../ui/badge.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { List, type Column } from '../../../ui/table.tsx';
import { durationText, numberText, wordsOf } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { usePages } from '../../../use-pages.ts';
import { FilterField } from '../filter-field.tsx';
import { OwnerLink, PageFrame, Panel, SiteLink, Stats, shareText, siteTones, slowRefreshMs } from '../parts.tsx';
import { useQuery } from '../../../query.ts';

/** Sites of a page. */
const sitesMax = 500;

export default function SitesPage() {
  const { values, set } = useQuery({ owner: 'text' });
  const { owner } = values;
  const overview = useLive((signal) => call('selfHealOverview', { signal }), { everyMs: slowRefreshMs });
  const { live, onMore } = usePages<SiteHealthResponse>(
    ({ cursor, signal }) => callPage('listSiteHealth', { query: { owner, cursor, limit: sitesMax }, signal }),
    { everyMs: slowRefreshMs, inputs: [owner] },
  );
  return (
    <PageFrame title="Site health" about="How the last 50 attempts at each site went, for each owner. The worst come first.">
      <Panel title="The last 24 hours">
        <Loaded live={overview} loading="Loading the summary">
          {({ totals, heal_rate: rate, cooldowns, selector_heals: heals, skills }) => (
            <Stats
              stats={[
                ['Attempts', numberText(totals.attempts), `${numberText(totals.ok)} succeeded, ${numberText(totals.error)} failed`],
                ['Blocked', numberText(totals.blocked)],
                ['Tasks healed', shareText(rate) || 'none blocked', `${totals.healed} of ${totals.healed + totals.unresolved}`],
                ['Sites in a cooldown', numberText(cooldowns)],
                ['Selectors healed', numberText(heals.verified + heals.unverified), `${heals.verified} confirmed, ${heals.failed} failed`],
                ['Skills', numberText(skills.active), `${skills.quarantined} quarantined`],
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <div class="filter-fields">
        <FilterField label="Owner" value={owner} onChange={(value) => set({ owner: value })} />
      </div>
      <List
        live={live}
        caption="Sites"
        name="main"
        columns={columns}
        keyOf={(site) => `${site.owner} ${site.domain}`}
        onMore={onMore}
        empty={
          <Empty icon="globe" title="No sites yet">
            <p>A site is listed after the first fetch or navigation to it.</p>
          </Empty>
        }
      />
    </PageFrame>
  );
}

const columns: readonly Column<SiteHealthResponse>[] = [
  { title: 'Site', cell: ({ owner, domain }) => <SiteLink owner={owner} domain={domain} />, text: ({ domain }) => domain },
  { title: 'Owner', cell: ({ owner }) => <OwnerLink owner={owner} />, text: ({ owner }) => owner },
  { title: 'State', cell: ({ state }) => <Badge tone={siteTones[state]}>{wordsOf(state)}</Badge>, text: ({ state }) => state },
  { title: 'Success', cell: ({ success_rate: rate }) => shareText(rate), text: ({ success_rate: rate }) => rate, isNumber: true },
  {
    title: 'Attempts',
    cell: ({ window }) => numberText(window.attempts),
    text: ({ window }) => window.attempts,
    isNumber: true,
    isMinor: true,
  },
  { title: 'Vendor', cell: ({ vendor }) => vendor, text: ({ vendor }) => vendor, isMinor: true },
  { title: 'Last block', cell: ({ last_block_at: at }) => <Time at={at} />, text: ({ last_block_at: at }) => at },
  { title: 'Best strategy', cell: ({ best_strategy: best }) => best, text: ({ best_strategy: best }) => best, isMinor: true },
  {
    title: 'Latency',
    cell: ({ avg_latency_ms: ms }) => ms !== null && durationText(ms),
    text: ({ avg_latency_ms: ms }) => ms,
    isNumber: true,
    isMinor: true,
  },
];

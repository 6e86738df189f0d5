import type { OwnerItemResponse, PlanResponse } from '@berth/contract';
import { call, callPage } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Badge } from '../../../ui/badge.tsx';
import { SelectField } from '../../../ui/form/fields.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { List, Table, type Column } from '../../../ui/table.tsx';
import { durationText, numberText, sizeText } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { FilterField } from '../filter-field.tsx';
import { OwnerLink, PageFrame, Panel, slowRefreshMs, isTrial } from '../parts.tsx';
import { useQuery } from '../../../query.ts';
import { usePages } from '../../../use-pages.ts';

export default function OwnersPage() {
  const plans = useLive((signal) => call('listPlans', { signal }));
  const tiers = [{ value: '', label: 'All plans' }, ...(plans.data ?? []).map((plan) => ({ value: plan.tier, label: plan.tier }))];
  const { values, set } = useQuery({ search: 'text', tier: plans.data ? tiers : 'text' });
  const { search, tier } = values;
  const list = usePages(({ cursor, signal }) => callPage('listOwners', { query: { search, tier, cursor }, signal }), {
    everyMs: slowRefreshMs,
    inputs: [search, tier],
  });
  return (
    <PageFrame
      title="Owners"
      about="Organisations that sessions, keys, usage and credits belong to. Open one for its usage, credits, keys and plan."
    >
      <div class="filter-fields">
        <FilterField label="Id contains" value={search} onChange={(value) => set({ search: value })} />
        <SelectField label="Plan" value={tier ?? ''} options={tiers} onInput={(value) => set({ tier: value })} />
      </div>
      <List
        live={list.live}
        caption="Owners"
        name="main"
        columns={columns}
        keyOf={({ owner }) => owner}
        hasFilter={false}
        onMore={list.onMore}
        empty={
          <Empty icon="list" title="No owner matches">
            <p>Owners are created with their first API key or credits.</p>
          </Empty>
        }
      />
      <Panel title="Plans">
        <Loaded live={plans} loading="Loading plans">
          {(rows) => <Table caption="Plans" columns={planColumns} rows={rows} keyOf={(plan) => plan.tier} hasFilter={false} empty={null} />}
        </Loaded>
      </Panel>
    </PageFrame>
  );
}

const columns: readonly Column<OwnerItemResponse>[] = [
  { title: 'Owner', cell: ({ owner }) => <OwnerLink owner={owner} />, text: ({ owner }) => owner },
  {
    title: 'Plan',
    cell: ({ tier, plan }) => (
      <>
        {tier} {isTrial(tier, plan) && <Badge tone="accent">Trial</Badge>}
      </>
    ),
    text: ({ tier }) => tier,
  },
  { title: 'Credits', cell: ({ balance }) => numberText(balance), text: ({ balance }) => balance, isNumber: true },
  { title: 'Created', cell: ({ created_at: at }) => <Time at={at} />, text: ({ created_at: at }) => at, isMinor: true },
];

const limitText = (limit: number | null, text: (value: number) => string = numberText): string =>
  limit === null ? 'unlimited' : text(limit);

const planColumns: readonly Column<PlanResponse>[] = [
  {
    title: 'Plan',
    cell: (plan) => (
      <>
        {plan.tier} {plan.default && <Badge tone="accent">Default</Badge>}
      </>
    ),
  },
  { title: 'Owners', cell: ({ owners }) => numberText(owners), isNumber: true },
  {
    title: 'Sessions at once',
    cell: (plan) => (plan.concurrency_limit === null ? 'as many as run' : numberText(plan.concurrency_limit)),
    isNumber: true,
  },
  { title: 'Actions', cell: ({ limits }) => limitText(limits.actions), isNumber: true, isMinor: true },
  { title: 'Traffic', cell: ({ limits }) => limitText(limits.egress_bytes, sizeText), isNumber: true, isMinor: true },
  {
    title: 'Browser time',
    cell: ({ limits }) => limitText(limits.browser_seconds, (seconds) => durationText(seconds * 1000)),
    isNumber: true,
    isMinor: true,
  },
  { title: 'Captchas', cell: ({ limits }) => limitText(limits.captcha_solves), isNumber: true, isMinor: true },
  {
    title: 'Limits',
    cell: (plan) => (!plan.enforced ? 'not enforced' : plan.overage_allowed ? 'may be exceeded' : 'enforced'),
    isMinor: true,
  },
];

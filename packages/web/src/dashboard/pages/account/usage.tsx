import { useSignal } from '@preact/signals';
import type { UsageResponse } from '@berth/contract';
import { call } from '../../api.ts';
import { useLive } from '../../live.ts';
import { Badge } from '../../ui/badge.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { SelectField } from '../../ui/form/fields.tsx';
import { Loaded, Skeleton } from '../../ui/states.tsx';
import { dateTimeText, numberText } from '../../ui/values/texts.ts';
import { axes, axisTitles, dayMs, nearlyAll, usageByAxis, valuesOf, type Axis, type AxisUsage } from './usage-series.ts';
import { valueTexts } from './usage-texts.ts';
import './account.css';

const dayText = (ms: number): string => new Date(ms).toLocaleDateString(undefined, { dateStyle: 'medium' });

const refreshMs = 10_000;
const ranges = [7, 31, 92, 184] as const;

export default function UsagePage() {
  const live = useLive((signal) => call('getUsage', { query: { days: 31 }, signal }), { everyMs: refreshMs });
  return (
    <div class="page">
      <div class="page-head">
        <h1>Usage</h1>
        {live.data && <Badge tone="accent">Plan {live.data.tier}</Badge>}
      </div>
      <Loaded live={live} skeleton={<UsageSkeleton />}>
        {(usage) => (
          <>
            <PlanNote usage={usage} />
            <ul class="usage-cards" aria-label={`Usage in ${usage.month}`}>
              {usageByAxis(usage, Date.now()).map((each) => (
                <Meter key={each.axis} usage={each} isEnforced={usage.enforced && !usage.overage_allowed} />
              ))}
            </ul>
          </>
        )}
      </Loaded>
      <ByDay />
    </div>
  );
}

/** As high as what comes, so that what is below does not move. */
const UsageSkeleton = () => (
  <>
    <Skeleton label="Loading your usage" />
    <ul class="usage-cards" aria-hidden="true">
      {axes.map((axis) => (
        <li key={axis} class="panel usage-card">
          <h2>{axisTitles[axis]}</h2>
          <span class="figure skeleton">&nbsp;</span>
          <span class="skeleton" />
        </li>
      ))}
    </ul>
  </>
);

/** What the limits mean for this owner, in words. */
const PlanNote = ({ usage }: { usage: UsageResponse }) => (
  <p class="muted">
    {!usage.enforced
      ? 'Everything is counted; nothing is limited. '
      : usage.overage_allowed
        ? 'Usage goes on beyond the limits. '
        : 'Calls are refused when a limit is reached. '}
    The month ends on <time dateTime={usage.resets_at}>{dateTimeText(usage.resets_at)}</time>. Up to {numberText(usage.concurrency_limit)}{' '}
    {usage.concurrency_limit === 1 ? 'session' : 'sessions'} at once.
    {usage.trial_ends_at && (
      <>
        {' '}
        The trial ends on <time dateTime={usage.trial_ends_at}>{dateTimeText(usage.trial_ends_at)}</time>.
      </>
    )}
  </p>
);

function Meter({ usage: { axis, used, limit, share, forecast }, isEnforced }: { usage: AxisUsage; isEnforced: boolean }) {
  const text = valueTexts[axis];
  const isNear = limit !== 0 && share !== null && share >= nearlyAll;
  const isOver = limit !== 0 && share !== null && share >= 1;
  return (
    <li class="panel usage-card" data-state={isOver ? 'over' : isNear ? 'near' : 'fine'}>
      <h2>{axisTitles[axis]}</h2>
      <p class="figure">{text(used)}</p>
      {limit !== null && limit > 0 && (
        <progress value={Math.min(used, limit)} max={limit} aria-label={`${axisTitles[axis]} used of the limit`}>
          {text(used)} of {text(limit)}
        </progress>
      )}
      <p class="muted">{limitText({ axis, limit, used })}</p>
      {isNear && <Badge tone={isOver ? 'bad' : 'warn'}>{isOver ? (isEnforced ? 'Used up' : 'Over the limit') : 'Nearly used up'}</Badge>}
      {forecast !== null && forecast > used && <p class="muted">About {text(forecast)} by the end of the month</p>}
    </li>
  );
}

function limitText({ axis, limit, used }: Pick<AxisUsage, 'axis' | 'limit' | 'used'>): string {
  if (limit === null) return axis === 'sessions' ? 'Created this month' : 'No limit';
  const text = valueTexts[axis];
  if (limit === 0) return 'Not part of this plan';
  return `${text(Math.max(0, limit - used))} left of ${text(limit)}`;
}

function ByDay() {
  const axis = useSignal<Axis>('actions');
  const count = useSignal(31);
  const live = useLive((signal) => call('getUsage', { query: { days: count.value }, signal }), {
    everyMs: refreshMs,
    inputs: [count.value],
  });
  const title = axisTitles[axis.value];
  return (
    <section class="panel" aria-labelledby="by-day">
      <div class="page-head">
        <h2 id="by-day">By day</h2>
        <div class="row">
          <SelectField
            label="Show"
            value={axis.value}
            options={axes.map((value) => ({ value, label: axisTitles[value] }))}
            onInput={(value) => (axis.value = value as Axis)}
          />
          <SelectField
            label="Days"
            value={String(count.value)}
            options={ranges.map((range) => ({ value: String(range), label: `Last ${range} days` }))}
            onInput={(value) => (count.value = Number(value))}
          />
        </div>
      </div>
      <Loaded live={live} skeleton={<Skeleton label="Loading the days" class="usage-chart-skeleton" />}>
        {({ days = [] }) => (
          <Chart
            label={`${title} on each of the last ${days.length} days`}
            kind="bars"
            timesMs={days.map(({ day }) => dayMs(day))}
            series={[{ title, values: valuesOf(days, axis.value) }]}
            timeText={dayText}
            valueText={valueTexts[axis.value]}
          />
        )}
      </Loaded>
      <p class="muted">Days are those of UTC, as for the limits.</p>
    </section>
  );
}

import type { EconomicsResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Loaded } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { numberText, sizeText } from '../../../ui/values/texts.ts';
import { Note, OwnerLink, PageFrame, Panel, Stats, slowRefreshMs } from '../parts.tsx';

export default function EconomicsPage() {
  const live = useLive((signal) => call('economics', { signal }), { everyMs: slowRefreshMs });
  return (
    <PageFrame
      title="Economics"
      about="Revenue, cost and margin of the current month in UTC, from what meters have counted and from your prices."
    >
      <Loaded live={live} loading="Loading economics">
        {(economics) => <Content economics={economics} />}
      </Loaded>
    </PageFrame>
  );
}

type Money = (amount: number) => string;

const moneyIn = (currency: string | null): Money => {
  if (currency === null) return numberText;
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency, signDisplay: 'negative' });
  return (amount) => format.format(amount);
};
const marginText = (percent: number | null): string => (percent === null ? 'no revenue' : `${numberText(percent)} %`);

function Content({ economics }: { economics: EconomicsResponse }) {
  const money = moneyIn(economics.currency);
  const { by_plan: plans, by_owner: owners } = economics;
  return (
    <>
      {economics.currency === null && (
        <Note tone="warn">
          There is no price file, so all amounts are 0. Name one with <code>BERTH_PRICES_FILE</code>; the{' '}
          <a href="/docs/operations">guide</a> shows what is in it.
        </Note>
      )}
      <div class="operator-columns">
        <Totals economics={economics} money={money} />
        <Usage economics={economics} money={money} />
      </div>
      <Panel title="By plan">
        <Table
          caption="Economics by plan"
          columns={[
            { title: 'Plan', cell: ({ tier }) => tier, text: ({ tier }) => tier },
            { title: 'Owners', cell: ({ owners: count }) => numberText(count), text: ({ owners: count }) => count, isNumber: true },
            ...amountColumns<EconomicsResponse['by_plan'][number]>(money),
          ]}
          rows={plans}
          keyOf={({ tier }) => tier}
          hasFilter={false}
          empty={<p class="muted">No owner has had revenue or usage in this month.</p>}
        />
      </Panel>
      <Panel title="By owner">
        <p class="muted">The 50 owners with the highest cost.</p>
        <Table
          caption="Economics by owner"
          columns={[
            { title: 'Owner', cell: ({ owner }) => <OwnerLink owner={owner} />, text: ({ owner }) => owner },
            { title: 'Plan', cell: ({ tier }) => tier, text: ({ tier }) => tier },
            ...amountColumns<EconomicsResponse['by_owner'][number]>(money),
          ]}
          rows={owners}
          keyOf={({ owner }) => owner}
          empty={<p class="muted">No owner has had revenue or usage in this month.</p>}
        />
      </Panel>
      <Panel title="Assumptions">
        <ul class="operator-list">
          {economics.assumptions.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </Panel>
    </>
  );
}

interface PartProps {
  economics: EconomicsResponse;
  money: Money;
}

const Totals = ({ economics: { month, revenue, cost, margin, margin_pct: percent, forecast }, money }: PartProps) => (
  <Panel title={`The month ${month}`}>
    <Stats
      stats={[
        ['Revenue', money(revenue.total), `${money(revenue.subscriptions)} subscriptions, ${money(revenue.credits)} credits`],
        ['Cost', money(cost.total), `of which ${money(cost.fixed)} fixed`],
        ['Margin', money(margin), marginText(percent)],
        ['Forecast, revenue', money(forecast.revenue), 'for the whole month'],
        ['Forecast, cost', money(forecast.cost)],
        ['Forecast, margin', money(forecast.margin), marginText(forecast.margin_pct)],
      ]}
    />
  </Panel>
);

const Usage = ({ economics: { usage, cost, credits, currency }, money }: PartProps) => {
  /** Nothing where no prices are known: a lone 0 says that it costs nothing. */
  const costText = (name: string, amount: number) => currency !== null && `${name}: ${money(amount)}`;
  return (
    <Panel title="Usage and its cost">
      <Stats
        stats={[
          ['Browser hours', numberText(usage.vm_hours), costText('Cost', cost.vm_hours)],
          ['Traffic, direct', sizeText(usage.egress_bytes.direct), costText('Cost of all traffic', cost.egress)],
          ['Traffic, managed', sizeText(usage.egress_bytes.managed)],
          ['Traffic, rotating', sizeText(usage.egress_bytes.rotating)],
          ['Captchas', numberText(usage.captcha_solves), costText('Cost', cost.captcha)],
          ['Credits spent', numberText(credits.spent), `${numberText(credits.granted)} granted, ${numberText(credits.redeemed)} redeemed`],
        ]}
      />
    </Panel>
  );
};

type Amounts = Pick<EconomicsResponse['by_owner'][number], 'revenue' | 'cost' | 'margin' | 'margin_pct'>;

const amountColumns = <T extends Amounts>(money: Money): readonly Column<T>[] => [
  { title: 'Revenue', cell: ({ revenue }) => money(revenue.total), text: ({ revenue }) => revenue.total, isNumber: true },
  { title: 'Cost', cell: ({ cost }) => money(cost.total), text: ({ cost }) => cost.total, isNumber: true },
  { title: 'Margin', cell: ({ margin }) => money(margin), text: ({ margin }) => margin, isNumber: true },
  {
    title: 'Margin, %',
    cell: ({ margin_pct: percent }) => percent,
    text: ({ margin_pct: percent }) => percent,
    isNumber: true,
    isMinor: true,
  },
];

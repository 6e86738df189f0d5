import { useSignal } from '@preact/signals';
import type { CreditEntry } from '@berth/contract';
import { call, callPage, type Page, type Reply } from '../../api.ts';
import { hrefOf } from '../../href.ts';
import { useLive } from '../../live.ts';
import { useQuery } from '../../query.ts';
import { Amount } from '../../ui/values/amount.tsx';
import { Badge } from '../../ui/badge.tsx';
import { SelectField } from '../../ui/form/fields.tsx';
import { saveFile } from '../../ui/values/save-file.ts';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Time } from '../../ui/values/time.tsx';
import { toastError, toasts } from '../../ui/toasts.ts';
import { CodeForm } from './code-form.tsx';
import { groupEntries, toCsv, type Grouping, type LedgerGroup } from './ledger-groups.ts';
import './account.css';

const refreshMs = 10_000;
/** Credits are exact to the millionth. */
const credits = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

export default function CreditsPage() {
  const live = useLive((signal) => call('getCredits', { signal }), { everyMs: refreshMs });
  const changes = useSignal(0);
  const changed = async (): Promise<void> => {
    changes.value += 1;
    await live.reload();
  };
  return (
    <div class="page">
      <h1>Credits</h1>
      <Loaded live={live} loading="Reading your balance">
        {(wallet) => (
          <div class="columns">
            <Wallet wallet={wallet} />
            <Redeem onRedeemed={changed} />
          </div>
        )}
      </Loaded>
      <Ledger key={changes.value} />
    </div>
  );
}

const Wallet = ({ wallet: { balance, enforced, cost } }: { wallet: Reply<'getCredits'> }) => (
  <section class="panel" aria-labelledby="balance">
    <div class="page-head">
      <h2 id="balance">Balance</h2>
      {enforced && balance <= 0 && <Badge tone="bad">Empty</Badge>}
    </div>
    <p class="figure">
      <Amount credits={balance} />
    </p>
    <p class="muted">
      {enforced
        ? 'Calls that cost more than is left are refused.'
        : 'Credits are counted and not required: nothing is refused when the balance is zero.'}
    </p>
    <dl class="prices">
      <Price what="Action" credits={cost.action} />
      <Price what="Session" credits={cost.session} />
      <Price what="Captcha solved" credits={cost.captcha} />
      <Price what="Megabyte of traffic" credits={cost.egress_mb} />
    </dl>
  </section>
);

const Price = ({ what, credits: price }: { what: string; credits: number }) => (
  <div>
    <dt>{what}</dt>
    <dd>{credits.format(price)}</dd>
  </div>
);

function Redeem({ onRedeemed }: { onRedeemed: () => Promise<void> }) {
  const redeem = async (code: string): Promise<void> => {
    const { granted, balance } = await call('redeemCredits', { body: { code } });
    toasts.show(`${credits.format(granted)} credits added. The balance is ${credits.format(balance)}.`);
    await onRedeemed();
  };
  return (
    <CodeForm
      id="redeem"
      title="Redeem a code"
      label="Credit code"
      hint="From the operator of this service. Each code works once; upper and lower case and dashes do not matter."
      action="Redeem"
      isMain
      redeem={redeem}
    />
  );
}

const typeTexts: Record<CreditEntry['type'], string> = {
  grant: 'Granted by the operator',
  correction: 'Corrected by the operator',
  code: 'Code redeemed',
  action: 'Actions',
  session: 'Session',
  captcha: 'Captchas',
  egress: 'Traffic',
};

const columns: readonly Column<CreditEntry>[] = [
  { title: 'Time', cell: ({ at }) => <Time at={at} />, text: ({ at }) => at },
  { title: 'Entry', cell: ({ type }) => typeTexts[type], text: ({ type }) => typeTexts[type] },
  {
    title: 'Session',
    isMinor: true,
    cell: ({ session_id: id }) => id && <SessionLink id={id} />,
    text: ({ session_id: id }) => id,
  },
  { title: 'Credits', isNumber: true, cell: ({ amount }) => <Amount credits={amount} isSigned />, text: ({ amount }) => amount },
  { title: 'Balance', isNumber: true, cell: ({ balance }) => <Amount credits={balance} />, text: ({ balance }) => balance },
];

const SessionLink = ({ id }: { id: string }) => (
  <a href={hrefOf(`/sessions/${encodeURIComponent(id)}`)} title={id}>
    <code>{id.slice(0, 14)}…</code>
  </a>
);

const groupColumns = (by: Grouping): readonly Column<LedgerGroup>[] => [
  by === 'day'
    ? { title: 'Day (UTC)', cell: ({ key }) => key, text: ({ key }) => key }
    : {
        title: 'Session',
        cell: ({ key }) => (key === '' ? <span class="muted">No session</span> : <SessionLink id={key} />),
        text: ({ key }) => key,
      },
  { title: 'Entries', isNumber: true, isMinor: true, cell: ({ entries }) => entries, text: ({ entries }) => entries },
  { title: 'Added', isNumber: true, cell: ({ added }) => <Amount credits={added} />, text: ({ added }) => added },
  { title: 'Used', isNumber: true, cell: ({ taken }) => <Amount credits={taken} />, text: ({ taken }) => taken },
];

const views = [
  { value: '', label: 'Each entry' },
  { value: 'day', label: 'By day' },
  { value: 'session', label: 'By session' },
];
const groupings: readonly string[] = ['day', 'session'] satisfies Grouping[];
const isGrouping = (text: string | undefined): text is Grouping => text !== undefined && groupings.includes(text);

/** Entries of a file: the newest. */
const csvEntriesMax = 10_000;

async function saveCsv(): Promise<void> {
  const entries: CreditEntry[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null && entries.length < csvEntriesMax) {
    const page: Page<CreditEntry[]> = await callPage('listCreditEntries', { query: { cursor, limit: 500 } });
    entries.push(...page.items);
    cursor = page.nextCursor;
  }
  saveFile(new Blob([toCsv(entries)], { type: 'text/csv' }), 'credits.csv');
  if (cursor !== null) toasts.show(`The file has the newest ${entries.length.toLocaleString()} entries.`);
}

function Ledger() {
  const { values, set } = useQuery({ by: views });
  const isSaving = useSignal(false);
  const later = useSignal<readonly CreditEntry[]>([]);
  /** Cursor of the page after those that were read; undefined before the second. */
  const cursor = useSignal<string | null | undefined>(undefined);
  const live = useLive((signal) => callPage('listCreditEntries', { signal }));
  const more = async (): Promise<void> => {
    const next = cursor.value ?? live.data?.nextCursor;
    try {
      const page = await callPage('listCreditEntries', { query: { cursor: next ?? undefined } });
      later.value = [...later.value, ...page.items];
      cursor.value = page.nextCursor;
    } catch (failure) {
      toastError(failure);
    }
  };
  return (
    <section class="panel" aria-labelledby="ledger">
      <div class="page-head">
        <h2 id="ledger">Ledger</h2>
        <div class="table-tools">
          <SelectField label="Show" value={values.by ?? ''} options={views} onInput={(by) => set({ by })} />
          <button type="button" class="button" disabled={isSaving.value} onClick={() => void save()}>
            {isSaving.value ? 'Reading all entries' : 'Save as CSV'}
          </button>
          <button type="button" class="button" onClick={() => void reset()}>
            Reload
          </button>
        </div>
      </div>
      <Loaded live={live} loading="Reading the ledger">
        {({ items, nextCursor }) => {
          const rows = [...items, ...later.value];
          const onMore = (cursor.value === undefined ? nextCursor : cursor.value) === null ? null : more;
          const empty = (
            <Empty icon="coins" title="No entries">
              <p>Credits that are added and charges of your calls appear here, newest first.</p>
            </Empty>
          );
          const { by } = values;
          if (!isGrouping(by))
            return (
              <Table
                caption="Entries of the ledger"
                columns={columns}
                rows={rows}
                keyOf={({ entry_id: id }) => id}
                empty={empty}
                onMore={onMore}
              />
            );
          return (
            <>
              <Table
                caption={`Credits by ${by}`}
                columns={groupColumns(by)}
                rows={groupEntries(rows, by)}
                keyOf={({ key }) => key}
                empty={empty}
                onMore={onMore}
              />
              {onMore && <p class="hint">Sums of the newest {rows.length} entries. “Load more” adds older ones.</p>}
            </>
          );
        }}
      </Loaded>
    </section>
  );

  async function save(): Promise<void> {
    isSaving.value = true;
    await saveCsv().catch(toastError);
    isSaving.value = false;
  }

  function reset(): Promise<void> {
    later.value = [];
    cursor.value = undefined;
    return live.reload();
  }
}

import { useSignal } from '@preact/signals';
import type { OwnerResponse } from '@berth/contract';
import { call, callPage } from '../../../api.ts';
import { hrefOf } from '../../../href.ts';
import { useLive, type Live } from '../../../live.ts';
import type { PageProps } from '../../../page-entry.ts';
import { Badge } from '../../../ui/badge.tsx';
import { Confirm, Dialog } from '../../../ui/dialog.tsx';
import { SelectField } from '../../../ui/form/fields.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { dateTimeText, durationText, numberText, sizeText } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { openLink } from '../../../ui/values/open-link.ts';
import { toasts } from '../../../ui/toasts.ts';
import { CreateKey } from './create-key.tsx';
import { SendForm } from '../form.tsx';
import { GrantCredits } from './grant.tsx';
import { KeyTable } from './key-table.tsx';
import { Note, PageFrame, Panel, Stats, filtered, slowRefreshMs, type Stat, isTrial } from '../parts.tsx';
import { Placement } from '../sites/pin.tsx';
import { usePages } from '../../../use-pages.ts';

/** The tab uses the link at once. */
const linkSeconds = 60;

export default function OwnerPage({ params: { owner = '' } }: PageProps) {
  const live = useLive((signal) => call('getOwner', { params: { owner }, signal }), { everyMs: slowRefreshMs, inputs: [owner] });
  if (live.error?.code === 'owner_not_found') return <NoOwner owner={owner} />;
  return (
    <PageFrame
      title={owner}
      actions={live.data && <OpenAs owner={owner} />}
      about={
        <>
          <a href={filtered('/operator/sessions', { owner, status: 'all' })}>Sessions</a> ·{' '}
          <a href={filtered('/operator/sites', { owner })}>Sites</a> ·{' '}
          <a href={filtered('/operator/blocks', { owner, hours: '168' })}>Blocks</a> ·{' '}
          <a href={filtered('/operator/audit', { owner })}>Audit log</a>
        </>
      }
    >
      <Loaded live={live} loading="Loading the owner">
        {(data) => (
          <>
            <div class="operator-columns">
              <Credits owner={data} live={live} />
              <Plan owner={data} live={live} />
            </div>
            <Placement owner={data} live={live} />
            <Usage owner={data} />
            <Keys owner={owner} />
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

const NoOwner = ({ owner }: { owner: string }) => (
  <PageFrame title="Owner">
    <Empty icon="list" title="There is no such owner">
      <p>
        No owner has the id <bdi>{owner}</bdi>. Owners are created with their first API key or credits.
      </p>
      <a class="button" href={hrefOf('/operator/owners')}>
        All owners
      </a>
    </Empty>
  </PageFrame>
);

/** Signs in as the owner in a tab of its own, by a link that the audit log names. */
function OpenAs({ owner }: { owner: string }) {
  const isAsking = useSignal(false);
  const open = (): Promise<void> =>
    openLink(async () => (await call('createSignInLink', { body: { owner, ttl_seconds: linkSeconds } })).url);
  return (
    <>
      <button type="button" class="button" onClick={() => (isAsking.value = true)}>
        Open as this customer
      </button>
      <Confirm
        title={`Open as ${owner}?`}
        text="A new tab is signed in as this customer, with an API key that expires after a day: what you do there is done and charged as the customer. The audit log says that you opened it."
        action="Open the tab"
        isOpen={isAsking.value}
        onClose={() => (isAsking.value = false)}
        onConfirm={open}
      />
    </>
  );
}

interface PartProps {
  owner: OwnerResponse;
  live: Live<OwnerResponse>;
}

function Credits({ owner: { owner, credits }, live }: PartProps) {
  const isGranting = useSignal(false);
  return (
    <Panel
      title="Credits"
      actions={
        <button type="button" class="button button-main" onClick={() => (isGranting.value = true)}>
          Grant or correct
        </button>
      }
    >
      {credits.balance <= 0 && credits.enforced && <Note tone="bad">The wallet is empty: calls that cost credits are refused.</Note>}
      <Stats
        stats={[
          [
            'Balance',
            numberText(credits.balance),
            credits.enforced ? 'Calls are refused when it is empty.' : 'An empty wallet refuses nothing.',
          ],
          ['Price of an action', numberText(credits.cost.action)],
          ['Price of a session', numberText(credits.cost.session)],
          ['Price of a megabyte', numberText(credits.cost.egress_mb)],
          ['Price of a captcha', numberText(credits.cost.captcha)],
        ]}
      />
      <Dialog title={`Credits of ${owner}`} isOpen={isGranting.value} onClose={() => (isGranting.value = false)}>
        <GrantCredits
          owner={owner}
          balance={credits.balance}
          onGranted={async () => {
            isGranting.value = false;
            await live.reload();
          }}
        />
      </Dialog>
    </Panel>
  );
}

function Plan({ owner: { owner, created_at: at, plan, usage }, live }: PartProps) {
  const isChanging = useSignal(false);
  return (
    <Panel
      title="Plan"
      actions={
        <button type="button" class="button" onClick={() => (isChanging.value = true)}>
          Change the plan
        </button>
      }
    >
      <Stats
        stats={[
          ['In effect', usage.tier, isTrial(usage.tier, plan) && <Badge tone="accent">Trial</Badge>],
          ['Plan', plan.tier],
          ['Trial', plan.trial_tier ?? 'none', plan.trial_ends_at && <>until {dateTimeText(plan.trial_ends_at)}</>],
          ['Sessions at once', numberText(usage.concurrency_limit)],
          ['Owner since', <Time at={at} />],
        ]}
      />
      <Dialog title={`Plan of ${owner}`} isOpen={isChanging.value} onClose={() => (isChanging.value = false)}>
        <ChangePlan
          owner={owner}
          current={plan.tier}
          onChanged={async () => {
            isChanging.value = false;
            await live.reload();
          }}
        />
      </Dialog>
    </Panel>
  );
}

function ChangePlan({ owner, current, onChanged }: { owner: string; current: string; onChanged: () => Promise<void> }) {
  const plans = useLive((signal) => call('listPlans', { signal }));
  const tier = useSignal(current);
  const send = async (): Promise<void> => {
    await call('updateOwner', { params: { owner }, body: { tier: tier.value } });
    toasts.show(`${owner} is on the plan ${tier.value}.`);
    await onChanged();
  };
  return (
    <Loaded live={plans} loading="Loading plans">
      {(list) => (
        <SendForm action="Set the plan" onSend={send}>
          <SelectField
            label="Plan"
            value={tier.value}
            options={list.map((plan) => ({ value: plan.tier, label: plan.tier }))}
            onInput={(value) => (tier.value = value)}
          />
          <p>
            The limits of <strong>{tier.value}</strong> apply from the next request on, and a running trial ends. Sessions that are open
            stay open. Later events of the payment provider can change the plan again.
          </p>
        </SendForm>
      )}
    </Loaded>
  );
}

const asTime = (seconds: number): string => durationText(seconds * 1000);

function Usage({ owner: { usage } }: { owner: OwnerResponse }) {
  const { usage: used, limits } = usage;
  const stat = (name: string, axis: keyof typeof limits, text: (value: number) => string): Stat => {
    const limit = limits[axis];
    if (limit === null || limit === 0) return [name, text(used[axis]), limit === null ? 'unlimited' : 'not part of the plan'];
    return [name, text(used[axis]), <Share used={used[axis]} limit={limit} label={name} text={text(limit)} />];
  };
  return (
    <Panel title={`Usage in ${usage.month}`}>
      <p class="muted">
        {usage.enforced ? 'The limits of the plan apply.' : 'The limits of the plan are not enforced.'} The month ends{' '}
        {dateTimeText(usage.resets_at)}.
      </p>
      <Stats
        stats={[
          ['Sessions', numberText(used.sessions)],
          stat('Actions', 'actions', numberText),
          stat('Traffic', 'egress_bytes', sizeText),
          stat('Browser time', 'browser_seconds', asTime),
          stat('Captchas', 'captcha_solves', numberText),
        ]}
      />
    </Panel>
  );
}

const warnAt = 0.8;

function Share({ used, limit, label, text }: { used: number; limit: number; label: string; text: string }) {
  const share = Math.min(1, used / limit);
  return (
    <>
      of {text}
      <meter
        class="operator-meter"
        min={0}
        max={1}
        high={warnAt}
        low={warnAt}
        optimum={0}
        value={share}
        aria-label={`${label}, share of the limit`}
      />
    </>
  );
}

function Keys({ owner }: { owner: string }) {
  const isCreating = useSignal(false);
  const list = usePages(({ cursor, signal }) => callPage('listKeys', { query: { owner, cursor }, signal }), { inputs: [owner] });
  return (
    <Panel
      title="API keys"
      actions={
        <button type="button" class="button" onClick={() => (isCreating.value = true)}>
          Create a key
        </button>
      }
    >
      <Loaded live={list.live} loading="Loading keys">
        {(keys) => <KeyTable list={list} keys={keys} empty={<p class="muted">This owner has no key.</p>} />}
      </Loaded>
      <Dialog title={`Create a key for ${owner}`} isOpen={isCreating.value} onClose={() => (isCreating.value = false)}>
        <CreateKey owner={owner} onCreated={() => list.live.reload()} />
      </Dialog>
    </Panel>
  );
}

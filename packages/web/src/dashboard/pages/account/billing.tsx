import type { DashboardConfig } from '@berth/contract';
import { call } from '../../api.ts';
import { config } from '../../config.ts';
import { has } from '../../sign-in/credentials.ts';
import { useLive } from '../../live.ts';
import { hrefOf } from '../../href.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty, ErrorNote } from '../../ui/states.tsx';
import { dateTimeText, durationText, numberText, sizeText } from '../../ui/values/texts.ts';
import { toasts } from '../../ui/toasts.ts';
import { useSending } from '../../ui/form/use-sending.ts';
import { CodeForm } from './code-form.tsx';
import './account.css';

type Plan = DashboardConfig['plans'][number];

export default function BillingPage() {
  const hasKey = has('key');
  const usage = useLive((signal) => call('getUsage', { signal }), { isEnabled: hasKey });
  const { tier, trial_ends_at: trialEndsAt } = usage.data ?? {};
  return (
    <div class="page">
      <div class="page-head">
        <h1>Billing</h1>
        {tier && <Badge tone="accent">Plan {tier}</Badge>}
      </div>
      {trialEndsAt && <p class="muted">The trial of this plan ends on {dateTimeText(trialEndsAt)}.</p>}
      {!hasKey && (
        <p class="muted">
          Your plan is on <a href={hrefOf('/usage')}>Usage</a>, which needs an API key of your organisation.
        </p>
      )}
      {config.value && (config.value.features.billing ? <Plans plans={config.value.plans} current={tier} /> : <NotSold />)}
      <Promo onRedeemed={() => usage.reload()} />
    </div>
  );
}

const NotSold = () => (
  <div class="panel">
    <Empty icon="file" title="Plans are not sold on this service">
      <p>
        The operator sets your plan. What it allows, and what is left of it, is on <a href={hrefOf('/usage')}>Usage</a>.
      </p>
    </Empty>
  </div>
);

/** Only pages of the payment provider are opened, in this tab. */
function open(address: string): void {
  if (new URL(address).protocol !== 'https:' && new URL(address).hostname !== '127.0.0.1')
    throw new Error('The payment page has no safe address.');
  location.assign(address);
}

function Plans({ plans, current }: { plans: readonly Plan[]; current: string | undefined }) {
  const back = `${location.origin}${hrefOf('/billing')}`;
  const { isSending: isOpening, error, send } = useSending();
  const go = (create: () => Promise<{ url: string }>): Promise<void> =>
    send(async () => {
      open((await create()).url);
    });
  return (
    <section class="page-part" aria-labelledby="plans">
      <div class="page-head">
        <h2 id="plans">Plans</h2>
        <button
          type="button"
          class="button"
          disabled={isOpening}
          onClick={() => void go(() => call('billingPortal', { body: { return_url: back } }))}
        >
          Manage plan and invoices
        </button>
      </div>
      {error && <ErrorNote error={error} />}
      {plans.length === 0 && <p class="muted">The operator has given no plan a price yet.</p>}
      <ul class="columns">
        {plans.map((plan) => (
          <li key={plan.tier} class="panel">
            <div class="page-head">
              <h3>{plan.tier}</h3>
              {plan.tier === current && <Badge tone="good">Your plan</Badge>}
            </div>
            <PlanLimits plan={plan} />
            <div class="row">
              <button
                type="button"
                class="button button-main"
                disabled={isOpening || plan.tier === current}
                onClick={() => void go(() => call('checkout', { body: { tier: plan.tier, success_url: back, cancel_url: back } }))}
              >
                Buy {plan.tier}
              </button>
            </div>
          </li>
        ))}
      </ul>
      <p class="muted">Payment is on the pages of the payment provider. Its confirmation changes your plan, usually within seconds.</p>
    </section>
  );
}

const orUnlimited = (value: number | null, text: (value: number) => string): string => (value === null ? 'unlimited' : text(value));

const PlanLimits = ({ plan: { concurrency_limit: sessions, max_session_seconds: seconds, limits } }: { plan: Plan }) => (
  <ul class="plan-limits">
    <li>Sessions at once: {sessions === null ? 'as many as the service runs' : numberText(sessions)}</li>
    <li>Longest session: {durationText(seconds * 1000)}</li>
    <li>Actions a month: {orUnlimited(limits.actions, numberText)}</li>
    <li>Traffic a month: {orUnlimited(limits.egress_bytes, sizeText)}</li>
    <li>Browser time a month: {orUnlimited(limits.browser_seconds, (value) => durationText(value * 1000))}</li>
    <li>Captchas a month: {orUnlimited(limits.captcha_solves, numberText)}</li>
  </ul>
);

function Promo({ onRedeemed }: { onRedeemed: () => Promise<void> }) {
  const redeem = async (code: string): Promise<void> => {
    const { tier, trial_ends_at: endsAt } = await call('redeemPromo', { body: { code } });
    toasts.show(`The trial of ${tier} runs until ${dateTimeText(endsAt)}.`);
    await onRedeemed();
  };
  return (
    <CodeForm
      id="promo"
      title="Try a plan with a code"
      label="Promo code"
      hint="Starts a trial. Your plan before it applies again afterwards. A credit code is redeemed on Credits."
      action="Start the trial"
      redeem={redeem}
    />
  );
}

import { useSignal, type Signal } from '@preact/signals';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { CodeBlock } from '../../../ui/values/copy.tsx';
import { SelectField, TextField } from '../../../ui/form/fields.tsx';
import { Loaded } from '../../../ui/states.tsx';
import { AuditTable } from './audit-table.tsx';
import { SendForm } from '../form.tsx';
import { PageFrame, Panel } from '../parts.tsx';

export default function CodesPage() {
  const codes = useSignal<readonly string[]>([]);
  const made = useLive(async (signal) => {
    const lists = await Promise.all(
      (['credit_codes.made', 'promo_codes.made'] as const).map((action) => call('listAudit', { query: { action, limit: 50 }, signal })),
    );
    return lists.flat().toSorted((one, other) => other.entry_id - one.entry_id);
  });
  const show = async (created: readonly string[] | null): Promise<void> => {
    codes.value = created ?? [];
    await made.reload();
  };
  return (
    <PageFrame
      title="Codes"
      about="Codes that owners redeem once: for credits, or for the trial of a plan. To give credits to one owner, or to correct them, open the owner."
    >
      {codes.value.length > 0 && (
        <Panel title={codes.value.length === 1 ? 'The new code' : `The ${codes.value.length} new codes`}>
          <p>They are shown now and never again: only their digests are stored.</p>
          <div class="operator-codes">
            <CodeBlock text={codes.value.join('\n')} label="the codes" />
          </div>
        </Panel>
      )}
      <div class="operator-columns">
        <CreditCodes onCreated={show} />
        <PromoCodes onCreated={show} />
      </div>
      <Panel title="Created codes">
        <Loaded live={made} loading="Loading what was created">
          {(entries) => <AuditTable entries={entries} empty={<p class="muted">No codes have been created yet.</p>} />}
        </Loaded>
      </Panel>
    </PageFrame>
  );
}

interface CodesProps {
  onCreated: (codes: readonly string[] | null) => Promise<void>;
}

interface NumberFieldProps {
  label: string;
  text: Signal<string>;
  max: number;
  isRequired?: boolean;
  hint?: string;
  step?: number | 'any';
}

const NumberField = ({ label, text, max, isRequired = false, hint, step = 1 }: NumberFieldProps) => (
  <TextField
    label={label}
    type="number"
    min={step === 1 ? 1 : 0.000001}
    max={max}
    step={step}
    isRequired={isRequired}
    hint={hint}
    value={text.value}
    onInput={(value) => (text.value = value)}
  />
);

const numberOf = (text: Signal<string>): number | null => (text.value === '' ? null : Number(text.value));

function CreditCodes({ onCreated }: CodesProps) {
  const amount = useSignal('');
  const count = useSignal('1');
  const days = useSignal('');
  const send = async (): Promise<void> => {
    const body = { amount: Number(amount.value), count: Number(count.value), expires_in_days: numberOf(days) };
    await onCreated((await call('createCreditCodes', { body })).codes);
  };
  return (
    <Panel title="Credit codes">
      <SendForm action="Create credit codes" onSend={send} isReady={amount.value !== ''}>
        <NumberField label="Credits per code" text={amount} max={1_000_000_000} isRequired step="any" />
        <NumberField label="Number of codes" text={count} max={1000} isRequired />
        <NumberField label="Days until they expire" text={days} max={3650} hint="Without a number, never." />
      </SendForm>
    </Panel>
  );
}

function PromoCodes({ onCreated }: CodesProps) {
  const plans = useLive((signal) => call('listPlans', { signal }));
  const tier = useSignal('');
  const trial = useSignal('14');
  const count = useSignal('1');
  const days = useSignal('');
  const send = async (): Promise<void> => {
    const body = { tier: tier.value, trial_days: Number(trial.value), count: Number(count.value), expires_in_days: numberOf(days) };
    await onCreated((await call('createPromoCodes', { body })).codes);
  };
  const options = [{ value: '', label: 'Choose a plan' }, ...(plans.data ?? []).map((plan) => ({ value: plan.tier, label: plan.tier }))];
  return (
    <Panel title="Promo codes">
      <SendForm action="Create promo codes" onSend={send} isReady={tier.value !== ''}>
        <SelectField label="Plan to try" value={tier.value} options={options} onInput={(value) => (tier.value = value)} />
        <NumberField label="Days of the trial" text={trial} max={365} isRequired />
        <NumberField label="Number of promo codes" text={count} max={1000} isRequired />
        <NumberField label="Days until the codes expire" text={days} max={3650} hint="Without a number, never." />
      </SendForm>
    </Panel>
  );
}

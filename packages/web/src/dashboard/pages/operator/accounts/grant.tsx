import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { call } from '../../../api.ts';
import { SelectField, TextField } from '../../../ui/form/fields.tsx';
import { numberText } from '../../../ui/values/texts.ts';
import { toasts } from '../../../ui/toasts.ts';
import { SendForm } from '../form.tsx';

const acts = [
  { value: 'grant', label: 'Add credits' },
  { value: 'correct', label: 'Take credits back' },
];

interface GrantCreditsProps {
  owner: string;
  balance: number;
  onGranted: () => Promise<void>;
}

/** Adds credits, or takes them back. One key for all tries of one form: a lost reply never grants twice. */
export function GrantCredits({ owner, balance, onGranted }: GrantCreditsProps) {
  const act = useSignal('grant');
  const text = useSignal('');
  const note = useSignal('');
  const sent = useRef<{ body: string; key: string } | null>(null);
  const amount = Number(text.value) * (act.value === 'correct' ? -1 : 1);
  const isReady = text.value !== '' && amount !== 0;
  const send = async (): Promise<void> => {
    const body = { owner, amount, note: note.value.trim() || null };
    const same = JSON.stringify(body);
    if (sent.current?.body !== same) sent.current = { body: same, key: crypto.randomUUID() };
    const reply = await call('grantCredits', { body, headers: { 'idempotency-key': sent.current.key } });
    toasts.show(`${owner} has ${numberText(reply.balance)} credits.`);
    await onGranted();
  };
  return (
    <SendForm
      action={act.value === 'grant' ? 'Add credits' : 'Take credits back'}
      onSend={send}
      isReady={isReady}
      isDanger={act.value !== 'grant'}
    >
      <SelectField label="What to do" value={act.value} options={acts} onInput={(value) => (act.value = value)} />
      <TextField
        label="Credits"
        type="number"
        min={0.000001}
        max={1_000_000_000}
        step="any"
        isRequired
        hint={`The balance is ${numberText(balance)}.`}
        value={text.value}
        onInput={(value) => (text.value = value)}
      />
      <TextField label="Note" hint="For the audit log." value={note.value} onInput={(value) => (note.value = value)} />
      {isReady && (
        <p>
          The balance becomes {numberText(balance + amount)}, less what is charged meanwhile.
          {amount < 0 && ' At most what is available is taken back; an owner with too little gets an error here.'}
        </p>
      )}
    </SendForm>
  );
}

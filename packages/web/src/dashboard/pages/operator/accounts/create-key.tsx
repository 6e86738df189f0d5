import { useSignal } from '@preact/signals';
import { call } from '../../../api.ts';
import { CodeBlock } from '../../../ui/values/copy.tsx';
import { TextField } from '../../../ui/form/fields.tsx';
import { SendForm } from '../form.tsx';

interface CreateKeyProps {
  /** The owner that the key is for; absent: it is entered. */
  owner?: string;
  onCreated: () => Promise<void>;
}

/** Creates a key for an owner, and shows it once. */
export function CreateKey({ owner: fixed, onCreated }: CreateKeyProps) {
  const owner = useSignal(fixed ?? '');
  const name = useSignal('');
  const days = useSignal('');
  const created = useSignal<string | null>(null);
  const send = async (): Promise<void> => {
    const { key } = await call('createKey', {
      body: { owner: owner.value.trim(), name: name.value.trim() || null, expires_in_days: days.value === '' ? null : Number(days.value) },
    });
    created.value = key;
    await onCreated();
  };
  if (created.value !== null)
    return (
      <>
        <p>
          This is the key of <strong>{owner.value}</strong>. It is shown now and never again: copy it, and pass it on over a safe channel.
        </p>
        <CodeBlock text={created.value} label="the API key" />
      </>
    );
  return (
    <SendForm action="Create the key" onSend={send} isReady={owner.value.trim() !== ''}>
      {fixed === undefined && (
        <TextField
          label="Owner"
          isRequired
          hint="It is created if it does not exist."
          value={owner.value}
          onInput={(value) => (owner.value = value)}
        />
      )}
      <TextField label="Name" hint="What the key is for." value={name.value} onInput={(value) => (name.value = value)} />
      <TextField
        label="Days until it expires"
        type="number"
        min={1}
        max={3650}
        step={1}
        hint="Without a number, never."
        value={days.value}
        onInput={(value) => (days.value = value)}
      />
    </SendForm>
  );
}

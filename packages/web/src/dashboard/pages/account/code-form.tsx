import { useSignal } from '@preact/signals';
import { TextField } from '../../ui/form/fields.tsx';
import { ErrorNote } from '../../ui/states.tsx';
import { useSending } from '../../ui/form/use-sending.ts';

interface CodeFormProps {
  id: string;
  title: string;
  label: string;
  hint: string;
  action: string;
  isMain?: boolean;
  /** The field is emptied when it succeeds. */
  redeem: (code: string) => Promise<void>;
}

/** Redeems a code. */
export function CodeForm({ id, title, label, hint, action, isMain = false, redeem }: CodeFormProps) {
  const code = useSignal('');
  const { isSending, error, send } = useSending();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void send(async () => {
      await redeem(code.value.trim());
      code.value = '';
    });
  };
  return (
    <form class="panel" aria-labelledby={id} onSubmit={submit}>
      <h2 id={id}>{title}</h2>
      <TextField label={label} hint={hint} isRequired value={code.value} onInput={(value) => (code.value = value)} />
      {error && <ErrorNote error={error} />}
      <div class="row">
        <button type="submit" class={isMain ? 'button button-main' : 'button'} disabled={isSending || code.value.trim() === ''}>
          {isSending ? 'Redeeming' : action}
        </button>
      </div>
    </form>
  );
}

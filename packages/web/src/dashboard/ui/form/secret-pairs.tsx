import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { TextField } from './fields.tsx';
import { Icon } from '../icons.tsx';

interface SecretPairsProps {
  label: string;
  hint: ComponentChildren;
  error: string | undefined;
  value: unknown;
  onChange: (value: unknown) => void;
}

interface Pair {
  /** Key of the row in the list, so that it keeps its fields when one before it is removed. */
  id: number;
  name: string;
  secret: string;
}

/** Names and secrets, which are typed as passwords are. */
export function SecretPairs({ label, hint, error, value, onChange }: SecretPairsProps) {
  const pairs = useSignal(toPairs(value));
  const change = (next: readonly Pair[]) => {
    pairs.value = next;
    const entered = next.filter(({ name }) => name.trim() !== '');
    onChange(entered.length > 0 ? Object.fromEntries(entered.map(({ name, secret }) => [name.trim(), secret])) : undefined);
  };
  const edit = (id: number, fields: Partial<Pair>) => change(pairs.value.map((pair) => (pair.id === id ? { ...pair, ...fields } : pair)));
  const add = () => change([...pairs.value, { id: Math.max(-1, ...pairs.value.map(({ id }) => id)) + 1, name: '', secret: '' }]);
  return (
    <fieldset class="form-group">
      <legend>{label}</legend>
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="field-error">{error}</p>}
      {pairs.value.map(({ id, name, secret }, index) => (
        <div key={id} class="form-pair">
          <TextField label={`Name ${index + 1}`} value={name} onInput={(text) => edit(id, { name: text })} />
          <TextField
            label={`Value ${index + 1}`}
            type="password"
            autoComplete="new-password"
            value={secret}
            onInput={(text) => edit(id, { secret: text })}
          />
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove ${name || `pair ${index + 1}`}`}
            onClick={() => change(pairs.value.filter((pair) => pair.id !== id))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <div class="row">
        <button type="button" class="button" onClick={add}>
          <Icon name="plus" />
          Add to {label.toLowerCase()}
        </button>
      </div>
    </fieldset>
  );
}

const toPairs = (value: unknown): readonly Pair[] =>
  Object.entries((value ?? {}) as Record<string, unknown>).map(([name, secret], id) => ({ id, name, secret: String(secret) }));

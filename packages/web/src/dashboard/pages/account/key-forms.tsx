/** Forms that create a key, and the one place that shows it. */
import { useSignal } from '@preact/signals';
import type { Key } from '@berth/contract';
import type { ComponentChildren } from 'preact';
import { call, type Reply } from '../../api.ts';
import { has, signIn } from '../../sign-in/credentials.ts';
import { CopyButton } from '../../ui/values/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/form/fields.tsx';
import { ErrorNote } from '../../ui/states.tsx';
import { dateTimeText } from '../../ui/values/texts.ts';
import { toasts } from '../../ui/toasts.ts';
import { useSending } from '../../ui/form/use-sending.ts';

export type NewKeyReply = Reply<'createOwnKey'>;

/** The new key, until it is dismissed: nothing returns it again. */
export function NewKey({ created: { key, name, expires_at: expiresAt }, onDone }: { created: NewKeyReply; onDone: () => void }) {
  if (key === null) return null;
  const isNew = !has('key');
  return (
    <section class="panel" role="status" aria-labelledby="new-key">
      <h2 id="new-key">Copy your new key now</h2>
      <p>
        It is shown this once.{' '}
        {name && (
          <>
            It is named <bdi>{name}</bdi>.{' '}
          </>
        )}
        {expiresAt ? `It expires on ${dateTimeText(expiresAt)}.` : 'It does not expire.'}
      </p>
      <p class="secret">
        <code data-secret>{key}</code>
        <CopyButton text={key} what="the key" />
      </p>
      <div class="row">
        <button
          type="button"
          class={isNew ? 'button button-main' : 'button'}
          onClick={() => {
            signIn('key', key, { expiresAt });
            toasts.show('This tab now uses the new key.');
            onDone();
          }}
        >
          Use it in this tab
        </button>
        <button type="button" class="button" onClick={onDone}>
          I have copied it
        </button>
      </div>
    </section>
  );
}

interface FormProps<T> {
  onClose: () => void;
  onCreated: (created: T) => Promise<void>;
}

const lifetimes = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
];

interface CreateProps<T> extends FormProps<T> {
  title: string;
  action: string;
  isOpen: boolean;
  create: (body: { name?: string; expires_in_days?: number }) => Promise<T>;
}

/** Asks for the name and the lifetime of a key or a token. */
export function CreateCredential<T>({ create, ...props }: CreateProps<T>) {
  const name = useSignal('');
  const days = useSignal('');
  const send = async (): Promise<T> => {
    const created = await create({
      ...(name.value.trim() ? { name: name.value.trim() } : {}),
      ...(days.value ? { expires_in_days: Number(days.value) } : {}),
    });
    name.value = '';
    return created;
  };
  return (
    <CredentialDialog create={send} {...props}>
      <TextField
        label="Name"
        hint="Where it is used, such as “ci” or “laptop”. Up to 64 characters; it may stay empty."
        value={name.value}
        onInput={(value) => (name.value = value)}
      />
      <SelectField label="Expires" value={days.value} options={lifetimes} onInput={(value) => (days.value = value)} />
    </CredentialDialog>
  );
}

const graces = [
  { value: '0', label: 'At once' },
  { value: '3600', label: 'In an hour' },
  { value: '86400', label: 'In a day' },
  { value: '604800', label: 'In 7 days' },
];

export function RotateKey({ rotated, ...props }: FormProps<NewKeyReply> & { rotated: Key | null }) {
  const grace = useSignal('3600');
  const create = (): Promise<NewKeyReply> =>
    call('rotateOwnKey', { params: { key_id: rotated?.key_id ?? '' }, body: { grace_seconds: Number(grace.value) } });
  return (
    <CredentialDialog title="Rotate the key" action="Create the new key" isOpen={rotated !== null} create={create} {...props}>
      <p>A new key with the same name replaces the old one.</p>
      <SelectField
        label="The old key stops working"
        hint="Replace it everywhere before then. Its connect tokens and view links end with it."
        value={grace.value}
        options={graces}
        onInput={(value) => (grace.value = value)}
      />
    </CredentialDialog>
  );
}

interface DialogProps<T> extends FormProps<T> {
  title: string;
  action: string;
  isOpen: boolean;
  create: () => Promise<T>;
  children: ComponentChildren;
}

function CredentialDialog<T>({ title, action, isOpen, create, onClose, onCreated, children }: DialogProps<T>) {
  const { isSending, error, send, forget } = useSending();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void send(async () => onCreated(await create()));
  };
  const close = (): void => {
    forget();
    onClose();
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close}>
      <form class="form" onSubmit={submit}>
        {children}
        {error && <ErrorNote error={error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button button-main" disabled={isSending}>
            {isSending ? 'Creating' : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

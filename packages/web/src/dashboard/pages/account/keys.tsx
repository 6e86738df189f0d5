import { useSignal } from '@preact/signals';
import type { Key } from '@berth/contract';
import { call, callPage } from '../../api.ts';
import { useLive } from '../../live.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { wordsOf } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { toastError, toasts } from '../../ui/toasts.ts';
import { CreateCredential, NewKey, RotateKey, type NewKeyReply } from './key-forms.tsx';
import './account.css';

const refreshMs = 30_000;
const tones: Record<Key['status'], Tone> = { active: 'good', revoked: 'neutral', expired: 'warn' };

export const nameOf = ({ name, last4 }: Key): string => name ?? `Key …${last4}`;

/** What is open over the list. */
type Open = { form: 'create' } | { form: 'rotate' | 'revoke'; key: Key } | null;

export default function KeysPage() {
  const open = useSignal<Open>(null);
  const created = useSignal<NewKeyReply | null>(null);
  const later = useSignal<readonly Key[]>([]);
  const cursor = useSignal<string | null | undefined>(undefined);
  const live = useLive((signal) => callPage('listOwnKeys', { signal }), { everyMs: refreshMs });
  const close = (): void => {
    open.value = null;
  };
  const show = async (key: NewKeyReply): Promise<void> => {
    created.value = key;
    close();
    await reload();
  };
  const current = open.value;
  return (
    <div class="page">
      <div class="page-head">
        <h1>API keys</h1>
        <button type="button" class="button button-main" onClick={() => (open.value = { form: 'create' })}>
          Create a key
        </button>
      </div>
      <p class="muted">
        Programs call the service with an API key. Keys belong to your organisation; everybody who signs in for it sees them here.
      </p>
      {created.value && <NewKey created={created.value} onDone={() => (created.value = null)} />}
      <Loaded live={live} loading="Reading your keys">
        {({ items, nextCursor }) => (
          <Table
            caption="API keys"
            columns={columnsOf((next) => (open.value = next))}
            rows={[...items, ...later.value]}
            keyOf={({ key_id: id }) => id}
            empty={
              <Empty icon="key" title="No API keys">
                <p>Create the first one. It is shown once; the service stores only a hash of it.</p>
              </Empty>
            }
            onMore={(cursor.value === undefined ? nextCursor : cursor.value) === null ? null : more}
          />
        )}
      </Loaded>
      <CreateCredential
        title="Create an API key"
        action="Create the key"
        isOpen={current?.form === 'create'}
        create={(body) => call('createOwnKey', { body })}
        onClose={close}
        onCreated={show}
      />
      <RotateKey rotated={current?.form === 'rotate' ? current.key : null} onClose={close} onCreated={show} />
      <Confirm
        title="Revoke the key"
        text={
          current?.form === 'revoke' && (
            <>
              Requests with <bdi>{nameOf(current.key)}</bdi> are refused from now on, and its open connections are closed. This cannot be
              undone.
            </>
          )
        }
        action="Revoke the key"
        isOpen={current?.form === 'revoke'}
        onClose={close}
        onConfirm={async () => {
          if (current?.form !== 'revoke') return;
          await call('revokeOwnKey', { params: { key_id: current.key.key_id } });
          toasts.show('The key is revoked.');
          await reload();
        }}
      />
    </div>
  );

  async function more(): Promise<void> {
    try {
      const page = await callPage('listOwnKeys', { query: { cursor: cursor.value ?? live.data?.nextCursor ?? undefined } });
      later.value = [...later.value, ...page.items];
      cursor.value = page.nextCursor;
    } catch (failure) {
      toastError(failure);
    }
  }

  function reload(): Promise<void> {
    later.value = [];
    cursor.value = undefined;
    return live.reload();
  }
}

const columnsOf = (onOpen: (open: Open) => void): readonly Column<Key>[] => [
  { title: 'Name', cell: (key) => <bdi class="cell-text">{nameOf(key)}</bdi>, text: nameOf },
  {
    title: 'Key',
    isMinor: true,
    cell: ({ prefix, last4 }) => (
      <code>
        {prefix}…{last4}
      </code>
    ),
    text: ({ last4 }) => last4,
  },
  { title: 'Status', cell: ({ status }) => <Badge tone={tones[status]}>{wordsOf(status)}</Badge>, text: ({ status }) => status },
  { title: 'Last used', isMinor: true, cell: ({ last_used_at: at }) => <Time at={at} />, text: ({ last_used_at: at }) => at },
  { title: 'Expires', isMinor: true, cell: ({ expires_at: at }) => <Time at={at} />, text: ({ expires_at: at }) => at },
  {
    title: 'Created by',
    isMinor: true,
    cell: ({ created_by: by }) => <bdi class="cell-text">{by.replace(/^login:/, '')}</bdi>,
    text: ({ created_by: by }) => by,
  },
  {
    title: 'Actions',
    cell: (key) =>
      key.status === 'active' && (
        <span class="row key-actions">
          <button type="button" class="button" aria-label={`Rotate ${nameOf(key)}`} onClick={() => onOpen({ form: 'rotate', key })}>
            Rotate
          </button>
          <button type="button" class="button" aria-label={`Revoke ${nameOf(key)}`} onClick={() => onOpen({ form: 'revoke', key })}>
            Revoke
          </button>
        </span>
      ),
  },
];

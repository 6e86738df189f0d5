/** API keys of owners, with revoke. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { call, type Reply } from '../../../api.ts';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { wordsOf } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { toasts } from '../../../ui/toasts.ts';
import { OwnerLink, filtered } from '../parts.tsx';
import type { Pages } from '../../../use-pages.ts';

type ApiKey = Reply<'listKeys'>[number];

interface KeyTableProps {
  list: Pages<ApiKey>;
  keys: readonly ApiKey[];
  empty: ComponentChildren;
}

export function KeyTable({ list, keys, empty }: KeyTableProps) {
  const revoked = useSignal<ApiKey | null>(null);
  const revoke = async (): Promise<void> => {
    if (!revoked.value) return;
    await call('revokeKey', { params: { key_id: revoked.value.key_id } });
    toasts.show(`The key …${revoked.value.last4} of ${revoked.value.owner} is revoked.`);
    await list.live.reload();
  };
  return (
    <>
      <Table
        caption="API keys"
        columns={columnsFor((key) => (revoked.value = key))}
        rows={keys}
        keyOf={({ key_id: id }) => id}
        onMore={list.onMore}
        empty={empty}
      />
      <Confirm
        title="Revoke this key?"
        text={
          revoked.value && (
            <>
              The key{' '}
              {revoked.value.name && (
                <strong>
                  <bdi>{revoked.value.name}</bdi>{' '}
                </strong>
              )}
              ending in <code>{revoked.value.last4}</code> of <strong>{revoked.value.owner}</strong> stops working with the next request,
              and its open connections close within a second. Its sessions keep running. This cannot be undone: the owner needs a new key.
            </>
          )
        }
        action="Revoke the key"
        isOpen={revoked.value !== null}
        onClose={() => (revoked.value = null)}
        onConfirm={revoke}
      />
    </>
  );
}

const tones: Record<ApiKey['status'], Tone> = { active: 'good', revoked: 'bad', expired: 'neutral' };

const columnsFor = (onRevoke: (key: ApiKey) => void): readonly Column<ApiKey>[] => [
  {
    title: 'Key',
    cell: ({ prefix, last4 }) => (
      <code>
        {prefix}…{last4}
      </code>
    ),
    text: ({ last4 }) => last4,
  },
  { title: 'Owner', cell: ({ owner }) => <OwnerLink owner={owner} />, text: ({ owner }) => owner },
  { title: 'Name', cell: ({ name }) => name, text: ({ name }) => name, isMinor: true },
  { title: 'Status', cell: ({ status }) => <Badge tone={tones[status]}>{wordsOf(status)}</Badge>, text: ({ status }) => status },
  { title: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} />, text: ({ last_used_at: at }) => at },
  { title: 'Expires', cell: ({ expires_at: at }) => <Time at={at} />, text: ({ expires_at: at }) => at },
  { title: 'Created', cell: ({ created_at: at }) => <Time at={at} />, text: ({ created_at: at }) => at, isMinor: true },
  { title: 'Created by', cell: ({ created_by: by }) => by, text: ({ created_by: by }) => by, isMinor: true },
  {
    title: 'Actions',
    cell: (key) => (
      <div class="row">
        <a
          class="button"
          href={filtered('/operator/audit', { actor: `key:${key.key_id}` })}
          aria-label={`Audit log of the key ${key.last4}`}
        >
          Audit log
        </a>
        {key.status === 'active' && (
          <button type="button" class="button button-danger" aria-label={`Revoke the key ${key.last4}`} onClick={() => onRevoke(key)}>
            Revoke
          </button>
        )}
      </div>
    ),
  },
];

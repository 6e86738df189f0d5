import type { AuditAction } from '@berth/contract';
import { callPage } from '../../../api.ts';
import { SelectField } from '../../../ui/form/fields.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { FilterField } from '../filter-field.tsx';
import { AuditTable } from './audit-table.tsx';
import { PageFrame, UsedFilters, slowRefreshMs } from '../parts.tsx';
import { useQuery } from '../../../query.ts';
import { usePages } from '../../../use-pages.ts';

/** All of them: a missing one is a type error. */
const actions: Record<AuditAction, string> = {
  'key.created': 'Key created',
  'key.rotated': 'Key rotated',
  'key.revoked': 'Key revoked',
  'sign_in_link.created': 'Sign-in link created',
  'connect_token.created': 'Connect token created',
  'connect_token.revoked': 'Connect token revoked',
  'credits.granted': 'Credits granted',
  'credits.corrected': 'Credits corrected',
  'credits.redeemed': 'Credits redeemed',
  'credit_codes.made': 'Credit codes created',
  'promo_codes.made': 'Promo codes created',
  'promo.redeemed': 'Promo code redeemed',
  'tier.changed': 'Plan changed',
  'billing.payment_failed': 'Payment failed',
  'session.created': 'Session created',
  'session.ended': 'Session ended',
  'tunnel.opened': 'Tunnel opened',
  'profile.created': 'Profile created',
  'profile.deleted': 'Profile deleted',
  'pool.resized': 'Pool resized',
  'worker.cordoned': 'Worker cordoned',
  'worker.uncordoned': 'Worker uncordoned',
  'worker.drained': 'Worker drained',
  'owner.pinned': 'Owner pinned',
  'owner.unpinned': 'Owner unpinned',
};

const actionChoices = [{ value: '', label: 'All actions' }, ...Object.entries(actions).map(([value, label]) => ({ value, label }))];

const dayMs = 86_400_000;
const spans = [
  { value: '', label: 'Any time' },
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
];

export default function AuditPage() {
  const { values, set } = useQuery({ owner: 'text', actor: 'text', action: actionChoices, subject: 'text', days: spans });
  const { owner, actor, action, subject, days } = values;
  const list = usePages(
    ({ cursor, signal }) => {
      const since = days === undefined ? undefined : Math.floor((Date.now() - Number(days) * dayMs) / 1000);
      return callPage('listAudit', { query: { owner, actor, action, subject, since, cursor }, signal });
    },
    { everyMs: slowRefreshMs, inputs: [owner, actor, action, subject, days] },
  );
  return (
    <PageFrame
      title="Audit log"
      about="Who changed keys, credits, plans, sessions and the pool. Entries cannot be changed, hold no secrets, and stay for at least a year."
    >
      <div class="filter-fields">
        <FilterField label="Owner" value={owner} onChange={(value) => set({ owner: value })} />
        <FilterField label="Who" placeholder="operator, key:KEY_ID" value={actor} onChange={(value) => set({ actor: value })} />
        <FilterField label="Subject" placeholder="KEY_ID, SESSION_ID" value={subject} onChange={(value) => set({ subject: value })} />
        <SelectField label="Action" value={action ?? ''} options={actionChoices} onInput={(value) => set({ action: value })} />
        <SelectField label="Time" value={days ?? ''} options={spans} onInput={(value) => set({ days: value })} />
      </div>
      <UsedFilters values={values} onClear={(name) => set({ [name]: '' })} />
      <Loaded live={list.live} loading="Loading entries">
        {(entries) => (
          <AuditTable
            entries={entries}
            onMore={list.onMore}
            empty={
              <Empty icon="file" title="No entry matches">
                <p>Remove a filter to see more.</p>
              </Empty>
            }
          />
        )}
      </Loaded>
    </PageFrame>
  );
}

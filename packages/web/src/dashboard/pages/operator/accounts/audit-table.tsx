import type { AuditEntryResponse } from '@berth/contract';
import { Fragment, type ComponentChildren } from 'preact';
import { Table, type Column } from '../../../ui/table.tsx';
import { clockTimeText, dateText } from '../../../ui/values/texts.ts';
import { OwnerLink, filtered } from '../parts.tsx';

interface AuditTableProps {
  entries: readonly AuditEntryResponse[];
  empty: ComponentChildren;
  onMore?: (() => Promise<void>) | null;
}

export const AuditTable = ({ entries, empty, onMore = null }: AuditTableProps) => (
  <Table
    caption="Audit entries"
    columns={columns}
    rows={entries}
    keyOf={({ entry_id: id }) => String(id)}
    rowsPerPage={50}
    onMore={onMore}
    empty={empty}
  />
);

const detailsText = (details: Record<string, unknown>): string =>
  Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');

const columns: readonly Column<AuditEntryResponse>[] = [
  {
    title: 'When',
    // On a phone the day is above the time.
    cell: ({ at }) => (
      <time class="audit-time" dateTime={at}>
        <span>{dateText(at)}</span> <span>{clockTimeText(at)}</span>
      </time>
    ),
    text: ({ at }) => at,
  },
  {
    title: 'Action',
    cell: ({ action }) => (
      <code class="audit-action">
        {action.split('.').map((part, index) => (
          <Fragment key={part}>
            {index > 0 && <wbr />}
            {index > 0 && '.'}
            {part}
          </Fragment>
        ))}
      </code>
    ),
    text: ({ action }) => action,
  },
  {
    title: 'Who',
    cell: ({ actor, owner }) => (
      <>
        <a href={filtered('/operator/audit', { actor })} aria-label={`Entries of ${actor}`}>
          {actor}
        </a>
        {owner !== null && (
          <span class="audit-owner">
            Owner <OwnerLink owner={owner} />
          </span>
        )}
      </>
    ),
    text: ({ actor }) => actor,
  },
  { title: 'Owner', cell: ({ owner }) => owner !== null && <OwnerLink owner={owner} />, text: ({ owner }) => owner, isMinor: true },
  {
    title: 'Subject',
    cell: ({ subject }) =>
      subject !== null && (
        <a href={filtered('/operator/audit', { subject })} aria-label={`Entries about ${subject}`}>
          <code>{subject}</code>
        </a>
      ),
    text: ({ subject }) => subject,
    isMinor: true,
  },
  { title: 'Details', cell: ({ details }) => detailsText(details), text: ({ details }) => detailsText(details), isMinor: true },
];

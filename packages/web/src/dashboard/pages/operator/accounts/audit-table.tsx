import type { AuditEntryResponse } from '@berth/contract';
import type { ComponentChildren } from 'preact';
import { Table, type Column } from '../../../ui/table.tsx';
import { dateTimeText } from '../../../ui/values/texts.ts';
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
  { title: 'When', cell: ({ at }) => <time dateTime={at}>{dateTimeText(at)}</time>, text: ({ at }) => at },
  { title: 'Action', cell: ({ action }) => <code class="operator-name">{action}</code>, text: ({ action }) => action },
  {
    title: 'Who',
    cell: ({ actor }) => (
      <a href={filtered('/operator/audit', { actor })} aria-label={`Entries of ${actor}`}>
        {actor}
      </a>
    ),
    text: ({ actor }) => actor,
  },
  { title: 'Owner', cell: ({ owner }) => owner !== null && <OwnerLink owner={owner} />, text: ({ owner }) => owner },
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

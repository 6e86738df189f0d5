import type { SessionResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Badge } from '../../../ui/badge.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { durationText, sizeText } from '../../../ui/values/texts.ts';
import { toTraffic, type TrafficRow } from './traffic.ts';

/** The session's requests as a waterfall. The service records them from the first time that somebody reads them. */
export function Network({ session }: { session: SessionResponse }) {
  const live = useLive(async (signal) => toTraffic((await call('getHar', { params: { session_id: session.session_id }, signal })).log), {
    everyMs: 5000,
  });
  return (
    <Loaded live={live} loading="Reading the network traffic">
      {({ rows, spanMs, startMs }) => (
        <Table
          caption="Network requests"
          columns={columnsOf({ spanMs, startMs })}
          rows={rows}
          keyOf={({ key }) => key}
          rowsPerPage={50}
          empty={
            <Empty icon="network" title="No requests yet">
              <p>Requests are recorded from now on. Create a session with “HAR” to have them from its start.</p>
            </Empty>
          }
        />
      )}
    </Loaded>
  );
}

const columnsOf = ({ spanMs, startMs }: { spanMs: number; startMs: number }): readonly Column<TrafficRow>[] => [
  {
    title: 'Status',
    cell: ({ status, isError }) => <Badge tone={isError ? 'bad' : 'neutral'}>{status === 0 ? 'Failed' : status}</Badge>,
    text: ({ status }) => status,
  },
  { title: 'Method', cell: ({ method }) => method, text: ({ method }) => method, isMinor: true },
  { title: 'Address', cell: ({ url }) => <bdi>{shortened(url)}</bdi>, text: ({ url }) => url },
  { title: 'Type', cell: ({ type }) => type, text: ({ type }) => type, isMinor: true },
  { title: 'Size', cell: ({ bytes }) => sizeText(bytes), text: ({ bytes }) => bytes, isNumber: true, isMinor: true },
  { title: 'Duration', cell: ({ durationMs }) => durationText(durationMs), text: ({ durationMs }) => durationMs, isNumber: true },
  {
    title: 'Waterfall',
    cell: (row) => (
      <div class="waterfall-bar" data-error={row.isError}>
        <div
          style={{
            marginInlineStart: `${(95 * (row.startedMs - startMs)) / spanMs}%`,
            width: `${Math.max(1, Math.min(100, (95 * row.durationMs) / spanMs))}%`,
          }}
        />
      </div>
    ),
    isMinor: true,
  },
];

const shownCharsMax = 140;
const shortened = (url: string): string => (url.length > shownCharsMax ? `${url.slice(0, shownCharsMax)}…` : url);

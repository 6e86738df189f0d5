import { useSignal } from '@preact/signals';
import type { DownloadResponse, SessionResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { Badge } from '../../../ui/badge.tsx';
import { saveFile } from '../../../ui/values/save-file.ts';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { sizeText, wordsOf } from '../../../ui/values/texts.ts';
import { toastError } from '../../../ui/toasts.ts';

export function Downloads({ session }: { session: SessionResponse }) {
  const params = { session_id: session.session_id };
  const live = useLive((signal) => call('listDownloads', { params, signal }), { everyMs: 5000 });
  const columns: readonly Column<DownloadResponse>[] = [
    { title: 'File', cell: ({ suggested_filename: name }) => <bdi>{name}</bdi>, text: ({ suggested_filename: name }) => name },
    { title: 'From', cell: ({ url }) => <bdi>{url}</bdi>, text: ({ url }) => url, isMinor: true },
    {
      title: 'Status',
      cell: ({ status }) => (
        <Badge tone={status === 'completed' ? 'good' : status === 'in_progress' ? 'warn' : 'bad'}>{wordsOf(status)}</Badge>
      ),
      text: ({ status }) => status,
    },
    {
      title: 'Size',
      cell: ({ received_bytes: received, total_bytes: total }) =>
        total === null || total === received ? sizeText(received) : `${sizeText(received)} of ${sizeText(total)}`,
      text: ({ received_bytes: received }) => received,
      isNumber: true,
    },
    { title: 'Save', cell: (download) => <Save download={download} sessionId={session.session_id} /> },
  ];
  return (
    <Loaded live={live} loading="Loading the downloads">
      {(downloads) => (
        <Table
          caption="Downloads"
          columns={columns}
          rows={downloads}
          keyOf={({ download_id: id }) => id}
          hasFilter={downloads.length > 10}
          empty={
            <Empty icon="download" title="No downloads">
              <p>Files that pages of this session download appear here. They are deleted when the session ends.</p>
            </Empty>
          }
        />
      )}
    </Loaded>
  );
}

function Save({ download, sessionId }: { download: DownloadResponse; sessionId: string }) {
  const isSaving = useSignal(false);
  if (download.status !== 'completed') return null;
  const { download_id: id, suggested_filename: name } = download;
  const save = async (): Promise<void> => {
    isSaving.value = true;
    try {
      const file: unknown = await call('getDownload', { params: { session_id: sessionId, download_id: id } });
      saveFile(file as Blob, name);
    } catch (error) {
      toastError(error);
    }
    isSaving.value = false;
  };
  return (
    <button type="button" class="button" disabled={isSaving.value} aria-label={`Save ${name}`} onClick={() => void save()}>
      {isSaving.value ? 'Saving' : 'Save'}
    </button>
  );
}

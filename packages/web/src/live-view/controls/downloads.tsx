import type { LiveDownload } from '@berth/contract/live-view';
import { sizeText } from '../../shared/size-text.ts';
import { Popover } from '../../shared/popover.tsx';
import type { LiveView } from '../live-view.ts';

export const downloadsPanelId = 'downloads';

const statusTexts: Readonly<Record<LiveDownload['status'], string>> = {
  in_progress: 'Downloading',
  completed: '',
  cancelled: 'Cancelled',
  too_large: 'Too large',
};

/** Files that pages of the session have downloaded. */
export function DownloadsPanel({ view }: { view: LiveView }) {
  const downloads = view.state.value?.downloads ?? [];
  return (
    <Popover id={downloadsPanelId} title="Downloads">
      {downloads.length === 0 && <p>Files that pages download appear here.</p>}
      <ul class="downloads">
        {downloads.map(({ download_id: id, name, status, bytes }) => (
          <li key={id}>
            <bdi class="download-name">{name}</bdi>
            {status === 'completed' ? (
              <a class="button" href={`${view.pageUrl}/downloads/${encodeURIComponent(id)}`} download={name} aria-label={`Save ${name}`}>
                Save
              </a>
            ) : (
              <span class="muted">{statusTexts[status]}</span>
            )}
            <span class="muted download-size">{sizeText(bytes)}</span>
          </li>
        ))}
      </ul>
    </Popover>
  );
}

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call } from '../../api.ts';
import { Icon } from '../../ui/icons.tsx';
import './recordings.css';

interface PosterProps {
  sessionId: string;
  /** Null where there is no recording, or none with a picture. */
  recId: string | null;
}

/** The first picture of a recording. It is read with the key, as an image of a page cannot send one. */
export function Poster({ sessionId, recId }: PosterProps) {
  const address = useSignal<string | null>(null);
  useEffect(() => {
    if (recId === null) return;
    const stop = new AbortController();
    const params = { session_id: sessionId, rec_id: recId, asset_path: 'poster.jpg' };
    void call('readRecordingAsset', { params, signal: stop.signal })
      .then((file: unknown) => (address.value = URL.createObjectURL(file as Blob)))
      // A recording without a frame has none.
      .catch(() => {});
    return () => {
      stop.abort();
      if (address.value) URL.revokeObjectURL(address.value);
    };
  }, [recId]);
  return <span class="poster">{address.value ? <img src={address.value} alt="" /> : <Icon name="window" />}</span>;
}

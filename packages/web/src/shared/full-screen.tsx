import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** Enters full screen with an element, by default the whole page, or exits it. */
export function toggleFullScreen(element: Element = document.documentElement): void {
  const result = document.fullscreenElement ? document.exitFullscreen() : element.requestFullscreen();
  // The browser may refuse.
  result.catch(() => {});
}

/** Hidden in browsers without full screen, as on some phones. */
export function FullScreenButton({ onToggle }: { onToggle: () => void }) {
  const isFull = useSignal(false);
  useEffect(() => {
    const update = () => (isFull.value = document.fullscreenElement !== null);
    document.addEventListener('fullscreenchange', update);
    return () => document.removeEventListener('fullscreenchange', update);
  }, []);
  if (!document.fullscreenEnabled) return null;
  const label = isFull.value ? 'Exit full screen' : 'Full screen';
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={onToggle}>
      <Icon name="fullscreen" />
    </button>
  );
}

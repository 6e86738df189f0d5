import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** Fills the screen with an element, the whole page when none is given, or gives the screen back. */
export function toggleFullScreen(element: Element = document.documentElement): void {
  const change = document.fullscreenElement ? document.exitFullscreen() : element.requestFullscreen();
  // A browser may refuse; then all stays as it is.
  change.catch(() => {});
}

/** Nothing where the browser knows no full screen, as on some phones. */
export function FullScreenButton({ onToggle }: { onToggle: () => void }) {
  const isFull = useSignal(false);
  useEffect(() => {
    const look = () => (isFull.value = document.fullscreenElement !== null);
    document.addEventListener('fullscreenchange', look);
    return () => document.removeEventListener('fullscreenchange', look);
  }, []);
  if (!document.fullscreenEnabled) return null;
  const label = isFull.value ? 'Leave full screen' : 'Full screen';
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={onToggle}>
      <Icon name="fullscreen" />
    </button>
  );
}

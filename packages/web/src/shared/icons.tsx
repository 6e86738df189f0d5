import type { JSX } from 'preact';

/** Strokes in a 24 px square. Decorative: every element with an icon also has a label. */
const shapes = {
  back: <path d="M15 5l-7 7 7 7" />,
  forward: <path d="M9 5l7 7-7 7" />,
  reload: <path d="M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9.4M20 4v5.4h-5.4" />,
  plus: <path d="M12 5v14M5 12h14" />,
  close: <path d="M6 6l12 12M18 6L6 18" />,
  fit: <path d="M4 9V5a1 1 0 0 1 1-1h4M15 4h4a1 1 0 0 1 1 1v4M20 15v4a1 1 0 0 1-1 1h-4M9 20H5a1 1 0 0 1-1-1v-4M9 9h6v6H9z" />,
  keyboard: (
    <path d="M4 6h16a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1zM7 10h.01M11 10h.01M15 10h.01M18 10h.01M8 14h8" />
  ),
  clipboard: <path d="M9 5H7a1 1 0 0 0-1 1v13a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V6a1 1 0 0 0-1-1h-2M9 4h6v3H9zM9.5 12h5M9.5 15.5h5" />,
  help: <path d="M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.5a2.6 2.6 0 1 1 3.7 2.5c-.8.4-1.2.9-1.2 1.7M12 16.8h.01" />,
  fullscreen: <path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5" />,
  people: (
    <path d="M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.4a3.5 3.5 0 0 1 0 6.2M18 14.4a6.5 6.5 0 0 1 3.5 5.6" />
  ),
  play: <path d="M8 5.5v13l10.5-6.5z" fill="currentColor" />,
  pause: <path d="M8 5.5v13M16 5.5v13" stroke-width="3.4" />,
  rewind: <path d="M11.5 6L5 12l6.5 6zM19 6l-6.5 6 6.5 6z" />,
  advance: <path d="M12.5 6l6.5 6-6.5 6zM5 6l6.5 6L5 18z" />,
  search: <path d="M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16.2 16.2L20.5 20.5" />,
  globe: (
    <path d="M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3.5 12h17M12 3c2.5 2.5 3.7 5.5 3.7 9s-1.2 6.5-3.7 9c-2.5-2.5-3.7-5.5-3.7-9S9.5 5.5 12 3z" />
  ),
  pointer: <path d="M6 4l13 7.5-5.6 1.6L10.6 19z" />,
  terminal: <path d="M5 7l5 5-5 5M12.5 17.5H19" />,
  network: <path d="M7 20V5M7 5L3.5 8.5M7 5l3.5 3.5M17 4v15M17 19l-3.5-3.5M17 19l3.5-3.5" />,
  window: <path d="M4 5h16a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1zM3 9.5h18" />,
  alert: <path d="M12 4l9 16H3zM12 10v4.5M12 17.3h.01" />,
  download: <path d="M12 4v11M7 10.5l5 5 5-5M5 20h14" />,
  target: <path d="M12 19a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM12 2.5v4M12 17.5v4M2.5 12h4M17.5 12h4" />,
} as const satisfies Record<string, JSX.Element>;

export type IconName = keyof typeof shapes;

export const Drawing = ({ children }: { children: JSX.Element }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    {children}
  </svg>
);

export const Icon = ({ name }: { name: IconName }) => <Drawing>{shapes[name]}</Drawing>;

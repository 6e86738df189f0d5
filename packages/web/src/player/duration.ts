const secondMs = 1000;
const minuteSeconds = 60;
const hourSeconds = 3600;

/** `0:07`, `12:05`, `1:02:03`. */
export function clockText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / secondMs));
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const tail = two(seconds % minuteSeconds);
  if (seconds < hourSeconds) return `${Math.floor(seconds / minuteSeconds)}:${tail}`;
  return `${Math.floor(seconds / hourSeconds)}:${two((seconds % hourSeconds) / minuteSeconds)}:${tail}`;
}

/** Formats a duration for screen readers: `1 hour 2 minutes 3 seconds`. */
export function spokenText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / secondMs));
  const parts: [number, string][] = [
    [Math.floor(seconds / hourSeconds), 'hour'],
    [Math.floor((seconds % hourSeconds) / minuteSeconds), 'minute'],
    [seconds % minuteSeconds, 'second'],
  ];
  const spoken = parts.filter(([count, unit]) => count > 0 || (unit === 'second' && seconds === 0));
  return spoken.map(([count, unit]) => `${count} ${unit}${count === 1 ? '' : 's'}`).join(' ');
}

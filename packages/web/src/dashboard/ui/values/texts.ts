/** Numbers, sizes and times as people read them, in their own language and time zone. */
export { sizeText } from '../../../shared/size-text.ts';

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });

export const numberText = (value: number): string => number.format(value);

/** "1 endpoint", "3 endpoints". */
export const countText = (count: number, noun: string): string => `${numberText(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `850 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  const units = [
    ['d', Math.floor(seconds / 86_400)],
    ['h', Math.floor(seconds / 3600) % 24],
    ['min', Math.floor(seconds / 60) % 60],
    ['s', seconds % 60],
  ] as const;
  const first = units.findIndex(([, value]) => value > 0);
  return units
    .slice(first, first + 2)
    .filter(([, value]) => value > 0)
    .map(([unit, value]) => `${value} ${unit}`)
    .join(' ');
}

/** `5 min`, `2 h`: a duration in its largest unit. */
export const roughDurationText = (ms: number): string => durationText(ms).match(/^\d+ \w+/)?.[0] ?? '';

/** `in 5 min`, `3 h ago`, `just now`. */
export function distanceText(at: string | number | Date, nowMs: number = Date.now()): string {
  const ms = new Date(at).getTime() - nowMs;
  if (Math.abs(ms) < 5000) return 'just now';
  const text = roughDurationText(Math.abs(ms));
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

export const dateTimeText = (at: string | number | Date): string =>
  new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export const dateText = (at: string | number | Date): string => new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' });

export const clockTimeText = (at: string | number | Date): string =>
  new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** `idle_timeout` becomes `Idle timeout`, and `start_url` becomes `Start URL`. */
export function wordsOf(name: string): string {
  const text = name
    .replaceAll(/[_.-]/g, ' ')
    .replaceAll(/\b(url|https|http|har|ip|id|json|pdf|html|otp|csv)\b/g, (word) => word.toUpperCase());
  return text.charAt(0).toUpperCase() + text.slice(1);
}

import { signal } from '@preact/signals';
import { dateTimeText, distanceText, roughDurationText } from './texts.ts';

/** The clock of all times on the page, so that they change together. */
const nowMs = signal(Date.now());
setInterval(() => (nowMs.value = Date.now()), 5000);

/** `3 min ago`, with the exact time as its title. */
export const Time = ({ at }: { at: string | null }) =>
  at === null ? (
    <span class="muted">never</span>
  ) : (
    <time dateTime={at} title={dateTimeText(at)}>
      {distanceText(at, nowMs.value)}
    </time>
  );

/** `14 min`: how long it is until a time, which is its title. */
export const TimeUntil = ({ at }: { at: string }) => (
  <time dateTime={at} title={dateTimeText(at)}>
    {roughDurationText(Math.max(0, Date.parse(at) - nowMs.value))}
  </time>
);

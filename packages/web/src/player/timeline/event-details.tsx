import { clockText } from '../duration.ts';
import type { Row } from './timeline.ts';

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** All data of one event, as text. */
export function EventDetails({ row }: { row: Row | undefined }) {
  if (!row) return null;
  const { event } = row;
  const fields = Object.entries(event.data ?? {}).filter(([, value]) => value !== null && value !== '');
  return (
    // A scrollable element must be focusable to be scrolled by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div class="details" role="region" aria-label="Event" tabIndex={0}>
      <h3>{row.label}</h3>
      <dl>
        <div>
          <dt>time</dt>
          <dd>
            {clockText(event.t_ms)} <span class="muted">({new Date(event.at).toLocaleTimeString()})</span>
          </dd>
        </div>
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <bdi>{valueText(value)}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

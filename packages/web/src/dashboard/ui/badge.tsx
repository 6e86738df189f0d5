import type { ComponentChildren } from 'preact';

export type Tone = 'good' | 'warn' | 'bad' | 'neutral' | 'accent';

/** A state in a word or two; the colour never stands alone. */
export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge tone-${tone}`}>{children}</span>
);

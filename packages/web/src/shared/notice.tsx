import type { ComponentChildren } from 'preact';

interface NoticeProps {
  title: string;
  text: string;
  children?: ComponentChildren;
}

/** A card in the middle of an empty stage: why there is nothing to see, and what can be done. */
export const Notice = ({ title, text, children }: NoticeProps) => (
  <div class="notice">
    <div class="card">
      <h2>{title}</h2>
      <p>{text}</p>
      {children && <div class="card-actions">{children}</div>}
    </div>
  </div>
);

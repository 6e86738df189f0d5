import type { ComponentChildren } from 'preact';

interface NoticeProps {
  title: string;
  text: string;
  children?: ComponentChildren;
}

/** A card on an empty stage: what is wrong and what to do. */
export const Notice = ({ title, text, children }: NoticeProps) => (
  <div class="notice">
    <div class="card">
      <h2>{title}</h2>
      <p>{text}</p>
      {children && <div class="card-actions">{children}</div>}
    </div>
  </div>
);

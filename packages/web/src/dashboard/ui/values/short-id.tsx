import { CopyButton } from './copy.tsx';

/** Long enough to tell ids of one list apart. */
const shownChars = 14;

interface ShortIdProps {
  id: string;
  /** What is copied, such as `the job id`. */
  what: string;
  /** Page of what it names. */
  href?: string;
}

/** The beginning of an id, with a button that copies the whole. */
export function ShortId({ id, what, href }: ShortIdProps) {
  const text = <code title={id}>{id.length > shownChars + 1 ? `${id.slice(0, shownChars)}…` : id}</code>;
  return (
    <span class="short-id">
      {href === undefined ? text : <a href={href}>{text}</a>}
      <CopyButton text={id} what={what} />
    </span>
  );
}

import { CopyButton } from './copy.tsx';

/** Long enough to tell ids of one list apart. */
const shownChars = 14;

/** The beginning of an id, with a button that copies the whole. */
export const ShortId = ({ id, what }: { id: string; what: string }) => (
  <span class="short-id">
    <code title={id}>{id.length > shownChars + 1 ? `${id.slice(0, shownChars)}…` : id}</code>
    <CopyButton text={id} what={what} />
  </span>
);

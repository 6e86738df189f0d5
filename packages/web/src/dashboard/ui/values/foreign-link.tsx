import type { ComponentChildren } from 'preact';

/** The address if a link may lead there: a page's text can say anything, also `javascript:`. */
export const safeAddress = (text: string): string | null => (/^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text : null);

/** A link to a site that a session or fetch visited. Anything but http and https is shown as text. */
export function ForeignLink({ to, children }: { to: string; children?: ComponentChildren }) {
  const address = safeAddress(to);
  if (address === null) return <bdi>{children ?? to}</bdi>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer">
      <bdi>{children ?? to}</bdi>
    </a>
  );
}

const localHost = /^(?:localhost|[\d.]+)(?:[:/?#]|$)/i;

/** Completes an address as people type it, with the scheme that the service would propose. */
export function toUrl(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || /^(?:[a-z][a-z0-9+.-]*:\/\/|about:)/i.test(trimmed)) return trimmed;
  return `${localHost.test(trimmed) ? 'http' : 'https'}://${trimmed}`;
}

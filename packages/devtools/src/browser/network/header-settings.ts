/** Request headers as Chromium takes them: two of them are no headers to it, but properties of a navigation and of a browser. */
export interface HeaderSettings {
  /** Chromium fails a request that is given another Referer than the one that it knows of. */
  referer: string | undefined;
  /** The user agent, set separately: as a header alone it is lost at a redirect, and scripts see another one. */
  userAgent: string | undefined;
  /** All other headers. */
  extraHeaders: Readonly<Record<string, string>>;
}

export function toHeaderSettings(headers: Readonly<Record<string, string>>): HeaderSettings {
  const valueOf = (wanted: string): string | undefined => Object.entries(headers).findLast(([name]) => name.toLowerCase() === wanted)?.[1];
  const others = Object.entries(headers).filter(([name]) => !/^(referer|user-agent)$/i.test(name));
  return { referer: valueOf('referer'), userAgent: valueOf('user-agent'), extraHeaders: Object.fromEntries(others) };
}

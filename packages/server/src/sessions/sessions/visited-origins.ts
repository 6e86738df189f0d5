import { profileOriginsMax } from '../profiles/profiles.ts';

/** The origins that a session's tabs have visited, the latest last. */
export class VisitedOrigins {
  readonly #origins = new Set<string>();

  add(address: string): void {
    const url = URL.parse(address);
    if (!url || !/^https?:$/.test(url.protocol)) return;
    this.#origins.delete(url.origin);
    this.#origins.add(url.origin);
    const [oldest] = this.#origins;
    // More find no room in a profile.
    if (oldest !== undefined && this.#origins.size > profileOriginsMax) this.#origins.delete(oldest);
  }

  latestFirst(): string[] {
    return [...this.#origins].toReversed();
  }
}

/** Replaces the credentials in addresses, headers and texts that are shown as they are otherwise, such as those of a HAR. */
import { scanForms } from './forms.ts';
import { scanHeader } from './headers.ts';
import type { Hit, ReportHit } from './hit.ts';
import type { SecretKind } from './kinds.ts';
import { scanInside, scanText, within } from './texts.ts';
import { scanUrl } from './urls.ts';

/** Longer texts are cut: what is not read is not shown. It bounds what one takes of a turn to some milliseconds. */
const charsMax = 65_536;
/** Who somebody is opens nothing. */
const personal = new Set<SecretKind>(['email', 'phone', 'username']);

/** An absolute or relative address, with `placeholder` for what its names and forms say are credentials. */
export const maskUrl = (url: string, placeholder: string): string =>
  masked(url, placeholder, (text, report) => {
    scanForms(text, report);
    scanUrl(
      text,
      () => report,
      (value, range) => scanInside(value, within(text, range, report)),
    );
  });

/** The value of a header of this name. */
export const maskHeader = (name: string, value: string, placeholder: string): string =>
  masked(value, placeholder, (text, report) => scanHeader(name, text, true, report));

/** A line of text, such as one of the console. */
export const maskText = (line: string, placeholder: string): string =>
  masked(line, placeholder, (text, report) => scanText(text, 'text', report));

const depthMax = 20;

/** A value with the texts in it masked, as lines are. Ids are left as they are. */
export function maskTexts<T>(value: T, placeholder: string): T {
  const mask = (of: unknown, depth: number): unknown => {
    if (typeof of === 'string') return maskText(of, placeholder);
    if (typeof of !== 'object' || of === null || depth >= depthMax) return of;
    if (Array.isArray(of)) return of.map((item) => mask(item, depth + 1));
    return Object.fromEntries(Object.entries(of).map(([name, item]) => [name, /(?:^|_)id$/.test(name) ? item : mask(item, depth + 1)]));
  };
  return mask(value, 0) as T;
}

function masked(whole: string, placeholder: string, scan: (text: string, report: ReportHit) => void): string {
  const text = whole.slice(0, charsMax);
  const hits: Hit[] = [];
  scan(text, (hit) => {
    if (hit.end > hit.start && !personal.has(hit.kind)) hits.push(hit);
  });
  hits.sort((a, b) => a.start - b.start);
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of hits) {
    if (start >= from) parts.push(text.slice(from, start), placeholder);
    from = Math.max(from, end);
  }
  parts.push(text.slice(from), whole.length > charsMax ? '…' : '');
  return parts.join('');
}

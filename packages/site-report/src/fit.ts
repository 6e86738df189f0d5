/** What of a report remains where a hostile site, or its HAR, makes more of it than anybody reads. */
import type { Entry } from 'har-format';
import type { Report } from './report.ts';

/** Each list, object, text and number. A page of 300 requests has some 60,000. */
const valuesMax = 300_000;
/** A job may store 32 MiB, with a screenshot. */
const charsMax = 16 * 1024 ** 2;

interface Size {
  values: number;
  chars: number;
}

type Har = NonNullable<Report['har']>;

/** The report without what does not fit: first bodies of its HAR, then requests of it, each from the end; then whole sections. */
export function fitReport(report: Report): Report {
  const all = sizeOf(report);
  if (fits(all)) return report;
  const rest = sizeOf({ ...report, har: null });
  const left = { values: valuesMax - rest.values, chars: charsMax - rest.chars };
  const fitted = report.har ? fitHar(report.har, left) : { har: null, dropped: 0, bytes: 0 };
  const limits = addLoss(report.limits, fitted);
  return dropSections({ ...report, har: fitted.har, limits });
}

function fitHar(har: Har, left: Size): { har: Har; dropped: number; bytes: number } {
  const { entries: all, ...head } = har.log as Har['log'] & { entries: Entry[] };
  const entries: Entry[] = [];
  let { values, chars } = sizeOf(head);
  let bytes = 0;
  for (const entry of all) {
    const [whole, bare] = [sizeOf(entry), withoutBodies(entry)];
    const isWhole = values + whole.values <= left.values && chars + whole.chars <= left.chars;
    const size = isWhole ? whole : sizeOf(bare);
    if (values + size.values > left.values || chars + size.chars > left.chars) break;
    if (!isWhole) bytes += whole.chars - size.chars;
    entries.push(isWhole ? entry : bare);
    values += size.values;
    chars += size.chars;
  }
  return { har: { ...har, log: { ...head, entries } }, dropped: all.length - entries.length, bytes };
}

function withoutBodies(entry: Entry): Entry {
  const {
    _webSocketMessages: _,
    _eventSourceMessages: __,
    ...rest
  } = entry as Entry & Record<'_webSocketMessages' | '_eventSourceMessages', unknown>;
  const { postData: ___, ...request } = entry.request;
  const { text: ____, ...content } = entry.response.content;
  return { ...rest, request, response: { ...entry.response, content } };
}

function addLoss(limits: Report['limits'], { dropped, bytes }: { dropped: number; bytes: number }): Report['limits'] {
  const reasons = new Set([...(limits.reason?.split(', ') ?? []), ...(dropped > 0 ? ['requests'] : []), ...(bytes > 0 ? ['bodies'] : [])]);
  return {
    truncated: reasons.size > 0,
    dropped_requests: limits.dropped_requests + dropped,
    dropped_bytes: limits.dropped_bytes + bytes,
    reason: reasons.size > 0 ? [...reasons].join(', ') : null,
  };
}

const sections = ['api', 'assets', 'third_parties', 'cookies', 'security', 'seo', 'automation', 'auth', 'site', 'har'] as const;

/** Each section has bounds of its own: this is for what they do not know of each other. */
function dropSections(report: Report): Report {
  let fitted = report;
  while (!fits(sizeOf(fitted))) {
    const [largest] = sections
      .filter((name) => fitted[name] !== null)
      .toSorted((one, other) => weightOf(fitted[other]) - weightOf(fitted[one]));
    if (largest === undefined) break;
    const reason = [fitted.limits.reason, largest].filter((each) => each !== null).join(', ');
    fitted = { ...fitted, [largest]: null, limits: { ...fitted.limits, truncated: true, reason } };
  }
  return fitted;
}

const fits = ({ values, chars }: Size): boolean => values <= valuesMax && chars <= charsMax;

function weightOf(value: unknown): number {
  const { values, chars } = sizeOf(value);
  return values / valuesMax + chars / charsMax;
}

function sizeOf(value: unknown): Size {
  const size = { values: 0, chars: 0 };
  add(value, size);
  return size;
}

function add(value: unknown, size: Size): void {
  size.values += 1;
  if (typeof value === 'string') size.chars += value.length;
  else if (Array.isArray(value)) for (const inner of value) add(inner, size);
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) {
      size.chars += name.length;
      add(inner, size);
    }
}

/** Converts the form of the fetch playground to the requests that it sends. */
import type { FetchFormat } from '@berth/contract';

export type PlaygroundMode = 'browser' | 'http' | 'auto' | 'compare';

export interface FetchForm {
  url: string;
  mode: PlaygroundMode;
  formats: readonly FetchFormat[];
  /** Other fields of the request that are set. */
  options: Readonly<Record<string, unknown>>;
}

export interface FetchBody extends Record<string, unknown> {
  url: string;
  mode: Exclude<PlaygroundMode, 'compare'>;
  formats: readonly FetchFormat[];
}

const browserFormats: ReadonlySet<FetchFormat> = new Set(['screenshot', 'pdf', 'har', 'snapshot']);
const browserOptions: ReadonlySet<string> = new Set([
  'actions',
  'session_id',
  'kind',
  'screenshot',
  'snapshot',
  'pdf',
  'wait_until',
  'wait_for',
]);

/** Whether plain HTTP can return it. */
export const isHttpFormat = (format: FetchFormat): boolean => !browserFormats.has(format);

/** One request, or two to compare: plain HTTP first. Plain HTTP gets what applies to it. */
export function toFetchBodies({ url, mode, formats, options }: FetchForm): FetchBody[] {
  if (mode === 'compare') return [toHttpBody({ url, formats, options }), { url, mode: 'browser', formats, ...options }];
  return [mode === 'http' ? toHttpBody({ url, formats, options }) : { url, mode, formats, ...options }];
}

function toHttpBody({ url, formats, options }: Omit<FetchForm, 'mode'>): FetchBody {
  const others = Object.entries(options).filter(([name]) => !browserOptions.has(name));
  return { url, mode: 'http', formats: formats.filter(isHttpFormat), ...Object.fromEntries(others) };
}

/** What happened in a session, as rows beside its video. */
import { sizeText } from './duration.ts';

/** A line of `events.ndjson`. `t_ms` is its place in the video. */
export interface TimelineEvent {
  t_ms: number;
  at: string;
  type: string;
  data: Record<string, unknown>;
}

export const eventKinds = ['page', 'action', 'console', 'network', 'session'] as const;
export type EventKind = (typeof eventKinds)[number];

/** An event in words. All of it is text of pages and must only ever be shown as text. */
export interface Row {
  event: TimelineEvent;
  kind: EventKind;
  label: string;
  detail: string;
  isFault: boolean;
  /** In lower case, to be searched. */
  words: string;
}

/** A row is one line; the whole text is in the event's details. */
const detailCharsMax = 300;

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
const joined = (...parts: string[]): string => parts.filter((part) => part !== '').join(' · ');
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

type Words = Pick<Row, 'kind' | 'label' | 'detail'> & { isFault?: boolean };
type Data = TimelineEvent['data'];

const tookText = (ms: unknown): string =>
  typeof ms !== 'number' ? '' : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
/** `open_tab` as people write it. */
const spaced = (name: string): string => capital(name.replaceAll('_', ' '));
const countText = (count: unknown, one: string, many: string): string => `${textOf(count) || '0'} ${count === 1 ? one : many}`;

function actionWords({ name, step, status, duration_ms: duration, error_code: errorCode, error, url }: Data): Words {
  const code = textOf(errorCode) || textOf(error);
  const isFault = code !== '' || /^(error|failed)/.test(textOf(status));
  const said = name === 'actions' ? 'Steps' : spaced(textOf(name) || textOf(step) || 'action');
  return { kind: 'action', label: said, detail: joined(isFault ? code || 'failed' : '', tookText(duration), textOf(url)), isFault };
}

function networkWords({ requests, failed, bytes }: Data): Words {
  const failures = typeof failed === 'number' && failed > 0 ? `${failed} failed` : '';
  const size = typeof bytes === 'number' ? sizeText(bytes) : '';
  return { kind: 'network', label: countText(requests, 'request', 'requests'), detail: joined(failures, size) };
}

/** One entry for each type that has words of its own. */
const wordsOf: Readonly<Record<string, (data: Data) => Words>> = {
  navigation: ({ url }) => {
    const isErrorPage = textOf(url).startsWith('chrome-error:');
    return {
      kind: 'page',
      label: isErrorPage ? 'Page did not load' : 'Page opened',
      detail: isErrorPage ? '' : textOf(url),
      isFault: isErrorPage,
    };
  },
  'tab.opened': ({ url }) => ({ kind: 'page', label: 'New tab', detail: textOf(url) }),
  'tab.closed': () => ({ kind: 'page', label: 'Tab closed', detail: '' }),
  'tab.refused': ({ url }) => ({ kind: 'page', label: 'Tab refused', detail: textOf(url), isFault: true }),
  'tab.crashed': () => ({ kind: 'page', label: 'Tab crashed', detail: '', isFault: true }),
  dialog: ({ dialog, message }) => ({ kind: 'page', label: capital(`${textOf(dialog)} dialog`.trim()), detail: textOf(message) }),
  'download.started': ({ suggested_filename: name }) => ({ kind: 'page', label: 'Download started', detail: textOf(name) }),
  'download.finished': ({ suggested_filename: name, status }) => ({
    kind: 'page',
    label: status === 'completed' ? 'Download finished' : 'Download stopped',
    detail: joined(textOf(name), status === 'completed' ? '' : textOf(status)),
    isFault: status !== 'completed',
  }),
  action: actionWords,
  'actions.step': actionWords,
  console: ({ level, text }) => ({
    kind: 'console',
    label: `Console ${textOf(level)}`.trim(),
    detail: textOf(text),
    isFault: level === 'error',
  }),
  network: networkWords,
  'network.failed': ({ method, url, status, error }) => ({
    kind: 'network',
    label: `${textOf(method) || 'Request'} failed`,
    detail: joined(textOf(status), textOf(error), textOf(url)),
    isFault: true,
  }),
  'viewer.joined': ({ viewers }) => ({
    kind: 'session',
    label: 'Viewer joined',
    detail: countText(viewers, 'person watches', 'people watch'),
  }),
  'viewer.left': ({ viewers }) => ({ kind: 'session', label: 'Viewer left', detail: countText(viewers, 'person watches', 'people watch') }),
  'session.ready': () => ({ kind: 'session', label: 'Session ready', detail: '' }),
  'session.expiring': () => ({ kind: 'session', label: 'Session about to expire', detail: '' }),
  'session.ended': ({ reason, ended_reason: ended }) => ({
    kind: 'session',
    label: 'Session ended',
    detail: textOf(ended) || textOf(reason),
  }),
  'captcha.detected': ({ vendor, type }) => ({ kind: 'session', label: 'Captcha found', detail: joined(textOf(type), textOf(vendor)) }),
  'captcha.awaiting_human': () => ({ kind: 'session', label: 'Captcha waits for a person', detail: '' }),
  'captcha.solved': () => ({ kind: 'session', label: 'Captcha solved', detail: '' }),
  'captcha.failed': ({ reason }) => ({ kind: 'session', label: 'Captcha failed', detail: textOf(reason), isFault: true }),
  'timeline.truncated': ({ left_out: left }) => ({
    kind: 'session',
    label: 'Timeline cut short',
    detail: textOf(left) === '' ? '' : `Left out: ${textOf(left)}`,
  }),
  'recording.truncated': () => ({ kind: 'session', label: 'Recording stopped', detail: 'It had grown to its limit.', isFault: true }),
};

export function toRow(event: TimelineEvent): Row {
  const data = typeof event.data === 'object' && event.data !== null ? event.data : {};
  const read = Object.hasOwn(wordsOf, event.type) ? wordsOf[event.type] : undefined;
  const words = read?.(data) ?? { kind: 'session', label: event.type, detail: Object.values(data).map(textOf).join(' ') };
  const detail = words.detail.slice(0, detailCharsMax);
  return {
    event,
    kind: words.kind,
    label: words.label,
    detail,
    isFault: words.isFault ?? false,
    words: `${words.label} ${words.detail}`.toLowerCase(),
  };
}

/** Whether a line of the file is one that can be shown at all. */
export const isTimelineEvent = (line: unknown): line is TimelineEvent =>
  typeof line === 'object' &&
  line !== null &&
  't_ms' in line &&
  Number.isFinite(line.t_ms) &&
  'type' in line &&
  typeof line.type === 'string';

/** Rows of the kinds that are wanted in which every word of the search occurs. */
export function pickRows(rows: readonly Row[], { kinds, search }: { kinds: ReadonlySet<EventKind>; search: string }): Row[] {
  const wanted = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return rows.filter((row) => kinds.has(row.kind) && wanted.every((word) => row.words.includes(word)));
}

/** The last row that has happened at a time; -1 before the first. Rows are in order of time. */
export function rowAt(rows: readonly Row[], timeMs: number): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((rows[middle]?.event.t_ms ?? 0) <= timeMs) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}

export interface Mark {
  /** 0…1 along the video. */
  at: number;
  kind: EventKind | 'fault';
}

/** Of two events in one place the more telling one is marked. */
const weights: Readonly<Record<Mark['kind'], number>> = { fault: 5, page: 4, action: 3, session: 2, console: 1, network: 0 };
const marksMax = 200;

/** Marks for a seek bar, at most 200 however many rows there are. */
export function marksOf(rows: readonly Row[], durationMs: number): Mark[] {
  const marks = new Map<number, Mark>();
  if (durationMs <= 0) return [];
  for (const { event, kind, isFault } of rows) {
    // A summary of the network comes every few seconds and tells nothing about its moment.
    if (event.type === 'network') continue;
    const at = Math.min(1, Math.max(0, event.t_ms / durationMs));
    const place = Math.min(marksMax - 1, Math.floor(at * marksMax));
    const mark: Mark = { at, kind: isFault ? 'fault' : kind };
    const there = marks.get(place);
    if (!there || weights[mark.kind] > weights[there.kind]) marks.set(place, mark);
  }
  return [...marks.values()];
}

/** Converts the events of a session to rows of the timeline. */
import { sizeText } from '../../shared/size-text.ts';

/** A line of `events.ndjson`. `t_ms` is its position in the video. */
export interface TimelineEvent {
  t_ms: number;
  at: string;
  type: string;
  data: Record<string, unknown>;
}

export const eventKinds = ['page', 'action', 'console', 'network', 'session', 'viewer'] as const;
export type EventKind = (typeof eventKinds)[number];
/** Viewers come and go without an effect on the session. */
export const foldedKinds: readonly EventKind[] = ['viewer'];

/** An event as text. It may come from pages, so it must only be shown as text. */
export interface Row {
  event: TimelineEvent;
  kind: EventKind;
  label: string;
  detail: string;
  isError: boolean;
  /** Lower case, for the search. */
  words: string;
}

/** The event's details have the full text. */
const detailCharsMax = 300;

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
const joined = (...parts: string[]): string => parts.filter((part) => part !== '').join(' · ');
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

type Words = Pick<Row, 'kind' | 'label' | 'detail'> & { isError?: boolean };
type Data = TimelineEvent['data'];

const durationText = (ms: unknown): string =>
  typeof ms !== 'number' ? '' : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
/** `open_tab` becomes `Open tab`. */
const spaced = (name: string): string => capital(name.replaceAll('_', ' '));
const countText = (count: unknown, one: string, many: string): string => `${textOf(count) || '0'} ${count === 1 ? one : many}`;

function actionWords({ name, step, status, duration_ms: duration, error_code: errorCode, error, url, target, by }: Data): Words {
  const code = textOf(errorCode) || textOf(error);
  const isError = code !== '' || /^(error|failed)/.test(textOf(status));
  const label = name === 'actions' ? 'Steps' : spaced(textOf(name) || textOf(step) || 'action');
  const detail = joined(
    isError ? code || 'failed' : '',
    textOf(target) || textOf(url),
    durationText(duration),
    by === 'viewer' ? 'by a viewer' : '',
  );
  return { kind: 'action', label, detail, isError };
}

function networkWords({ requests, failed, bytes }: Data): Words {
  const failures = typeof failed === 'number' && failed > 0 ? `${failed} failed` : '';
  const size = typeof bytes === 'number' ? sizeText(bytes) : '';
  return { kind: 'network', label: countText(requests, 'request', 'requests'), detail: joined(failures, size) };
}

/** Texts by event type. */
const wordsOf: Readonly<Record<string, (data: Data) => Words>> = {
  navigation: ({ url }) => {
    const isErrorPage = textOf(url).startsWith('chrome-error:');
    return {
      kind: 'page',
      label: isErrorPage ? 'Page did not load' : 'Page opened',
      detail: isErrorPage ? '' : textOf(url),
      isError: isErrorPage,
    };
  },
  'tab.opened': ({ url }) => ({ kind: 'page', label: 'New tab', detail: textOf(url) }),
  'tab.closed': () => ({ kind: 'page', label: 'Tab closed', detail: '' }),
  'tab.refused': ({ url }) => ({ kind: 'page', label: 'Tab refused', detail: textOf(url), isError: true }),
  'tab.crashed': () => ({ kind: 'page', label: 'Tab crashed', detail: '', isError: true }),
  dialog: ({ dialog, message }) => ({ kind: 'page', label: capital(`${textOf(dialog)} dialog`.trim()), detail: textOf(message) }),
  'download.started': ({ suggested_filename: name }) => ({ kind: 'page', label: 'Download started', detail: textOf(name) }),
  'download.finished': ({ suggested_filename: name, status }) => ({
    kind: 'page',
    label: status === 'completed' ? 'Download finished' : 'Download stopped',
    detail: joined(textOf(name), status === 'completed' ? '' : textOf(status)),
    isError: status !== 'completed',
  }),
  action: actionWords,
  'actions.step': actionWords,
  console: ({ level, text }) => ({
    kind: 'console',
    label: `Console ${textOf(level)}`.trim(),
    detail: textOf(text),
    isError: level === 'error',
  }),
  network: networkWords,
  'network.failed': ({ method, url, status, error }) => ({
    kind: 'network',
    label: `${textOf(method) || 'Request'} failed`,
    detail: joined(textOf(status), textOf(error), textOf(url)),
    isError: true,
  }),
  'viewer.joined': ({ viewers }) => ({
    kind: 'viewer',
    label: 'Viewer joined',
    detail: countText(viewers, 'viewer', 'viewers'),
  }),
  'viewer.left': ({ viewers }) => ({ kind: 'viewer', label: 'Viewer left', detail: countText(viewers, 'viewer', 'viewers') }),
  'session.ready': () => ({ kind: 'session', label: 'Session ready', detail: '' }),
  'session.expiring': () => ({ kind: 'session', label: 'Session about to expire', detail: '' }),
  'session.ended': ({ reason, ended_reason: ended }) => ({
    kind: 'session',
    label: 'Session ended',
    detail: textOf(ended) || textOf(reason),
  }),
  'captcha.detected': ({ vendor, type }) => ({ kind: 'session', label: 'Captcha detected', detail: joined(textOf(type), textOf(vendor)) }),
  'captcha.awaiting_human': () => ({ kind: 'session', label: 'Captcha waiting for a person', detail: '' }),
  'captcha.solved': () => ({ kind: 'session', label: 'Captcha solved', detail: '' }),
  'captcha.failed': ({ reason }) => ({ kind: 'session', label: 'Captcha failed', detail: textOf(reason), isError: true }),
  'profile.saved': ({ cookies, origins }) => ({
    kind: 'session',
    label: 'Profile saved',
    detail: `${countText(cookies, 'cookie', 'cookies')}, ${countText(origins, 'origin', 'origins')}`,
  }),
  'profile.save_failed': ({ reason }) => ({ kind: 'session', label: 'Profile not saved', detail: textOf(reason), isError: true }),
  'timeline.truncated': ({ left_out: left }) => ({
    kind: 'session',
    label: 'Timeline truncated',
    detail: textOf(left) === '' ? '' : `Left out: ${textOf(left)}`,
  }),
  'recording.truncated': () => ({ kind: 'session', label: 'Recording stopped', detail: 'Size limit or disk space reached', isError: true }),
};

export function toRow(event: TimelineEvent): Row {
  const data = typeof event.data === 'object' && event.data !== null ? event.data : {};
  const read = Object.hasOwn(wordsOf, event.type) ? wordsOf[event.type] : undefined;
  const words = read?.(data) ?? { kind: 'session', label: event.type, detail: Object.values(data).map(textOf).join(' ') };
  const detail = words.detail.slice(0, detailCharsMax);
  return {
    event: atStart(event, data),
    kind: words.kind,
    label: words.label,
    detail,
    isError: words.isError ?? false,
    words: `${words.label} ${words.detail}`.toLowerCase(),
  };
}

/** Actions are reported when they end. They are shown where they start, before what they cause. */
function atStart(event: TimelineEvent, { duration_ms: durationMs }: Data): TimelineEvent {
  if (!isAction(event) || typeof durationMs !== 'number') return event;
  const startedAt = new Date(Date.parse(event.at) - durationMs);
  const at = Number.isNaN(startedAt.getTime()) ? event.at : startedAt.toISOString();
  return { ...event, t_ms: Math.max(0, event.t_ms - durationMs), at };
}

const isAction = ({ type }: TimelineEvent): boolean => type === 'action' || type === 'actions.step';

/** Sorts rows by time; at the same time, a call comes before its steps, and both before what they cause. */
export const compareRows = (one: Row, other: Row): number => one.event.t_ms - other.event.t_ms || rankOf(one) - rankOf(other);

const rankOf = ({ event: { type } }: Row): number => (type === 'action' ? 0 : type === 'actions.step' ? 1 : 2);

/** Whether a line of the file is a valid event. */
export const isTimelineEvent = (line: unknown): line is TimelineEvent =>
  typeof line === 'object' &&
  line !== null &&
  't_ms' in line &&
  Number.isFinite(line.t_ms) &&
  'type' in line &&
  typeof line.type === 'string';

/** Returns the rows of the selected kinds that contain every word of the search. */
export function pickRows(rows: readonly Row[], { kinds, search }: { kinds: ReadonlySet<EventKind>; search: string }): Row[] {
  const wanted = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return rows.filter((row) => kinds.has(row.kind) && wanted.every((word) => row.words.includes(word)));
}

/** Returns the index of the last row at or before a time; -1 before the first. Rows are sorted by time. */
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
  kind: EventKind | 'error';
}

/** Weights of the kinds of marks: of two events in one slot, the one with the higher weight is marked. */
const weights: Readonly<Record<Mark['kind'], number>> = { error: 5, page: 4, action: 3, session: 2, console: 1, network: 0, viewer: 0 };
const marksMax = 200;

/** Returns at most 200 markers for the seek bar. */
export function createMarks(rows: readonly Row[], durationMs: number): Mark[] {
  const marks = new Map<number, Mark>();
  if (durationMs <= 0) return [];
  for (const { event, kind, isError } of rows) {
    // Network summaries are periodic, so their time means nothing. Viewers have no effect.
    if (event.type === 'network' || kind === 'viewer') continue;
    const at = Math.min(1, Math.max(0, event.t_ms / durationMs));
    const slot = Math.min(marksMax - 1, Math.floor(at * marksMax));
    const mark: Mark = { at, kind: isError ? 'error' : kind };
    const existing = marks.get(slot);
    if (!existing || weights[mark.kind] > weights[existing.kind]) marks.set(slot, mark);
  }
  return [...marks.values()];
}

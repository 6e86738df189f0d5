/** Converts text to typed values. Null when it is ambiguous or invalid: a guess would be worse. */
import { resolveUrl } from './dom.ts';

const digitGroups = /\d+(?:['’\s](?=\d{3}(?!\d))\d{3})*(?:[.,]\d+)*|[.,]\d+/.source;
const firstNumber = new RegExp(
  `(?<![\\p{L}\\p{N}])(?<sign>[-−+])?\\s?\\p{Sc}?\\s?(?<digits>${digitGroups})(?<power>e[-+]?\\d{1,3})?`,
  'iu',
);

/**
 * The first number in the text, with the separators of any country:
 * "1.234,56 €" and "$1,234.56" are both 1234.56.
 *
 * With two kinds of separator the last one is the decimal one; one that occurs
 * twice groups thousands. A single one is the decimal one, except a comma before
 * exactly three digits, which groups thousands.
 */
export function toNumber(text: string): number | null {
  const match = firstNumber.exec(text.slice(0, 10_000));
  if (!match?.groups) return null;
  const digits = (match.groups['digits'] ?? '').replace(/['’\s]/g, '');
  const value = Number(`${withPoint(digits)}${match.groups['power'] ?? ''}`);
  if (!Number.isFinite(value)) return null;
  return match.groups['sign'] === '-' || match.groups['sign'] === '−' ? -value : value;
}

function withPoint(digits: string): string {
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  if (last < 0) return digits;
  const mark = digits[last] ?? '';
  const marks = new Set(digits.replace(/\d/g, ''));
  const occursOnce = digits.indexOf(mark) === last;
  const groupsThousands = !occursOnce || (marks.size === 1 && mark === ',' && /^[1-9]\d{0,2},\d{3}$/.test(digits));
  const whole = digits.slice(0, last).replace(/[.,]/g, '');
  return groupsThousands ? digits.replace(/[.,]/g, '') : `${whole}.${digits.slice(last + 1)}`;
}

/**
 * A day as YYYY-MM-DD, a moment as ISO 8601 in UTC. A moment without a zone is in
 * UTC, so that the result does not depend on the server. "03/04/2024" is
 * ambiguous, so it is null.
 */
export function toDate(text: string): string | null {
  const trimmed = text.trim().slice(0, 200);
  if (/^\d{10}$|^\d{13}$/.test(trimmed)) return toIso(Number(trimmed) * (trimmed.length === 10 ? 1000 : 1));
  const iso = /^(\d{4})-(\d{2})-(\d{2})(?<time>[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?\s?(?<zone>Z|[+-]\d{2}:?\d{2})?$/i.exec(trimmed);
  if (iso) {
    const { time, zone } = iso.groups ?? {};
    const day = toDay(Number(iso[1]), Number(iso[2]), Number(iso[3]));
    const minutes = zone?.replace(/^([+-]\d{2})(\d{2})$/, '$1:$2') ?? 'Z';
    return time === undefined || day === null ? day : toIso(Date.parse(`${day}T${time.slice(1)}${minutes.toUpperCase()}`));
  }
  const numeric = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})$/.exec(trimmed);
  return numeric ? parseNumeric(Number(numeric[1]), Number(numeric[3]), Number(numeric[4]), numeric[2] === '.') : parseWords(trimmed);
}

function parseNumeric(first: number, second: number, year: number, isDayFirst: boolean): string | null {
  if (isDayFirst || first > 12) return toDay(year, second, first);
  return second > 12 || first === second ? toDay(year, first, second) : null;
}

/** "5th March 2024, 10:00 CET". V8 parses almost anything as a date, so a month name and a year are required. */
function parseWords(text: string): string | null {
  if (!/\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i.test(text) || !/\b\d{4}\b/.test(text)) return null;
  const pickOptions = text.replace(/\b(\d{1,2})(st|nd|rd|th)\b/gi, '$1').replace(/\b(at|of)\b/gi, ' ');
  const hasZone = /\b(Z|GMT|UTC|[ECMP][SD]T)\b|[+-]\d{2}:?\d{2}\b/.test(pickOptions);
  const moment = toIso(Date.parse(hasZone ? pickOptions : `${pickOptions} UTC`));
  return moment !== null && !/\d:\d{2}/.test(pickOptions) ? moment.slice(0, 10) : moment;
}

function toDay(year: number, month: number, day: number): string | null {
  const date = new Date(Date.UTC(year, month - 1, day));
  const exists = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return exists ? date.toISOString().slice(0, 10) : null;
}

function toIso(epochMs: number): string | null {
  const date = new Date(epochMs);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

export function toBoolean(text: string): boolean | null {
  const word = text.trim().toLowerCase();
  if (['true', 'yes', 'y', 'on', '1'].includes(word)) return true;
  if (['false', 'no', 'n', 'off', '0'].includes(word)) return false;
  return null;
}

export const toUrl = (text: string, base: string | null): string | null => (text.trim() === '' ? null : resolveUrl(text, base));

/** Converts text to typed values. Null when it is ambiguous or invalid: a guess would be worse. */
import { resolveUrl } from './dom.ts';

const firstNumber =
  /(?<![\p{L}\p{N}]|\p{N}[.,])(?<sign>[-−+])?\s?(?<before>\p{Sc}|[A-Z]{1,2}\$|Rs\.?|kr\.?|[A-Z]{3})?\s?(?<inner>[-−+])?(?<digits>\d+(?:['’\s](?=\d{3}(?!\d))\d{3})*(?:[.,]\d+)*|[.,]\d+)(?<power>[eE][-+]?\d{1,3})?(?<end>[.,](?=[-–—]))?/u;
/** Matches the currency behind a number. */
const currencyBehind = /^[.,]?[-–—]?\s?(\p{Sc}|(?:kr|zł|Kč|Ft|lei|[A-Z]{3})(?![\p{L}\p{N}]))/u;
const currencyCodes: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
/** "SKU12" is no amount of money. */
const isCurrency = (sign: string | undefined): boolean => sign !== undefined && (!/^[A-Z]{3}$/.test(sign) || currencyCodes.has(sign));

/**
 * The first number in the text, with the separators and digits of any country:
 * "1.234,56 €", "$1,234.56" and "١٬٢٣٤٫٥٦" are all 1234.56.
 *
 * With two kinds of separator the last one is the decimal one; one that occurs
 * twice groups thousands. A single one before exactly three digits is ambiguous.
 * It is the decimal one if the language writes it so, except in an amount of
 * money, which has two decimals. Without a language a comma groups thousands,
 * and a point does in front of a currency, which is written behind the number
 * where the comma is the decimal separator. Any other single one is the decimal one.
 */
export function toNumber(text: string, language: string | null = null): number | null {
  const { plain, decimalMark } = withPlainDigits(text.slice(0, 10_000));
  const match = firstNumber.exec(withPowersOfTen(plain));
  if (!match?.groups) return null;
  const { digits = '', power = '', sign, inner = sign, end, before } = match.groups;
  if (before !== undefined && !isCurrency(before) && /^[A-Z]{3}[-−+]?[\d.,]/.test(match[0].trim())) return null;
  const isBehind = isCurrency(currencyBehind.exec(match.input.slice(match.index + match[0].length - (end?.length ?? 0)).slice(0, 20))?.[1]);
  const convention: Convention = {
    decimalMark: decimalMark ?? end ?? decimalMarkOf(language),
    isMoney: isCurrency(before) || isBehind,
    isBehind: isBehind && decimalMark === null,
  };
  const value = Number(`${withPoint(digits.replace(/['’\s]/g, ''), convention)}${power}`);
  if (!Number.isFinite(value)) return null;
  return inner === '-' || inner === '−' ? -value : value;
}

/** Matches a power of ten, but not `10¹`, which has a note. */
const powerOfTen =
  /(?:(?<=\d)\s?[×·⋅x*]\s?|(?<![\p{N}.,'’]|\p{N}\s))10(?:\^(?<plain>[-−+]?\d{1,3})|(?!¹(?![⁰¹²³⁴-⁹]))(?<raised>[⁺⁻]?[⁰¹²³⁴-⁹]{1,3}))(?!\p{N})/gu;
/** The exponent of a unit, or a note, as text writes what stands above the line: `m^2`. */
const raisedNote = /\^[-−+]?\d{1,3}(?![\d.,])/g;
const raisedSigns = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻';

/** `3.2 × 10⁶` and `10^6` as `3.2e6` and `1e6`. Any other number that is raised beside one is a note. */
const withPowersOfTen = (text: string): string =>
  (/10[\^⁺⁻⁰¹²³⁴-⁹]/.test(text)
    ? text.replace(powerOfTen, (power, plain: string | undefined, raised: string | undefined) => {
        const exponent =
          plain?.replace('−', '-') ?? [...(raised ?? '')].map((letter) => '0123456789+-'[raisedSigns.indexOf(letter)]).join('');
        return `${power.startsWith('10') ? '1' : ''}e${exponent}`;
      })
    : text
  ).replace(raisedNote, '');

interface Convention {
  /** Decimal separator of the language; null when the language is unknown. */
  decimalMark: string | null;
  isMoney: boolean;
  /** The currency is written behind the number. */
  isBehind: boolean;
}

function withPoint(digits: string, convention: Convention): string {
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  if (last < 0) return digits;
  const mark = digits[last] ?? '';
  const marks = new Set(digits.replace(/\d/g, ''));
  const occursOnce = digits.indexOf(mark) === last;
  const isAmbiguous = marks.size === 1 && /^[1-9]\d{0,2}[.,]\d{3}$/.test(digits);
  const groupsThousands = !occursOnce || (isAmbiguous && doesGroup(mark, convention));
  const whole = digits.slice(0, last).replace(/[.,]/g, '');
  return groupsThousands ? digits.replace(/[.,]/g, '') : `${whole}.${digits.slice(last + 1)}`;
}

function doesGroup(mark: string, { decimalMark, isMoney, isBehind }: Convention): boolean {
  if (decimalMark !== null && decimalMark !== mark) return true;
  return mark === ',' ? decimalMark === null || isMoney : isBehind;
}

/** A language's decimal separator, as Unicode's locale data have it. Null for an unknown language. */
function decimalMarkOf(language: string | null): string | null {
  const tag = (language ?? '').trim().slice(0, 35).replace(/_/g, '-');
  try {
    const [known] = Intl.NumberFormat.supportedLocalesOf(tag);
    if (known === undefined) return null;
    const parts = new Intl.NumberFormat(known, { numberingSystem: 'latn' }).formatToParts(0.5);
    return parts.find(({ type }) => type === 'decimal')?.value ?? null;
  } catch {
    return null;
  }
}

/** The digits of any script as those of ASCII, without marks of the writing direction. Arabic has a decimal separator of its own. */
function withPlainDigits(text: string): { plain: string; decimalMark: '.' | null } {
  const decimalMark = text.includes('\u066b') ? '.' : null;
  if (!/[\u061c\u066b\u066c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[^\0-\x7f](?<=\p{Nd})/u.test(text)) return { plain: text, decimalMark };
  const plain = text
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .replace(/[^\0-\x7f](?<=\p{Nd})/gu, toAsciiDigit)
    .replace(/\u066b/g, '.')
    .replace(/\u066c/g, '’');
  return { plain, decimalMark };
}

/** Unicode has the digits of each script in a row, from zero to nine. */
function toAsciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  // The only rows that touch are those of mathematical letters.
  if (code >= 0x1d7ce && code <= 0x1d7ff) return String((code - 0x1d7ce) % 10);
  let value = 0;
  while (value < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value);
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

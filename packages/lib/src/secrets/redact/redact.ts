/**
 * Removes credentials from addresses, headers and texts: of whatever the service shows, logs or keeps of others. What a
 * name or a form says about a value stands in `names.ts`, `headers.ts` and `forms.ts`, and nowhere else.
 */
import { cutText } from '../../text/text.ts';
import { scanForms } from './forms.ts';
import { isUrlHeader, scanHeader } from './headers.ts';
import { decoded, type Hit, type ReportHit } from './hit.ts';
import type { SecretKind } from '../kinds.ts';
import { isCredentialHeader, isSecretField, kindOfName } from '../names.ts';
import { scanInside, scanText, within } from './texts.ts';
import { scanUrl } from './urls.ts';

/**
 * What is removed beside user and password of addresses.
 *
 * - `credentials`: what names and forms say are credentials. Everything else is shown as it is.
 * - `values`: those, and every value of a query and the fragment of an address. Names of parameters are shown.
 * - `bare`: those, queries and fragments as a whole, and in a text every run of letters and digits that may be an id.
 * - `names`: what stands under the name of a secret, whatever it is. It takes one look at a text, and is for what a
 *   caller sent, who knows it.
 * - `own`: keys and tokens of this service in its own addresses, whatever they look like.
 */
export type Rule = 'credentials' | 'values' | 'bare' | 'names' | 'own';

export interface Redaction {
  /** Stands for what is removed. */
  placeholder: string;
  /** Default: `credentials`. */
  rule?: Rule;
  /** Maximum characters of the result; what is cut ends in `…`. */
  charsMax?: number;
}

/** Longer texts are cut: what is not read is not shown. It bounds what one takes of a turn to some milliseconds. */
const readCharsMax = 65_536;
/** Characters that are read for each one shown. Values of an address that are removed may be long. */
const [readPerCharOfUrl, readPerChar] = [8, 2];
/** Who somebody is opens nothing. */
const personal = new Set<SecretKind>(['email', 'phone', 'username']);

/** An absolute or relative address. */
export function redactUrl(address: string, redaction: Redaction): string {
  const { placeholder, rule = 'credentials' } = redaction;
  if (rule === 'own') return withoutOwnSecrets(address.replace(/^(\/+(?:c|%63)\/+)[^/]+/i, `$1${placeholder}`), placeholder);
  if (rule === 'names') return redactText(address, redaction);
  const url = withoutUserinfo(read(address, readPerCharOfUrl, redaction).replace(/^([a-z][\w+.-]*:\/\/)[^/?#]*@/i, '$1'));
  if (rule === 'credentials') return cut(maskUrl(url, placeholder), address, redaction);
  const [, base = '', query, fragment] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(url) ?? [];
  // These addresses contain their document.
  if (/^(data|javascript|blob):/i.test(base)) return `${base.slice(0, base.indexOf(':') + 1)}${placeholder}`;
  const masked = maskUrl(base, placeholder);
  if (rule === 'bare') return cut(masked, masked, redaction);
  const names = query
    ?.split('&')
    .map((pair) => (pair.includes('=') ? `${pair.slice(0, pair.indexOf('='))}=${placeholder}` : pair && placeholder));
  const shown = `${masked}${names ? `?${names.join('&')}` : ''}${fragment ? `#${placeholder}` : ''}`;
  return cut(shown, address, redaction);
}

/** The value of a header of this name. */
export function redactHeader(name: string, value: string, redaction: Redaction): string {
  const { placeholder, rule = 'credentials' } = redaction;
  if (isCredentialHeader(name)) return placeholder;
  if (rule !== 'credentials' && isUrlHeader(name)) return redactUrl(value, redaction);
  const text = withoutUserinfo(read(value, readPerChar, redaction));
  const masked = replaceHits(text, placeholder, (report) => scanHeader(name, text, true, report));
  return rule === 'credentials' ? cut(masked, value, redaction) : redactText(masked, redaction);
}

/** Absolute addresses in a text, such as a console message. */
const urlPattern = /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s"'<>`]+/gi;

/** A line of text, such as one of the console. */
export function redactText(line: string, redaction: Redaction): string {
  const { placeholder, rule = 'credentials' } = redaction;
  if (rule === 'own') return withoutOwnSecrets(line, placeholder);
  if (rule === 'names') return withoutNamedSecrets(line, placeholder);
  const whole = read(line, readPerChar, redaction);
  const shown =
    rule === 'values'
      ? whole.replace(urlPattern, (url) => redactUrl(url, { placeholder, rule }))
      : rule === 'bare'
        ? withoutIds(whole, placeholder)
        : whole;
  const text = withoutUserinfo(shown);
  const masked = replaceHits(text, placeholder, (report) => scanText(text, 'text', report));
  return cut(masked, line, redaction);
}

const read = (text: string, readPerShown: number, { charsMax = readCharsMax }: Redaction): string =>
  text.slice(0, Math.min(readCharsMax, readPerShown * charsMax));

/** The result at its maximum length; it says so where the original was not read to its end. */
function cut(result: string, original: string, { charsMax }: Redaction): string {
  if (charsMax === undefined) return original.length > readCharsMax ? `${result}…` : result;
  return result.length > charsMax ? `${cutText(result, charsMax - 1)}…` : cutText(result, charsMax);
}

/** Removes `user:password@` of the addresses in a text. */
const withoutUserinfo = (text: string): string => text.replaceAll(/\b(\w+:\/\/)[^/?#\s]*@/g, '$1');

/** Removes queries, also of relative addresses, user and password without a scheme, and what is likely an id. */
const withoutIds = (text: string, placeholder: string): string =>
  text
    .replaceAll(/\?[^\s"'<>]*/g, '')
    .replaceAll(/\/\/[^\s"'<>/@]*@/g, '//')
    .replaceAll(/[\w-]{12,}/g, (run) => (/\d/.test(run) && /[a-z]/i.test(run) ? placeholder : run));

/** Keys and tokens of this service, also cut ones, and with an escape. */
const ownSecrets = /brt(?:_|%5f)[\w%]*/gi;
const withoutOwnSecrets = (text: string, placeholder: string): string => text.replaceAll(ownSecrets, placeholder);

/** A longer name of a parameter is none. */
const nameCharsMax = 100;

function withoutNamedSecrets(text: string, placeholder: string): string {
  const isSecret = (name: string): boolean => isSecretField(name) || kindOfName(decoded(name, true)) !== null;
  const shown = text.replaceAll(/[?&][^?&#\s]*/g, (pair) => {
    const equals = pair.indexOf('=');
    return equals > 0 && equals < nameCharsMax && isSecret(pair.slice(1, equals)) ? `${pair.slice(0, equals)}=${placeholder}` : pair;
  });
  return withoutOwnSecrets(shown.replaceAll(/\b(\w+:\/\/)[^/\s]*@/g, `$1${placeholder}@`), placeholder);
}

const maskUrl = (url: string, placeholder: string): string =>
  replaceHits(url, placeholder, (report) => {
    scanForms(url, report);
    scanUrl(
      url,
      () => report,
      (value, range) => scanInside(value, within(url, range, report)),
    );
  });

function replaceHits(text: string, placeholder: string, scan: (report: ReportHit) => void): string {
  const hits: Hit[] = [];
  scan((hit) => {
    if (hit.end > hit.start && !personal.has(hit.kind)) hits.push(hit);
  });
  hits.sort((a, b) => a.start - b.start);
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of hits) {
    if (start >= from) parts.push(text.slice(from, start), placeholder);
    from = Math.max(from, end);
  }
  parts.push(text.slice(from));
  return parts.join('');
}

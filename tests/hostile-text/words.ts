/** Addresses, selectors, patterns, headers and other words of callers and sites. */
import { fill, fillWhole, kilobytes, megabytes } from './fill.ts';

/** A browser reports addresses of up to 2 MB. */
export const hostileUrls: readonly string[] = [
  `https://a.test/?${fill('&', 2 * megabytes)}`,
  `https://a.test/?${fill('a=b&', 2 * megabytes)}`,
  `https://${fill('@', 2 * megabytes)}`,
  `https://a.test/#${fill('#', 2 * megabytes)}`,
  `https://${fill('a.', 16 * kilobytes)}test/`,
  `http://${fill('.', 16 * kilobytes)}a`,
  `http://a${fill('.', 16 * kilobytes)}`,
  `http://[${fill(':', 16 * kilobytes)}]/`,
  fill('a:', 2 * megabytes),
  fill('a+', 2 * megabytes),
  fill('a://', 2 * megabytes),
  fill('token=a://b@', 2 * megabytes),
];

export const hostileSelectors: readonly string[] = [
  ...[':not(', ':has(a ', 'a,', '[a=', '"', '\\', ':is(*)', 'a>', ':nth-child(2n+1)', ':has(*):not(:has(*))'].map((unit) =>
    fill(unit, 2000),
  ),
  ...[':not(', ':has(', ':is('].map((open) => `${open.repeat(360)}a${')'.repeat(360)}`),
  ...['[role=', '[ role ', ' ', 'a['].map((unit) => `aria/${fill(unit, 1990)}`),
  fill('(', 2000),
  fill('{{', 2000),
  fill('{{inputs.a}}', 2000),
];

const patternSources = ['\\p{RGI_Emoji}', '[^\\P{L}]', '[\\p{L}--\\p{Lu}]', '(a+)+', '(', '[', '\\', '(?<=a)', 'a{1,9999}'];

export const hostilePatterns: readonly string[] = [
  ...patternSources.map((unit) => `/${fillWhole(unit, 480)}/iv`),
  `b${'a'.repeat(499)}`,
  `${'a'.repeat(499)}b`,
  `*${'a*'.repeat(240)}b*`,
  `${'ab'.repeat(200)}aa${'ab'.repeat(49)}`,
];
export const patternTexts: readonly string[] = [fill('a', 8 * megabytes), fill('ab', 8 * megabytes), fill('aaab', 8 * megabytes)];

/** Values of headers, cookies among them. */
export const hostileHeaders: readonly string[] = [
  fill('a=b; ', 16_000),
  fill(';', 16_000),
  fill('=', 8000),
  `a=b; expires=${fill('1', 8000)}`,
  `a=b; expires=${fill('1 ', 8000)}`,
  `a=b; path=${fill('/', 8000)}`,
  `a=b; domain=${fill('.a', 8000)}`,
  fill('Bearer ', 16_000),
  fill('bytes=-', 16_000),
  fill('//', 16_000),
];

/** JSON of requests, of about that size. */
export const hostileJson = (bytes: number): readonly string[] => [
  fill('[', bytes),
  `${fill('[', bytes / 2)}${fill(']', bytes / 2)}`,
  `{"a":[${fillWhole('{},', bytes - 100)}{}]}`,
  `{${Array.from({ length: bytes / 15 }, (_, i) => `"key${i}":1`).join(',')}}`,
  `{"a":"${fill('\\u0061', bytes - 100)}"}`,
  `{"a":"${fill('\\ud800', bytes - 100)}"}`,
  `{"constructor":${fillWhole('{"a":', 300)}1${'}'.repeat(60)}}`,
  `[${fill('"\\"', bytes - 100)}`,
  `{"__proto__":${fill('[', 60)}`,
];

export const hostilePlaylists: readonly string[] = [
  ...['\n', '#EXTINF:1\nseg00001.m4s\n', ' \n', '#EXTINF:1e'].map((unit) => fill(unit, 3.5 * megabytes)),
];

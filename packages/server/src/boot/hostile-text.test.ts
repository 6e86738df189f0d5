/**
 * Every parser that reads text of strangers in the worker's own thread gets the
 * hostile corpus: no turn of the event loop may take long, since all tenants of
 * a worker share it.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as pause } from 'node:timers/promises';
import { Condition, isBrowsable, parseSelector, WebUrl } from '@berth/contract';
import { hostileBodies, hostileTypes } from '../../../../tests/hostile-text/bodies.ts';
import { delayBounds, describeDelay, measureLeastDelay, p999Of } from '../../../../tests/hostile-text/delay.ts';
import { hostilePages } from '../../../../tests/hostile-text/pages.ts';
import { hostileRobots } from '../../../../tests/hostile-text/robots.ts';
import * as words from '../../../../tests/hostile-text/words.ts';
import { classify, readOutline, decodeBody, invalidSelectors, kindOf, parseRobots, toDate, toNumber } from '@berth/reading';
import { sanitizeFileName, type NetworkEntry } from '@berth/devtools';
import { toHar } from '../sessions/drive/records/har.ts';
import { parseAuthority, parseHost } from '../../../egress/src/names/addresses.ts';
import { RequestCookies } from '../../../egress/src/client/cookies.ts';
import { parseFileName, readBody } from '../work/fetch/result.ts';
import { parseJson } from '../http/body/json.ts';
import { smallBodyBytesMax } from '../http/body/large-bodies.ts';
import { redactText, redactUrl } from '@berth/lib/secrets/redact/redact.ts';
import { cutText } from '@berth/lib/text/text.ts';
import { closePlaylist } from '../watch/recordings/video/playlist.ts';
import { recorded, redactData } from '../watch/recordings/redact.ts';
import { domainOf, pageOf as pageOfUrl } from '@berth/lib/text/domains.ts';
import { matchesPlain } from '../../../devtools/src/steps/locators/read.ts';

type Parse = (text: string) => unknown;

const allSamples: number[] = [];

/** Runs each parser on each text in a turn of its own. */
async function assertLoopRuns(t: TestContext, texts: readonly string[], parsers: Readonly<Record<string, Parse>>): Promise<void> {
  for (const [name, parse] of Object.entries(parsers)) {
    const delay = await measureLeastDelay(async () => {
      for (const text of texts) {
        await parse(text);
        await pause();
      }
    });
    allSamples.push(...delay.samples);
    t.diagnostic(`${name}: ${describeDelay(delay)}`);
    assert.ok(delay.max <= delayBounds.max, `${name} holds up the event loop for ${describeDelay(delay)}`);
  }
}

const pageOf = (html: string, status: number) => ({
  status,
  headers: {},
  cookieNames: [],
  url: 'http://site.test/',
  contentType: 'text/html',
  title: '',
  html,
  visibleTextLength: null,
  dom: null,
  netError: null,
});

const entryOf = (url: string, value: string): NetworkEntry => ({
  requestId: '1',
  startedAt: new Date(0),
  method: 'GET',
  url,
  resourceType: 'Document',
  requestHeaders: { cookie: value, referer: value },
  requestBytes: 100,
  status: 200,
  statusText: value,
  protocol: value,
  responseHeaders: { 'set-cookie': value, location: value, [value.slice(0, 200)]: value },
  mimeType: value,
  redirectUrl: url,
  remoteAddress: null,
  fromCache: false,
  fromServiceWorker: false,
  bodyBytes: 0,
  wireBytes: 0,
  error: null,
  timings: { blockedMs: 0, dnsMs: 0, connectMs: 0, sslMs: 0, sendMs: 0, waitMs: 0, receiveMs: 0 },
  totalMs: 0,
});
/** A HAR of texts that are as long as the network log keeps them. */
const harOf = (url: string, value: string) => {
  const entries = Array<NetworkEntry>(100).fill(entryOf(cutText(url, 8192), cutText(value, 4096)));
  return toHar({ since: new Date(0), entries, dropped: 0 }, { title: value, startedAt: new Date(0) });
};

/** A head has at most 64 KiB. */
const [cookieChars, headers] = [8192, 8];

describe('the event loop runs while the worker reads', () => {
  it('the event loop runs while the worker reads hostile robots.txt', (t) =>
    assertLoopRuns(t, Object.values(hostileRobots.texts), {
      'reading and matching': async (text) => {
        const rules = await parseRobots(text, 'Berth');
        for (const path of hostileRobots.paths) await rules.allows(`http://site.test${path}`);
      },
    }));

  it('the event loop runs while the worker reads the beginning of hostile pages', (t) =>
    assertLoopRuns(t, Object.values(hostilePages), {
      outline: readOutline,
      'block detection of a page': (html) => classify(pageOf(html, 200)),
      'block detection of a refusal': (html) => classify(pageOf(html, 403)),
      'block detection by title and address': (html) =>
        classify({
          ...pageOf('', 403),
          title: html,
          url: `http://site.test/${html.slice(0, 100_000)}`,
          headers: { server: html.slice(0, 100_000) },
        }),
    }));

  it('the event loop runs while the worker reads hostile bodies in any encoding, of any type, JSON and PDF among them', (t) =>
    assertLoopRuns(t, Object.keys(hostileBodies), {
      decoding: (name) => decodeBody(hostileBodies[name]?.body ?? Buffer.alloc(0), hostileBodies[name]?.contentType ?? null),
      'a file of a fetch': async (name) => {
        const { contentType, body } = hostileBodies[name] ?? assert.fail(name);
        const result = await readBody({ data: body, truncated: false }, { contentType, headers: {} }, { formats: ['text', 'markdown'] });
        await pause();
        JSON.stringify(result.json);
      },
    }));

  it('the event loop runs while the worker reads hostile content types and file names', (t) =>
    assertLoopRuns(t, hostileTypes, {
      'kind of a body': (type) => kindOf(type, Buffer.from(type)),
      'charset of a body': (type) => decodeBody(Buffer.from('a'), type),
      'file name': parseFileName,
      'file name of a download': sanitizeFileName,
    }));

  it('the event loop runs while the worker reads hostile addresses', (t) =>
    assertLoopRuns(t, words.hostileUrls, {
      'addresses of requests': (url) => [WebUrl.safeParse(url), isBrowsable(url.slice(0, 8192))],
      hosts: (url) => [parseHost(url.slice(7, 16_000)), parseAuthority(`${url.slice(7, 16_000)}:80`), domainOf(url), pageOfUrl(url)],
      recordings: (url) => [redactUrl(url, recorded), redactText(url, recorded), redactData({ url, other: [url, url] })],
      logs: (url) => redactText(url.slice(0, 16_000), { placeholder: '[secret]', rule: 'names' }),
      HAR: (url) => harOf(url, 'a'),
    }));

  it('the event loop runs while the worker reads hostile headers and cookies', (t) =>
    assertLoopRuns(t, words.hostileHeaders, {
      cookies: (value) => {
        const cookies = new RequestCookies();
        cookies.take(Array<string>(headers).fill(value.slice(0, cookieChars)), new URL('http://site.test/'));
        cookies.give([{ name: 'a', value, domain: value }], new URL('http://site.test/'));
      },
      HAR: (value) => harOf('http://site.test/', value),
    }));

  it('the event loop runs while the worker reads hostile selectors, templates and patterns', async (t) => {
    await assertLoopRuns(t, words.hostileSelectors, {
      locators: parseSelector,
      'CSS selectors': (selector) => invalidSelectors([selector]),
    });
    await assertLoopRuns(t, words.hostilePatterns, {
      'patterns of one request': (pattern) => Array.from({ length: 200 }, () => Condition.safeParse({ text: pattern })),
    });
    const texts = words.patternTexts.flatMap((text) => words.hostilePatterns.map((pattern) => [pattern, text] as const));
    await assertLoopRuns(
      t,
      texts.map((_, i) => String(i)),
      { 'texts of pages': (i) => matchesPlain(...(texts[Number(i)] ?? assert.fail())) },
    );
  });

  // Larger bodies are parsed in threads.
  it('the event loop runs while the worker reads hostile JSON of requests', (t) =>
    assertLoopRuns(t, words.hostileJson(smallBodyBytesMax), { JSON: parseJson }));

  it('the event loop runs while the worker reads hostile playlists of recordings', (t) =>
    assertLoopRuns(t, words.hostilePlaylists, { playlist: (text) => closePlaylist(text, new Map([['seg00001.m4s', 1]])) }));

  it('the event loop runs while the worker reads hostile numbers and dates', (t) =>
    assertLoopRuns(t, [...words.hostileHeaders, ...['1', "1'", '1,', '.1', '-', '1 of ', 'a1'].map((unit) => unit.repeat(5000))], {
      numbers: toNumber,
      dates: toDate,
    }));

  it('reading all hostile texts has hardly a longer turn of the event loop', (t) => {
    const p999 = p999Of(allSamples);
    t.diagnostic(`${p999.toFixed(1)} yardsticks at the 99.9th percentile of ${allSamples.length} samples`);
    assert.ok(p999 <= delayBounds.p999, `${p999} yardsticks`);
  });
});

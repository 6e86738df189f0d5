/**
 * Results of strangers that are large as a whole: what the worker does with them
 * in its own thread takes no long turn of the event loop.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as pause } from 'node:timers/promises';
import { ValidationError } from '@berth/contract';
import { delayBounds, describeDelay, measureDelay, p999Of } from '../../../../tests/hostile-text/delay.ts';
import { type NetworkEntry, importRecorder } from '@berth/devtools';
import { toHar } from '../sessions/drive/records/har.ts';
import { redactSecrets } from '@berth/flows';
import { readHar } from '../work/inspect/har/read-har.ts';
import { createReport, type ReportOptions } from '@berth/site-report';
import { Reports } from '../work/inspect/reports.ts';
import { sampleReport, toReportHtml } from '@berth/site-report/testing/sections.ts';
import { toStoredOutcome } from '../work/jobs/outcome.ts';
import { JsonReader } from '@berth/lib/json/reader.ts';
import { toJsonText } from '@berth/lib/json/text.ts';
import { silentLog } from '@berth/lib/log.ts';

const allSamples: number[] = [];
/** A long turn counts when it is one each time: elsewhere it is a collection of garbage, or a busy host. */
const triesMax = 3;

async function assertShortTurns(t: TestContext, work: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  for (const [name, run] of Object.entries(work)) {
    let best = await measureDelay(run);
    for (let tries = 1; tries < triesMax && best.max > delayBounds.p999; tries += 1) {
      const next = await measureDelay(run);
      if (next.max < best.max) best = next;
    }
    allSamples.push(...best.samples);
    t.diagnostic(`${name}: ${describeDelay(best)}`);
    assert.ok(best.max <= delayBounds.max, `${name} holds up the event loop for ${describeDelay(best)}`);
  }
}

const entryOf = (url: string): NetworkEntry => ({
  ...{ requestId: '1', startedAt: new Date(0), method: 'GET', url, resourceType: 'Document', requestHeaders: {}, requestBytes: 100 },
  ...{ status: 200, statusText: '', protocol: 'h2', responseHeaders: {}, mimeType: 'text/html', redirectUrl: url, remoteAddress: null },
  ...{ fromCache: false, fromServiceWorker: false, bodyBytes: 0, wireBytes: 0, error: null, totalMs: 0 },
  timings: { blockedMs: 0, dnsMs: 0, connectMs: 0, sslMs: 0, sendMs: 0, waitMs: 0, receiveMs: 0 },
});

/** Many hosts, endpoints with samples, batches of GraphQL operations, and long addresses that all have to be escaped. */
function busyHar(): string {
  const types = ['script', 'image', 'xhr', 'fetch', 'stylesheet', 'font', 'document'];
  const json = [{ name: 'content-type', value: 'application/json' }];
  const operations = (index: number): string =>
    JSON.stringify(Array.from({ length: 20 }, (_, n) => ({ operationName: `Op${index}x${n}`, query: `query Op${index}x${n} { a }` })));
  const entries = Array.from({ length: 2000 }, (_, index) => {
    const isBatch = index % 3 === 0;
    const url = isBatch ? `https://h${index % 50}.test/graphql` : `https://h${index % 900}.test/${index}/`.padEnd(1500, '&<"x');
    const postData = isBatch ? { postData: { mimeType: 'application/json', text: operations(index) } } : {};
    const content = { size: 100_000, mimeType: 'application/json', text: '{"data":{"a":[1,2,3],"id":5}}' };
    return {
      ...{ startedDateTime: new Date(index).toISOString(), time: 5, cache: {}, timings: { send: 0, wait: 1, receive: 0 } },
      _resourceType: types[index % types.length],
      request: { method: isBatch ? 'POST' : 'GET', url, httpVersion: 'h2', headers: json, queryString: [], cookies: [], ...postData },
      response: { status: index % 5 ? 200 : 404, statusText: '', httpVersion: 'h2', headers: json, cookies: [], redirectURL: '', content },
    };
  });
  return JSON.stringify({ log: { version: '1.2', creator: { name: '', version: '' }, entries } });
}

const ignoringRefusal = async (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

describe('the event loop runs while the worker handles results', () => {
  it('the event loop runs while secrets are taken out of results', (t) => {
    const letters = 'abcdefghijklmnopqrst'.split('');
    const chained = Object.fromEntries(letters.map((letter, index) => [(letters[index + 1] ?? 'z').repeat(64), letter.repeat(3)]));
    const nearly = Object.fromEntries(letters.map((letter, index) => [letter, `${'a'.repeat(900 + index)}b`]));
    const escaped = Object.fromEntries(letters.map((letter) => [letter, `${letter}${'é"& '.repeat(249)}`]));
    const list = Array.from({ length: 300_000 }, (_, index) => ({ name: `row ${index}`, price: index }));
    return assertShortTurns(t, {
      'names of secrets with secrets': () => ignoringRefusal(redactSecrets('a'.repeat(300_000), chained)),
      'short secrets': () => ignoringRefusal(redactSecrets('aaabbbccc'.repeat(500_000), chained)),
      'secrets that nearly match': () => redactSecrets('a'.repeat(8_000_000), nearly),
      'secrets with many forms': () => redactSecrets('é"& '.repeat(2_000_000), escaped),
      'many values': () => redactSecrets(list, { pin: 'row' }),
    });
  });

  it('the event loop runs while replies are written: the HAR of a session, and lists without a long text', (t) => {
    const value = 'x'.repeat(4096);
    const names = Array.from({ length: 100 }, (_, index) => `x-header-${index}`);
    const entries = Array.from({ length: 2000 }, (_, index) => {
      // As many as the log holds.
      const headers = Object.fromEntries(index < 15 ? names.map((name) => [name, value]) : []);
      return { ...entryOf(`http://site.test/${index}/`.padEnd(8192, '&a=')), requestHeaders: headers, responseHeaders: headers };
    });
    const since = new Date(0);
    const rows = Array.from({ length: 300_000 }, (_, index) => ({ index, name: `row ${index}`, price: index / 3 }));
    return assertShortTurns(t, {
      'the HAR of a session': async () => toJsonText({ ...(await toHar({ since, entries, dropped: 0 }, { title: '', startedAt: since })) }),
      'a list of rows': () => toJsonText({ results: rows, vars: { rows }, outputs: [{ index: 0, output: rows }] }),
      'a list of texts': () => toJsonText({ results: [{ output: Array.from({ length: 2000 }, () => 'é"\\n'.repeat(4000)) }] }),
    });
  });

  it('the event loop runs while recordings are imported', (t) => {
    const selectors = [['#a']];
    const attempt = (steps: unknown[]) => async () => {
      assert.throws(() => importRecorder({ steps }), ValidationError);
      await pause();
    };
    const events = Array.from({ length: 60_000 }, () => ({ type: 'other' }));
    return assertShortTurns(t, {
      'many clicks': attempt(Array.from({ length: 99_000 }, () => ({ type: 'click', selectors }))),
      'many faults': attempt(
        Array.from({ length: 500 }, () => ({ type: 'click', selectors: [[]], offsetX: 'x', offsetY: 'y', button: 1 })),
      ),
      'many events': attempt([{ type: 'click', selectors, offsetX: 1, offsetY: 1, assertedEvents: events }]),
    });
  });

  it('the event loop runs while the report on a HAR of 32 MB is made, stored, and read again', async (t) => {
    const pairs = Array.from({ length: 200 }, (_, index) => ({ name: `n${index}`, value: `v${index}` }));
    const request = { method: 'GET', url: 'https://a.test/', httpVersion: 'h2', headers: pairs, queryString: pairs, cookies: [] };
    const response = {
      status: 200,
      statusText: '',
      httpVersion: 'h2',
      headers: [],
      cookies: [],
      redirectURL: '',
      content: { size: 0, mimeType: '' },
    };
    const entry = {
      startedDateTime: new Date(0).toISOString(),
      time: 1,
      request,
      response,
      cache: {},
      timings: { send: 0, wait: 1, receive: 0 },
    };
    const har = JSON.stringify({
      log: { version: '1.2', creator: { name: '', version: '' }, entries: Array.from({ length: 2500 }, () => entry) },
    });
    // Ten seconds of a processor, of which a busy machine may give a thread of low priority a thirtieth. How long it takes is not asked here.
    const reports = new Reports({ log: silentLog, runMs: 400_000 });
    const reader = new JsonReader(silentLog);
    const call = { owner: 'anna', size: har.length, signal: new AbortController().signal };
    const options: ReportOptions = { include: ['site', 'har'], capture_bodies: 'schema' };
    const usage = { actions: 1, egress_bytes: 0, captcha_solves: 0, credits: 0 };
    try {
      let report: unknown = null;
      await assertShortTurns(t, {
        'a report': async () => (report = await reports.create({ source: { har, maxBodyBytes: 1000 }, options }, call)),
      });
      let bytes = Buffer.alloc(0);
      await assertShortTurns(t, {
        'its result': async () => {
          const { result } = await toStoredOutcome({ status: 'ok', result: report as Record<string, unknown>, error: null, usage });
          bytes = Buffer.from(result ?? assert.fail('too large'));
        },
        'reading it': async () => assert.ok(await reader.read(bytes, call)),
      });
      assert.ok(bytes.length > 2 * 1024 ** 2, `${bytes.length} bytes`);
    } finally {
      await Promise.all([reports.close(), reader.close()]);
    }
  });

  it('the event loop runs while the page of a report with as many endpoints, operations and files as allowed is made', (t) => {
    const reading = readHar(busyHar(), { bodyBytesMax: 100_000 });
    assert.ok('capture' in reading);
    const include: ReportOptions['include'] = ['site', 'api', 'auth', 'assets', 'third_parties', 'cookies', 'security', 'seo'];
    const report = { ...sampleReport(), ...createReport(reading.capture, { include, capture_bodies: 'samples' }) };
    return assertShortTurns(t, { 'its page': () => toReportHtml(report) });
  });

  it('handling all hostile results has hardly a longer turn of the event loop', (t) => {
    const p999 = p999Of(allSamples);
    t.diagnostic(`${p999.toFixed(1)} yardsticks at the 99.9th percentile of ${allSamples.length} samples`);
    assert.ok(p999 <= delayBounds.p999, `${p999} yardsticks`);
  });
});

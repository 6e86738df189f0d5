import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { fetchPage, type FetchResponse } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { fetchHostilePages } from './fetch-hostile-pages.ts';
import { Service, eventually } from '../service.ts';
import { startSite, type Site } from '../site.ts';
import { inTurn, nightly } from '../../nightly.ts';
import { assertShort } from '../../yardstick.ts';

/** The maximum delay beyond the caller's timeout, on a busy machine. */
const graceMs = 20_000;
/** Timeout of pages that must load beside what hostile pages take of the processor. */
const ordinaryMs = 20_000;
/** Timeout of pages that never finish: all of it passes, and many take all the processor meanwhile. */
const endlessMs = 1500;
/** Timeout of pages that are converted until it is over. */
const nestedMs = 5000;
const mebibyte = 1024 * 1024;

type Check = (answer: FetchResponse) => void;

const timedOut: Check = ({ status, error, warnings }) =>
  assert.ok(
    (status === 'error' && error?.code === 'timeout') || warnings.includes('load_timed_out') || warnings.includes('timeout_while_reading'),
    JSON.stringify([status, error, warnings]),
  );
const failedBy =
  (...reasons: string[]): Check =>
  ({ status, error }) => {
    assert.equal(status, 'error');
    assert.ok(
      reasons.some((reason) => error?.details?.['reason'] === reason || error?.code === reason),
      JSON.stringify(error),
    );
  };
const busy: Check = ({ status, warnings }) =>
  assert.ok(status === 'ok' && warnings.includes('page_did_not_answer'), JSON.stringify(warnings));
const stopped: Check = ({ status, html, warnings }) =>
  assert.ok(status === 'ok' && html !== null && warnings.includes('script_stopped'), JSON.stringify(warnings));
/** Deeper than Chromium can lay out. */
const crashed = failedBy('page_crashed');
const isCut: Check = ({ status, warnings, raw }) => {
  assert.equal(status, 'ok');
  assert.ok(
    warnings.some((warning) => /^(body_truncated|html_truncated|truncated_at_max_(wire_)?bytes)$/.test(warning)),
    JSON.stringify(warnings),
  );
  assert.ok((raw?.bytes ?? 0) <= 12 * mebibyte);
};
const shows =
  (words: string, more: Check = () => undefined): Check =>
  (answer) => {
    assert.equal(answer.status, 'ok', JSON.stringify([answer.error, answer.block]));
    assert.ok(
      answer.text?.includes(words) || answer.html?.includes(words),
      `without “${words}”: ${JSON.stringify([answer.text?.slice(0, 300), answer.warnings])}`,
    );
    more(answer);
  };
const any =
  (...checks: Check[]): Check =>
  (answer) => {
    const issues = checks.map((check) => {
      try {
        check(answer);
        return null;
      } catch (error) {
        return error;
      }
    });
    if (!issues.includes(null)) throw new AggregateError(issues, issues.map(String).join('\n or '));
  };

describe('a fetch of hostile content', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    site = await startSite({ pages: fetchHostilePages });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    client = service.client;
    await get({ url: site.url });
  });
  after(async () => {
    await service.close();
    await site.close();
  });

  const get = async (body: Record<string, unknown>): Promise<FetchResponse> => {
    const reply = await client.call(fetchPage, { body });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    return reply.body;
  };
  const getBounded = async (path: string, body: Record<string, unknown>): Promise<FetchResponse> => {
    const timeoutMs = Number(body['timeout_ms'] ?? ordinaryMs);
    const since = performance.now();
    const answer = await get({
      url: site.url + path,
      timeout_ms: timeoutMs,
      formats: ['html', 'text', 'metadata'],
      retry: { max_attempts: 1 },
      ...body,
    });
    const took = performance.now() - since;
    assertShort(took, timeoutMs + graceMs);
    assert.equal(answer.url, site.url + path);
    return answer;
  };
  const assertNextWorks = async (mode = 'browser'): Promise<void> => {
    const home = await getBounded('/', { mode, timeout_ms: 30_000 });
    assert.deepEqual([home.status, home.status_code, home.title, home.warnings], ['ok', 200, 'Home', []]);
  };

  interface Case {
    what: string;
    path: string;
    body?: Record<string, unknown>;
    browser?: Check | null;
    http?: Check | null;
    /** Whether the whole timeout passes before it is answered. */
    endless?: boolean;
    /** Whether it is like another case; most of these take all of a processor for as long as that one. */
    rare?: boolean;
  }
  const cases: Case[] = [
    { what: 'a page without an end', endless: true, path: '/endless', browser: any(timedOut, isCut), http: isCut },
    { rare: true, what: 'a page of ten gigabytes', endless: true, path: '/ten-gigabytes', browser: any(timedOut, isCut), http: isCut },
    { what: 'a file of ten gigabytes', path: '/ten-gigabytes.bin', browser: isCut, http: isCut },
    { rare: true, what: 'a text of ten gigabytes', path: '/ten-gigabytes.txt', browser: isCut, http: isCut },
    {
      rare: true,
      what: 'a page whose bytes are asked for and have no end',
      endless: true,
      path: '/endless',
      body: { formats: ['raw'] },
      browser: any(timedOut, isCut),
      http: isCut,
    },
    { what: 'data without an end', path: '/endless-json', browser: isCut, http: isCut },
    {
      what: 'a page that is cut off',
      path: '/short',
      browser: any(shows('all that came'), failedBy('connection_reset')),
      http: any(shows('all that came'), failedBy('connection_reset')),
    },
    { what: 'a page that drips', endless: true, path: '/drip', browser: timedOut, http: timedOut },
    { rare: true, what: 'headers that drip', endless: true, path: '/drip-header', browser: timedOut, http: timedOut },
    { rare: true, what: 'a page that does not answer', endless: true, path: '/hang', browser: timedOut, http: timedOut },
    {
      what: 'a page that never fires load',
      path: '/never-loads',
      body: { timeout_ms: 8000 },
      browser: shows('Here.', timedOut),
      http: shows('Here.'),
    },
    { what: 'redirects without an end', path: '/loop', browser: failedBy('too_many_redirects'), http: failedBy('too_many_redirects') },
    {
      rare: true,
      what: 'a page that moves on without end',
      endless: true,
      path: '/reloads',
      browser: any(shows('Reloads'), timedOut, failedBy('aborted', 'context_lost')),
    },
    { what: 'a page that moves on after its load', path: '/moves-on', browser: shows('Moves on') },
    { rare: true, what: 'a page that changes its address without end', path: '/moves', browser: shows('Moves') },
    {
      what: 'three hundred thousand elements',
      endless: true,
      path: '/crowd',
      body: { formats: ['html', 'links'] },
      browser: any(shows('Crowd'), timedOut, busy),
    },
    {
      rare: true,
      what: 'a page that grows without end',
      endless: true,
      path: '/grows',
      body: { formats: ['text', 'markdown'] },
      browser: any(shows('Grows'), timedOut, busy),
    },
    { what: 'a script that never returns', endless: true, path: '/spin', browser: timedOut, http: shows('Spin') },
    {
      rare: true,
      what: 'a script that never returns after the load',
      endless: true,
      path: '/spin-later',
      browser: any(timedOut, stopped),
    },
    {
      rare: true,
      what: 'a script that never returns again and again',
      endless: true,
      path: '/spin-again',
      browser: any(shows('Spin again'), timedOut, busy),
    },
    { what: 'dialogs without end', endless: true, path: '/dialog-loop', browser: timedOut },
    { rare: true, what: 'windows without end', endless: true, path: '/windows', browser: any(shows('Windows'), timedOut, busy) },
    { rare: true, what: 'hundreds of frames', endless: true, path: '/frames?count=300', browser: any(shows('Frames'), timedOut, busy) },
    { rare: true, what: 'a page that exhausts memory', endless: true, path: '/memory', browser: any(timedOut, failedBy('page_crashed')) },
    { rare: true, what: 'two hundred downloads', path: '/downloads', browser: shows('Downloads') },
    { rare: true, what: 'history without end', endless: true, path: '/history', browser: any(shows('History'), timedOut, busy) },
    { rare: true, what: 'logs without end', endless: true, path: '/log', browser: any(shows('Log'), timedOut, busy) },
    { rare: true, what: 'a title that is changed without end', endless: true, path: '/titles', browser: any(ok, timedOut, busy) },
    { what: 'a gibibyte in a mebibyte, as a page', endless: true, path: '/gzip', browser: any(timedOut, isCut, shows('')), http: isCut },
    { rare: true, what: 'a gibibyte in a mebibyte, as a file', path: '/gzip.bin', browser: any(isCut, timedOut), http: isCut },
    { rare: true, what: 'a brotli bomb as a page', endless: true, path: '/brotli', browser: any(timedOut, isCut, shows('')), http: isCut },
    { rare: true, what: 'a brotli bomb as a file', path: '/brotli.bin', browser: isCut, http: isCut },
    { what: 'a body that is packed twice', path: '/matryoshka', browser: shows('Packed twice'), http: shows('Packed twice') },
    {
      what: 'a charset that is a lie',
      path: '/charset-utf16',
      browser: ({ status, status_code: code }) => assert.deepEqual([status, code], ['ok', 200]),
      http: ({ status }) => assert.equal(status, 'ok'),
    },
    {
      rare: true,
      what: 'a charset that does not exist',
      path: '/charset-unknown',
      browser: shows('plain letters'),
      http: shows('plain letters'),
    },
    {
      what: 'a charset in the page alone',
      path: '/charset-meta',
      browser: shows('Привет'),
      http: shows('Привет', ({ title }) => assert.equal(title, 'Привет')),
    },
    { rare: true, what: 'a byte order mark against its header', path: '/charset-bom', browser: shows('Grüße'), http: shows('Grüße') },
    { rare: true, what: 'bytes that are no text', path: '/charset-broken', browser: shows('after'), http: shows('after') },
    {
      rare: true,
      what: 'four hundred headers',
      path: '/headers-many',
      browser: shows('Many headers'),
      http: any(shows('Many headers'), failedBy('connection_reset', 'aborted')),
    },
    {
      rare: true,
      what: 'a header of 200 kB',
      path: '/headers-large',
      browser: any(shows('A large header'), failedBy('connection_reset', 'aborted')),
      http: any(shows('A large header'), failedBy('connection_reset', 'aborted')),
    },
    {
      what: 'a header of 4 MB',
      path: '/headers-huge',
      browser: failedBy('connection_reset', 'aborted'),
      http: failedBy('connection_reset', 'aborted'),
    },
    {
      what: 'a page that takes the names of the DOM',
      path: '/clobbered',
      body: { formats: ['html', 'text', 'markdown', 'links', 'metadata'] },
      browser: shows('The truth of the page', assertNotOwned),
      http: shows('The truth of the page'),
    },
    {
      rare: true,
      what: 'a page without its globals',
      path: '/frozen',
      body: { formats: ['html', 'text', 'markdown', 'links'] },
      browser: shows('Frozen'),
    },
    {
      what: 'a title of a megabyte',
      path: '/title-1mb',
      browser: shows('Under a long title', shortTitle),
      http: shows('Under a long title', shortTitle),
    },
    {
      what: 'twenty thousand levels',
      path: '/nested',
      body: { timeout_ms: 10_000, formats: ['html', 'text', 'markdown', 'links', 'metadata'] },
      browser: nestedOk,
      http: nestedOk,
    },
    {
      rare: true,
      what: 'twenty thousand lists',
      path: '/nested-list',
      body: { timeout_ms: nestedMs, formats: ['html', 'text', 'markdown'] },
      browser: any(nestedOk, crashed, busy),
      http: nestedOk,
    },
    {
      rare: true,
      what: 'twenty thousand levels by script',
      path: '/nested-script',
      body: { timeout_ms: nestedMs, formats: ['html', 'text', 'markdown'] },
      browser: any(nestedOk, crashed, busy),
    },
    { what: 'a table that spans millions of cells', path: '/wide-table', body: { formats: ['tables', 'markdown'] }, browser: ok, http: ok },
    { what: 'a page that rewrites itself', path: '/leave', browser: shows('Rewritten') },
    { what: 'a body of nothing', path: '/empty', browser: nothing(200), http: nothing(200) },
    { what: '204', path: '/nothing', browser: nothing(204), http: nothing(204) },
    { rare: true, what: '304', path: '/unchanged', browser: nothing(304), http: nothing(304) },
    { what: 'a page without a type', path: '/no-type', browser: shows('Nobody said'), http: shows('Nobody said') },
    { rare: true, what: 'a text without a type', path: '/no-type.txt', browser: shows('just some words'), http: shows('just some words') },
  ];

  // First, because threads that convert as much keep their memory for a while, which the last test reads.
  it('a fetch of hostile content returns fifty thousand links or the number of omitted ones', nightly, async () => {
    for (const [mode, formats] of [
      ['browser', ['links']],
      ['http', ['links', 'markdown']],
    ]) {
      const answer = await getBounded('/links', { mode, formats, timeout_ms: 60_000 });
      assert.equal(answer.status, 'ok', JSON.stringify(answer.error));
      assert.ok(
        answer.links?.length === 50_000 || answer.warnings.length > 0,
        JSON.stringify([mode, answer.links?.length, answer.warnings]),
      );
    }
    await assertNextWorks();
  });

  for (const [row, { what, path, body = {}, browser = null, http = null, endless = false, rare = false }] of cases.entries())
    for (const [way, [mode, check]] of (
      [
        ['browser', browser],
        ['http', http],
      ] as const
    ).entries()) {
      if (!check) continue;
      const turn = browser && http ? inTurn(row, way, 2) : {};
      const title = `a fetch of hostile content is answered in time by ${mode}, and the next one works: ${what}`;
      it(title, rare ? nightly : turn, async () => {
        // A fetch without a browser reads a page until it is too large, which takes no time, but needs the processor.
        const waits = endless && (mode === 'browser' || check === timedOut);
        const answer = await getBounded(path, { mode, timeout_ms: waits ? endlessMs : ordinaryMs, ...body });
        try {
          check(answer);
        } finally {
          await assertNextWorks(mode);
        }
      });
    }

  it('a fetch accepts uncompressed content', async () => {
    for (const mode of ['browser', 'http']) {
      const answer = await getBounded('/not-gzip', { mode });
      assert.ok(
        answer.status === 'error' || answer.warnings.length > 0 || answer.html?.includes('Not packed'),
        JSON.stringify([mode, answer.status, answer.warnings]),
      );
    }
    await assertNextWorks();
  });

  it('a fetch returns a bounded screenshot of an endless page', async () => {
    const answer = await getBounded('/scroll', { formats: ['screenshot'], timeout_ms: 12_000 });
    assert.equal(answer.status, 'ok', JSON.stringify(answer.error));
    if (answer.screenshot === null)
      assert.ok(
        answer.warnings.some((warning) => warning.startsWith('screenshot_failed')),
        JSON.stringify(answer.warnings),
      );
    else
      assert.ok(
        answer.screenshot.height <= 16_384 && answer.screenshot.warnings.length > 0,
        JSON.stringify([answer.screenshot.height, answer.warnings]),
      );
    await assertNextWorks();
  });

  it('a fetch sanitizes file names', async () => {
    const names: Record<string, RegExp> = {
      'attachment; filename="../../etc/passwd"': /^[^/\\]+$/,
      'attachment; filename="..\\\\..\\\\windows\\\\system32.dll"': /^[^/\\]+$/,
      "attachment; filename*=UTF-8''%2e%2e%2f%2e%2e%2fetc%2fpasswd": /^[^/\\]+$/,
      "attachment; filename*=UTF-8''invoice%E2%80%AEfdp.exe": /^[^\u202a-\u202e\u2066-\u2069]+$/,
      "attachment; filename*=UTF-8''a%00b%0d%0ac.txt": /^[^\0\r\n]+$/,
      [`attachment; filename="${'n'.repeat(5000)}.txt"`]: /^.{1,255}$/,
      'attachment; filename=".."': /^(?!\.\.?$).+/,
      'attachment; filename="CON"': /./,
    };
    for (const [header, form] of Object.entries(names))
      for (const mode of ['browser', 'http']) {
        const answer = await getBounded(`/named?as=${encodeURIComponent(header)}`, { mode, formats: ['raw'] });
        assert.equal(answer.status, 'ok', JSON.stringify([header.slice(0, 80), answer.error]));
        assert.equal(Buffer.from(answer.raw?.data_base64 ?? '', 'base64').toString(), 'the bytes');
        if (answer.raw?.filename !== null) assert.match(answer.raw?.filename ?? '', form, `${mode} ${header.slice(0, 80)}`);
      }
  });

  it('a fetch does not use the service worker of an earlier fetch', async () => {
    const first = await getBounded('/worker', { wait_for: { text: 'Owned by the worker' }, timeout_ms: 6000 });
    assert.equal(first.status, 'ok');
    for (let n = 0; n < 6; n += 1) {
      const answer = await getBounded('/second', {});
      assert.deepEqual([answer.status_code, answer.title], [200, 'Second']);
    }
  });

  it('fetches of hostile content do not increase the service’s memory', async (test) => {
    const kib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]);
    const megabytes = (name: string): number => Math.round(kib(name) / 1024);
    // Converter threads keep their memory for half a minute.
    await eventually('the memory is released', () => megabytes('VmRSS') < 700, 60_000);
    test.diagnostic(`worker: ${megabytes('VmRSS')} MB, at most ${megabytes('VmHWM')} MB`);
    assert.ok(megabytes('VmHWM') < 1500, `${megabytes('VmHWM')} MB at most`);
  });
});

function assertNotOwned({ html, text, title, markdown, links }: FetchResponse): void {
  assert.equal(title, 'Clobbered');
  assert.ok(html?.includes('An exit'));
  assert.ok(text?.includes('An exit') && markdown?.includes('An exit'), JSON.stringify([text, markdown]));
  assert.ok(links?.some(({ url }) => url.endsWith('/there')));
}

function shortTitle({ title, page: pageMetadata, warnings }: FetchResponse): void {
  assert.ok(
    (title ?? '').length <= 64 * 1024 && (pageMetadata?.title ?? '').length <= 64 * 1024,
    `${title?.length} ${pageMetadata?.title?.length} ${JSON.stringify(warnings)}`,
  );
}

function ok({ status, error }: FetchResponse): void {
  assert.equal(status, 'ok', JSON.stringify(error));
}

/** Formats that cannot be created are missing with a warning. */
function nestedOk({ status, text, markdown, html, warnings, error }: FetchResponse): void {
  assert.equal(status, 'ok', JSON.stringify(error));
  assert.ok(html?.includes('The bottom.'), JSON.stringify([html?.length, warnings]));
  for (const [format, made] of Object.entries({ text, markdown }))
    assert.ok(made?.includes('The bottom.') || warnings.length > 0, `${format}: ${JSON.stringify([made?.slice(-100), warnings])}`);
}

function nothing(code: number): Check {
  return ({ status, status_code: reported, text, title, raw, warnings }) => {
    assert.deepEqual([status, reported], ['ok', code]);
    assert.deepEqual([text ?? '', title ?? '', raw?.bytes ?? 0, warnings], ['', '', 0, []]);
  };
}

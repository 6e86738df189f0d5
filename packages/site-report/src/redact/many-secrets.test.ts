/** Secrets that a capture shows once as such, and elsewhere only by being the same: however much stands before and between. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspectSections } from '@berth/contract';
import type { Capture } from '../capture.ts';
import { createReport } from '../report.ts';
import { entry, page } from '../../testing/captures.ts';
import { redact } from './redact.ts';

const secrets = {
  password: 'Sommer-2026!',
  access_token: 'k3JdP0aLx8Zt5Qw1Yv7Ub2',
  private_note_secret: 'k3Jd-P0aLx8Zt5Qw1Yv7'.repeat(400),
};
const values = Object.values(secrets);
const login = entry('https://shop.test/login', { type: 'fetch', reply: JSON.stringify(secrets) });

/** A text of some length in which `unit` comes again and again, each time with another number. */
const numbered = (chars: number, unit: (i: number) => string): string => {
  const parts: string[] = [];
  for (let size = 0; size < chars; size += parts.at(-1)?.length ?? 0) parts.push(unit(parts.length));
  return parts.join('');
};

/** What stands before an echo: words, one word, and secrets of others, each of which is searched for as well. */
const fillings: Record<string, (chars: number) => string> = {
  words: (chars) => numbered(chars, () => 'The quick brown fox jumps over it. '),
  'one word': (chars) => 'a'.repeat(chars),
  'e-mail addresses': (chars) => numbered(chars, (i) => `customer.${i}@mail${i % 97}.example.org, `),
};

const captureOf = (entries: Capture['har']['log']['entries'], html = ''): Capture => ({
  url: 'https://shop.test/',
  har: { log: { version: '1.2', creator: { name: 'test', version: '1' }, entries } },
  pages: [page({ html })],
  cookies: [],
  probes: [],
  actions: [],
  loss: { droppedRequests: 0, droppedBytes: 0, reasons: [] },
});

/** Text of every type, with the secrets at its end. */
function echoes(filling: string): { mimeType: string; body: string }[] {
  const shown = values.join(' | ');
  return [
    { mimeType: 'text/plain', body: `${filling} ${shown} x` },
    { mimeType: 'application/json', body: JSON.stringify({ a: filling, b: values }) },
    { mimeType: 'text/html', body: `<p>${filling}</p><p>${shown}</p>` },
    { mimeType: 'text/javascript', body: `const a=${JSON.stringify(filling)}, b=${JSON.stringify(shown)};` },
    { mimeType: 'text/css', body: `/*${filling}*/ a{content:"${shown}"}` },
    { mimeType: 'application/xml', body: `<a>${filling}<b>${shown}</b></a>` },
  ];
}

const shownIn = (output: string): string[] => values.filter((value) => output.includes(value) || output.includes(value.slice(-20)));

describe('secrets that only their equality with a known one reveals', () => {
  for (const [name, fill] of Object.entries(fillings))
    for (const chars of [150_000, 1_000_000])
      it(`redact replaces an echo behind ${chars} characters of ${name} in a text of any type`, () => {
        const replies = echoes(fill(chars)).map(({ mimeType, body }, i) =>
          entry(`https://shop.test/e${i}`, { type: 'fetch', reply: body, mimeType }),
        );
        for (const entries of chars > 150_000
          ? [[...replies, login]]
          : [
              [login, ...replies],
              [...replies, login],
            ])
          for (const { request, response } of redact(captureOf(entries)).capture.har.log.entries)
            assert.deepEqual(shownIn(response.content.text ?? ''), [], request.url);
      });

  it('redact replaces an echo behind five million characters, in a reply and in the page', () => {
    for (const fill of Object.values(fillings)) {
      const [, json, html] = echoes(fill(5_000_000));
      assert.ok(json && html);
      const echo = entry('https://shop.test/echo', { type: 'fetch', reply: json.body, mimeType: json.mimeType });
      assert.deepEqual(shownIn(JSON.stringify(redact(captureOf([echo, login], html.body)).capture)), []);
    }
  });

  it('no section of a report shows an echo behind the addresses of 10,000 customers', () => {
    const [, json, html, script] = echoes(fillings['e-mail addresses']?.(400_000) ?? assert.fail());
    assert.ok(json && html && script);
    const replies = [json, html, script].map(({ body, mimeType }, i) =>
      entry(`https://shop.test/e${i}`, { type: 'fetch', reply: body, mimeType }),
    );
    const report = createReport(captureOf([...replies, login], html.body), { include: [...inspectSections], capture_bodies: 'samples' });
    assert.deepEqual(shownIn(JSON.stringify(report)), []);
  });

  it('redact replaces an echo of a password behind 15,000 tokens', () => {
    const tokens = numbered(600_000, (i) => `token=aZ9xQ${i}Kq7T2p0dW${i * 7}Lm `);
    const body = `${tokens} ${values.join(' ')}`;
    const output = JSON.stringify(
      redact(captureOf([entry('https://shop.test/e', { reply: body, mimeType: 'text/plain' }), login])).capture,
    );
    assert.deepEqual(shownIn(output), []);
  });

  it('a report warns of secrets that are too many to be searched for, and of no others', () => {
    const reportOf = (count: number) => {
      const tokens = numbered(count * 40, (i) => `token=aZ9xQ${i}Kq7T2p0dW${i * 7}Lm `);
      const echo = entry('https://shop.test/e', { reply: tokens, mimeType: 'text/plain' });
      return createReport(captureOf([echo, login]), { include: ['har'], capture_bodies: 'samples' });
    };
    assert.deepEqual(reportOf(2000).warnings, []);
    assert.deepEqual(reportOf(30_000).warnings, ['secrets_not_searched']);
  });
});

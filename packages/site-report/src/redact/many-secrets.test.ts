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

describe('secrets at the end of what is long', () => {
  const random = (chars: number): string => numbered(chars, (i) => `k3${i}JdP0aLx8Z-t5Qw${i * 7}Yv7Ub_`).slice(0, chars);
  const words = fillings['words'] ?? assert.fail();
  const key = 'xK7fPq2Lm9Rt4Vb8Nc1Zs6Wd';
  const lastOf = (count: number, unit: (i: number) => string): string => Array.from({ length: count }, (_, i) => unit(i)).join('');
  /** The text, its type, and where the secret that it has ends. */
  const texts: Record<string, [mimeType: string, text: string]> = {
    'a random word of a text': ['text/plain', `${words(1_000_000)} ${key} .`],
    'the last pair of a form': ['application/x-www-form-urlencoded', `${lastOf(30_000, (i) => `a${i}=b&`)}token=${key}`],
    'the last parameter of an address in a text': ['text/plain', `see https://a.test/?${lastOf(3000, (i) => `a${i}=b&`)}x=${key} .`],
    'the last parameter of an address in a style': ['text/css', `a{b:url("https://a.test/?${lastOf(3000, (i) => `a${i}=b&`)}x=${key}")}`],
    'the last part of a form': [
      'multipart/form-data; boundary=b',
      `${lastOf(3000, (i) => `--b\r\ncontent-disposition: form-data; name="a${i}"\r\n\r\nx\r\n`)}--b\r\ncontent-disposition: form-data; name="token"\r\n\r\n${key}\r\n--b--`,
    ],
    'the last row of a table': ['text/csv', `name,password\n${lastOf(120_000, () => 'ann,\n')}bob,${key}\n`],
  };
  for (const [what, [mimeType, body]] of Object.entries(texts))
    it(`redact replaces ${what}`, () => {
      const clean = JSON.stringify(redact(captureOf([entry('https://shop.test/e', { type: 'fetch', reply: body, mimeType })])).capture);
      assert.ok(!clean.includes(key), clean.slice(-300));
    });

  for (const chars of [9000, 200_000]) {
    const value = random(chars);
    const values: Record<string, [mimeType: string, text: string]> = {
      'a value behind its name': ['text/plain', `all is well. access_token=${value} and so on`],
      'a value in quotes behind its name': ['text/javascript', `const accessToken = "${value}"; run();`],
      'a value of JSON': ['application/json', JSON.stringify({ access_token: value, a: 1 })],
      'what follows Bearer': ['text/plain', `curl -H 'x: Bearer ${value}' --next`],
    };
    for (const [what, [mimeType, body]] of Object.entries(values))
      it(`redact replaces all ${chars} characters of ${what}, and its echoes`, () => {
        const echo = entry('https://shop.test/echo', { type: 'fetch', reply: `<p>${value}</p>`, mimeType: 'text/html' });
        const clean = JSON.stringify(
          redact(captureOf([entry('https://shop.test/e', { type: 'fetch', reply: body, mimeType }), echo])).capture,
        );
        for (const part of [value.slice(0, 40), value.slice(8200, 8240), value.slice(-40)]) assert.ok(!clean.includes(part), part);
        assert.ok(clean.includes('and so on') || clean.includes('run();') || clean.includes('\\"a\\":1') || clean.includes('--next'));
      });
  }

  it('random words in tens of thousands take no place of a password', () => {
    const lines = numbered(1_500_000, (i) => `aZ9xQ${i}Kq7T2p0dW${i * 7}LmB3cN8vR5tY1uI6oP4sD0f\n`);
    const body = `${lines} ${values.join(' ')}`;
    const { capture, warnings } = redact(captureOf([entry('https://shop.test/e', { reply: body, mimeType: 'text/plain' }), login]));
    assert.deepEqual(shownIn(JSON.stringify(capture)), []);
    assert.deepEqual(warnings, ['secrets_not_searched']);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exchanges, type Exchange } from '../../../../tests/corpus/corpus.ts';
import { captchaMarks } from './captcha-marks.ts';
import { rules } from './rules.ts';
import { classify, type PageFacts } from './block-detection.ts';

const pageSize = 256 * 1024;
const fill = (unit: string, head = '', tail = ''): string =>
  head + unit.repeat(Math.ceil(pageSize / unit.length)).slice(0, pageSize - head.length - tail.length) + tail;

const factsOf = ({ status, headers, body, path }: Pick<Exchange, 'status' | 'headers' | 'body' | 'path'>): PageFacts => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  cookieNames: [headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split('=', 1)[0] ?? ''),
  url: `https://harbour.example${path}`,
  contentType: String(headers['content-type']),
  title: '',
  html: body.toString('utf8'),
  visibleTextLength: null,
  dom: null,
  netError: null,
});

const page = (html: string, status: number): PageFacts =>
  factsOf({ status, headers: { 'content-type': 'text/html' }, body: html, path: '/' });

describe('rules', () => {
  it('have ids of their own, and those of a vendor bear its name', () => {
    assert.equal(new Set(rules.map(({ id }) => id)).size, rules.length);
    for (const { id, vendor } of rules) assert.ok(id.startsWith(`${vendor}.`), id);
  });

  it('are each shown by a page of the corpus, save those that need a browser or a host of their own', () => {
    const seen = new Set(exchanges.flatMap((exchange) => classify(factsOf(exchange)).block?.evidence.map(({ id }) => id) ?? []));
    const shown = rules.filter(
      ({ sight }) => sight.kind !== 'selector' && sight.kind !== 'url' && !(sight.kind === 'captcha' && sight.displayed),
    );
    assert.deepEqual(
      shown.filter(({ id }) => !seen.has(id)).map(({ id }) => id),
      [],
    );
  });

  it('know no pattern that keeps a place of its own between two pages', () => {
    const patterns = rules.flatMap(({ sight }) => ('value' in sight && sight.value ? [sight.value] : []));
    for (const pattern of patterns) assert.ok(!pattern.global && !pattern.sticky, pattern.source);
  });
});

describe('a page of the corpus', () => {
  it('is told the same with 200 KiB of markup before its end, when it is refused', () => {
    const rows = '<div class="row"><img src="/a.png" alt="a"></div>\n'.repeat(4000);
    for (const exchange of exchanges.filter(({ expected, status }) => expected.blocked && status !== 200)) {
      const before = classify(factsOf(exchange));
      const html = exchange.body.toString('utf8').replace('</body>', `${rows}</body>`);
      const after = classify({ ...factsOf(exchange), html });
      if (before.block?.confidence === 'high')
        assert.deepEqual([after.blocked, after.block?.vendor], [true, before.block.vendor], exchange.name);
    }
  });
});

/** A second for what takes some milliseconds: what is not linear takes hours. */
const patienceMs = 1000;

describe('hostile pages', () => {
  const units = [
    '<',
    '>',
    '<a ',
    '<a b="',
    `<a b='"' c="'">`,
    '<a = ',
    '<a =',
    '<!--',
    '<!',
    '</',
    '</script',
    '<script>',
    '<title>',
    '<pre>',
    '</pre>',
    '<script src=',
    '&#',
    '&amp;',
    ' ',
    '\n',
    '"',
    '\u0000',
  ];
  const words = [
    ...rules.flatMap(({ sight }) => ('value' in sight && sight.value ? [sight.value.source] : [])),
    ...captchaMarks.map(({ value }) => value.source),
  ].map((source) => source.replace(/\\[bswd]/g, ' ').replace(/[\\^$()|?:[\]{}+*]/g, ''));
  const needles = [
    ...new Set([...rules.flatMap(({ sight }) => ('needle' in sight ? [sight.needle] : [])), ...captchaMarks.map(({ needle }) => needle)]),
  ];

  const inTime = (html: string, status: number): void => {
    const startMs = performance.now();
    classify(page(html, status));
    assert.ok(performance.now() - startMs < patienceMs, html.slice(0, 80));
  };

  it('of broken markup are read in linear time', () => {
    for (const unit of units) inTime(fill(unit), 403);
    for (const unit of units) inTime(fill(unit, '<p>x'), 200);
  });

  it('of half a mark over and over are read in linear time', () => {
    for (const word of words) inTime(fill(word, '<p>'), 403);
  });

  it('of marks in tags and scripts are read in linear time', () => {
    inTime(fill(needles.map((needle) => `<div id="${needle}" class="${needle}" src="${needle}">`).join('')), 403);
    inTime(fill(needles.map((needle) => `<script>${needle} =</script>`).join('')), 403);
    for (const needle of needles) {
      inTime(fill(`${needle} = `, '<script>', '</script>'), 403);
      inTime(fill(`${needle}="`, `<div ${needle} `, '>'), 403);
      inTime(fill('x', `<iframe src="https://${needle}`, '">'), 403);
      inTime(fill('a.', `<iframe src="https://`, `${needle}">`), 403);
    }
  });

  it('are cut at 256 KiB', () => {
    const mark = '<div id="px-captcha"></div>';
    assert.equal(classify(page(fill(' ', '<p>', mark), 403)).block?.vendor, 'human');
    assert.equal(classify(page(fill(' ', '<p>') + mark, 403)).block, null);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exchanges, type Exchange } from '../../../../../tests/corpus/corpus.ts';
import { yardsticksOf } from '../../../../../tests/yardstick.ts';
import { captchaMarks } from './captcha-marks.ts';
import { rules } from './rules.ts';
import { classify, type PageInfo } from '../block-detection.ts';

const pageSize = 256 * 1024;
const fill = (unit: string, head = '', tail = ''): string =>
  head + unit.repeat(Math.ceil(pageSize / unit.length)).slice(0, pageSize - head.length - tail.length) + tail;

const toPageInfo = ({ status, headers, body, path }: Pick<Exchange, 'status' | 'headers' | 'body' | 'path'>): PageInfo => ({
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

const page = (html: string, status: number): PageInfo =>
  toPageInfo({ status, headers: { 'content-type': 'text/html' }, body: html, path: '/' });

describe('rules', () => {
  it('block rules have unique ids with the name of the vendor', () => {
    assert.equal(new Set(rules.map(({ id }) => id)).size, rules.length);
    for (const { id, vendor } of rules) assert.ok(id.startsWith(`${vendor}.`), id);
  });

  it('each block rule is covered by the corpus, except those that need a browser or a certain host', () => {
    const matchedIds = new Set(exchanges.flatMap((exchange) => classify(toPageInfo(exchange)).block?.evidence.map(({ id }) => id) ?? []));
    const shown = rules.filter(
      ({ source }) => source.kind !== 'selector' && source.kind !== 'url' && !(source.kind === 'captcha' && source.displayed),
    );
    assert.deepEqual(
      shown.filter(({ id }) => !matchedIds.has(id)).map(({ id }) => id),
      [],
    );
  });

  it('block rules have no pattern with state between two pages', () => {
    const patterns = rules.flatMap(({ source }) => ('value' in source && source.value ? [source.value] : []));
    for (const pattern of patterns) assert.ok(!pattern.global && !pattern.sticky, pattern.source);
  });
});

describe('a page of the corpus', () => {
  it('a refused page of the corpus is classified the same with 200 KiB of markup before its end', () => {
    const rows = '<div class="row"><img src="/a.png" alt="a"></div>\n'.repeat(4000);
    for (const exchange of exchanges.filter(({ expected, status }) => expected.blocked && status !== 200)) {
      const before = classify(toPageInfo(exchange));
      const html = exchange.body.toString('utf8').replace('</body>', `${rows}</body>`);
      const after = classify({ ...toPageInfo(exchange), html });
      if (before.block?.confidence === 'high')
        assert.deepEqual([after.blocked, after.block?.vendor], [true, before.block.vendor], exchange.name);
    }
  });
});

/** Linear work takes one or two, anything else hours. */
const yardsticksMax = 100;

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
    ...rules.flatMap(({ source }) => ('value' in source && source.value ? [source.value.source] : [])),
    ...captchaMarks.map(({ value }) => value.source),
  ].map((source) => source.replace(/\\[bswd]/g, ' ').replace(/[\\^$()|?:[\]{}+*]/g, ''));
  const needles = [
    ...new Set([
      ...rules.flatMap(({ source }) => ('needle' in source ? [source.needle] : [])),
      ...captchaMarks.map(({ needle }) => needle),
    ]),
  ];

  const assertInTime = async (html: string, status: number): Promise<void> => {
    const yardsticks = await yardsticksOf(() => classify(page(html, status)), { tries: 3 });
    assert.ok(yardsticks < yardsticksMax, `${yardsticks} yardsticks: ${html.slice(0, 80)}`);
  };

  it('hostile pages of broken markup are read in linear time', async () => {
    for (const unit of units) await assertInTime(fill(unit), 403);
    for (const unit of units) await assertInTime(fill(unit, '<p>x'), 200);
  });

  it('hostile pages that repeat half a mark are read in linear time', async () => {
    for (const word of words) await assertInTime(fill(word, '<p>'), 403);
  });

  it('hostile pages of marks in tags and scripts are read in linear time', async () => {
    await assertInTime(fill(needles.map((needle) => `<div id="${needle}" class="${needle}" src="${needle}">`).join('')), 403);
    await assertInTime(fill(needles.map((needle) => `<script>${needle} =</script>`).join('')), 403);
    for (const needle of needles) {
      await assertInTime(fill(`${needle} = `, '<script>', '</script>'), 403);
      await assertInTime(fill(`${needle}="`, `<div ${needle} `, '>'), 403);
      await assertInTime(fill('x', `<iframe src="https://${needle}`, '">'), 403);
      await assertInTime(fill('a.', `<iframe src="https://`, `${needle}">`), 403);
    }
  });

  it('pages are cut at 256 KiB before they are classified', () => {
    const mark = '<div id="px-captcha"></div>';
    assert.equal(classify(page(fill(' ', '<p>', mark), 403)).block?.vendor, 'human');
    assert.equal(classify(page(fill(' ', '<p>') + mark, 403)).block, null);
  });
});

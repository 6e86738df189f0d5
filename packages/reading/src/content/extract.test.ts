import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import convert from './convert.ts';
import { invalidSelectors, type ExtractField } from './content.ts';

const html =
  `<!doctype html><base href="/base/"><meta name=price content="9,90"><h1> The <b>thing</b> </h1>
  <p class=price>Now only 1.234,56&nbsp;€!</p><a class=more href="more?a=1">More</a><img src=i.png data-id=7>` +
  `<time datetime="2024-03-05T10:00:00+02:00">5 March</time>
  <ul><li>1<li>two<li>3</ul><input type=checkbox checked><span class=flag>Yes</span><div class=in><p>a</p><p>b</p></div>`;

type Extracted = { json: Record<string, unknown> | undefined; warnings: string[] };

async function extract(fields: Record<string, ExtractField>, source = html): Promise<Extracted> {
  const { json, warnings } = convert({
    html: source,
    url: 'https://shop.example/x/',
    formats: [],
    onlyMainContent: false,
    includeSelectors: [],
    excludeSelectors: [],
    extract: { fields },
  });
  return { json, warnings };
}

/** The value of a paragraph with this text, in a page of the language. */
async function read(type: NonNullable<ExtractField['type']>, text: string, language = ''): Promise<unknown> {
  const { json } = convert({
    html: `<html lang="${language}"><p>${text}</p>`,
    url: 'https://shop.example/',
    formats: [],
    onlyMainContent: false,
    includeSelectors: [],
    excludeSelectors: [],
    extract: { fields: { value: { selector: 'p', type } } },
  });
  return json?.['value'];
}

describe('extraction', () => {
  it('extraction reads text, markup, attributes and URLs of the first match', async () => {
    const { json, warnings } = await extract({
      title: { selector: 'h1' },
      markup: { selector: 'h1', type: 'html' },
      lines: { selector: '.in' },
      link: { selector: 'a.more', attr: 'href' },
      image: { selector: 'img', type: 'url' },
      id: { selector: 'img', attr: 'data-id', type: 'number' },
      meta: { selector: 'meta[name=price]', type: 'number' },
    });
    assert.deepEqual(json, {
      title: 'The thing',
      markup: ' The <b>thing</b> ',
      lines: 'a\n\nb',
      link: 'https://shop.example/base/more?a=1',
      image: 'https://shop.example/base/i.png',
      id: 7,
      meta: 9.9,
    });
    assert.deepEqual(warnings, []);
  });

  it('extraction returns null for a missing element, false for a missing boolean attribute', async () => {
    const { json, warnings } = await extract({
      none: { selector: 'h6' },
      nothing: { selector: 'h6', list: true },
      attribute: { selector: 'h1', attr: 'title' },
      checked: { selector: 'input', attr: 'checked', type: 'boolean' },
      disabled: { selector: 'input', attr: 'disabled', type: 'boolean' },
    });
    assert.deepEqual(json, { none: null, nothing: [], attribute: null, checked: true, disabled: false });
    assert.deepEqual(warnings, []);
  });

  it('extraction returns null and a warning for a match that is not of the type, alone or in a list', async () => {
    const { json, warnings } = await extract({
      numbers: { selector: 'li', type: 'number', list: true },
      flag: { selector: 'h1', type: 'boolean' },
      yes: { selector: '.flag', type: 'boolean' },
    });
    assert.deepEqual(json, { numbers: [1, null, 3], flag: null, yes: true });
    assert.deepEqual(warnings, ['extract_failed:numbers', 'extract_failed:flag']);
  });

  it('extraction reads powers of ten, and leaves out notes and units that are raised', async () => {
    const numbers: [string, number | null][] = [
      ['10⁶', 1e6],
      ['10⁻³ g', 1e-3],
      ['−10⁶', -1e6],
      ['3.2 × 10⁶ people', 3.2e6],
      ['6.02x10²³', 6.02e23],
      ['5*10^6', 5e6],
      ['m^2 45', 45],
      ['45 m^2', 45],
      ['per cm^-3: 7.5', 7.5],
      ['1200 EUR^1', 1200],
      ['^2 8', 8],
      ['10^3 m^2', 1000],
      ['10<sup>6</sup>', 1e6],
      ['5 × 10⁹⁹⁹', null],
      ['45 m²', 45],
      ['75.5 m<sup>2</sup>', 75.5],
      ['CO₂: 400 ppm', 400],
      ['10¹', 10],
      ['12³', 12],
      ['110⁶', 110],
      ['19.99² €', 19.99],
      ['3 × 10 cm', 3],
    ];
    for (const [text, value] of numbers) assert.equal(await read('number', text), value, text);
  });

  it('extraction reads numbers in the formats of any country', async () => {
    const numbers: [string, number | null][] = [
      ['1.234,56 €', 1234.56],
      ['$1,234.56', 1234.56],
      ['-$5', -5],
      ['1,234', 1234],
      ['0,234', 0.234],
      ['1.234', 1.234],
      ['12,5 %', 12.5],
      ['1.234.567', 1234567],
      ["1'234.5 CHF", 1234.5],
      ['1 234 567,8', 1234567.8],
      ['10 20', 10],
      ['−3', -3],
      ['2020-2021', 2020],
      ['from 1.5e3 up', 1500],
      ['.5', 0.5],
      ['none', null],
      ['', null],
    ];
    for (const [text, value] of numbers) assert.equal(await read('number', text), value, text);
  });

  it('extraction reads a separator before three digits as the language of the page writes it', async () => {
    const numbers: [string, string, number | null][] = [
      ['en', '1,600', 1600],
      ['en-GB', '1.600', 1.6],
      ['de', '1.600', 1600],
      ['de-AT', '1,600', 1.6],
      ['pt_BR', '12.345', 12345],
      ['fr', '1.600', 1600],
      ['de-CH', '1.600', 1.6],
      ['es-MX', '1,600', 1600],
      ['unknown language', '1.600', 1.6],
      ['de', '0.125', 0.125],
      ['de', '1.5', 1.5],
      ['en', '1.234.567,89', 1234567.89],
    ];
    for (const [language, text, value] of numbers) assert.equal(await read('number', text, language), value, `${language} ${text}`);
  });

  it('extraction reads a number in the language of the closest element that declares one', async () => {
    const source = '<html lang="en"><p>1.600</p><div lang="de"><div><p>1.600</p></div><p lang="en">1.600</p></div>';
    const { json } = await extract({ each: { selector: 'p', type: 'number', list: true } }, source);
    assert.deepEqual(json, { each: [1.6, 1600, 1.6] });
  });

  it('extraction reads an amount of money with thousands, wherever its currency stands', async () => {
    const amounts: [string, string, number | null][] = [
      ['en', '1.299 €', 1299],
      ['de', '1.299 €', 1299],
      ['de', '1,299 €', 1299],
      ['en', '€ 0,89', 0.89],
      ['', '1.299,– €', 1299],
      ['de-CH', '1’299.–', 1299],
      ['', "CHF 1'299.–", 1299],
      ['en', 'EUR1.299,00', 1299],
      ['en', 'US$1,299', 1299],
      ['', '-EUR 5', -5],
      ['', '$-5.50', -5.5],
      ['pl', '1 299,00 zł', 1299],
      ['sv', '10 000 kr', 10_000],
      ['en-IN', '₹12,34,567.50', 1_234_567.5],
      ['en-IN', 'Rs.1,00,000', 100_000],
      ['en', '12.345.678', 12_345_678],
      ['en', '$3.499', 3.499],
    ];
    for (const [language, text, value] of amounts) assert.equal(await read('number', text, language), value, `${language} ${text}`);
  });

  it('extraction reads numbers with blanks of any width and with the digits of any script', async () => {
    const numbers: [string, number | null][] = [
      ['1\u00a0299,00', 1299],
      ['1\u202f222\u202f333,50', 1_222_333.5],
      ['1\u2009000', 1000],
      ['٣٫٥', 3.5],
      ['١٬٢٣٤٫٥٦ ر.س', 1234.56],
      ['١٫٢٣٤', 1.234],
      ['\u200f۱۲۳', 123],
      ['१२,३४,५६७', 1_234_567],
      ['１２３', 123],
      ['SKU123', null],
      ['v2.5', null],
    ];
    for (const [text, value] of numbers) assert.equal(await read('number', text), value, text);
  });

  it('extraction reads dates independently of the time zone, and no ambiguous ones', async () => {
    const dates: [string, string | null][] = [
      ['2024-03-05', '2024-03-05'],
      ['2024-03-05T10:00:00+0200', '2024-03-05T08:00:00.000Z'],
      ['2024-03-05 10:00', '2024-03-05T10:00:00.000Z'],
      ['Tue, 05 Mar 2024 10:00:00 GMT', '2024-03-05T10:00:00.000Z'],
      ['5th March 2024', '2024-03-05'],
      ['March 5, 2024 at 3:30 PM', '2024-03-05T15:30:00.000Z'],
      ['05.03.2024', '2024-03-05'],
      ['25/12/2024', '2024-12-25'],
      ['12/25/2024', '2024-12-25'],
      ['03/04/2024', null],
      ['2024-02-30', null],
      ['1709632800', '2024-03-05T10:00:00.000Z'],
      ['chapter 5', null],
      ['soon', null],
    ];
    for (const [text, value] of dates) assert.equal(await read('date', text), value, text);
    assert.deepEqual((await extract({ when: { selector: 'time', type: 'date' } })).json, { when: '2024-03-05T08:00:00.000Z' });
  });
});

describe('selectors', () => {
  it('invalid selectors are reported', () => {
    assert.deepEqual(invalidSelectors(['h1', 'a[href^="x"] > b:not(.c, :nth-child(2n+1))', ':has(> img)', '*']), []);
    const invalid = ['', ' ', 'a[', 'p:nope', '<b>x</b>', 'a:not(', 'x'.repeat(3000), '##', ':not('.repeat(300), 'a,,b'];
    assert.deepEqual(invalidSelectors(['ok', ...invalid]), invalid);
  });
});

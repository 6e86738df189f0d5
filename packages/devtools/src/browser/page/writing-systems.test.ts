/** Text of the world's writing systems is drawn with letters, by the fonts that the set-up of the project installs. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import { readPng, type Pixels } from '../../../testing/images.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { call } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';
import type { Page } from './page.ts';

/** Two letters of each that do not look alike. */
const letters: readonly [name: string, first: string, second: string][] = [
  ['Latin', 'A', 'ế'],
  ['Greek', 'Ω', 'β'],
  ['Cyrillic', 'Ж', 'ш'],
  ['Armenian', 'Ա', 'Գ'],
  ['Georgian', 'ა', 'ბ'],
  ['Hebrew', 'א', 'ש'],
  ['Arabic', 'ب', 'س'],
  ['Urdu', 'ٹ', 'ڈ'],
  ['Devanagari', 'क', 'ज'],
  ['Bengali', 'ক', 'জ'],
  ['Gurmukhi', 'ਕ', 'ਜ'],
  ['Gujarati', 'ક', 'જ'],
  ['Odia', 'କ', 'ଜ'],
  ['Tamil', 'க', 'ந'],
  ['Telugu', 'క', 'జ'],
  ['Kannada', 'ಕ', 'ಜ'],
  ['Malayalam', 'ക', 'ജ'],
  ['Sinhala', 'ක', 'ජ'],
  ['Thai', 'ก', 'ข'],
  ['Lao', 'ກ', 'ຂ'],
  ['Khmer', 'ក', 'ខ'],
  ['Burmese', 'က', 'ခ'],
  ['Chinese', '漢', '字'],
  ['Japanese', 'か', 'な'],
  ['Korean', '한', '글'],
  ['emoji', '😀', '🚀'],
  ['signs', '→', '✓'],
];
/** No font has it, so it is drawn as a box. */
const unassigned = '\u0378';

const cellPx = 48;
const cell = (text: string, row: number, column: number): string =>
  `<i style="position:absolute;left:${column * cellPx}px;top:${row * cellPx}px;width:${cellPx}px;height:${cellPx}px;overflow:hidden">${text}</i>`;

let pages: Pages;
let launched: Launched;
let page: Page;
before(async () => {
  const head = '<!doctype html><meta charset="utf-8"><style>body{margin:0}i{font:normal 24px/48px sans-serif;text-align:center}</style>';
  const height = `<div style="height:${letters.length * cellPx}px"></div>`;
  const rows = letters.map(([, first, second], row) => cell(first, row, 0) + cell(second, row, 1) + cell(unassigned, row, 2)).join('');
  pages = await openPages({
    '/cells': `${head}${height}${rows}`,
    '/letters': `${head}<p>${letters.map(([, first, second]) => `${first} ${second}`).join(' ')}</p>`,
    '/box': `${head}<p>${unassigned}</p>`,
  });
  launched = await launch();
  page = launched.browser.page(launched.browser.activeTab().tabId);
});
after(async () => {
  await launched.end();
  await pages.close();
});

const limits = () => ({ ...call(), maxBytes: 10_000_000 });
const open = (path: string): Promise<unknown> => page.navigate({ url: pages.url + path, waitUntil: 'load', timeoutMs: 60_000 }, call());

/** Every pixel of a cell as text. */
function readCell(pixels: Pixels, row: number, column: number): string {
  const read: string[] = [];
  for (let y = row * cellPx; y < (row + 1) * cellPx; y += 1)
    for (let x = column * cellPx; x < (column + 1) * cellPx; x += 1) read.push(pixels.at(x, y).join());
  return read.join(' ');
}

it('letters of every writing system of the table are drawn apart from each other and from missing ones in a screenshot', async () => {
  await open('/cells');
  const { tiles } = await page.screenshot({ fullPage: true, format: 'png', scrollFirst: false }, limits());
  const pixels = readPng(tiles[0]?.data ?? Buffer.alloc(0));
  const missing = letters.flatMap(([name], row) => {
    const drawn = new Set([0, 1, 2].map((column) => readCell(pixels, row, column)));
    return drawn.size === 3 ? [] : [name];
  });
  assert.deepEqual(missing, []);
});

/** The numbers of the glyphs that a PDF of Chromium draws, each of four digits. */
async function readGlyphs(): Promise<Set<string>> {
  const pdf = await page.pdf({}, limits());
  const streams = pdf.toString('latin1').matchAll(/stream\r?\n([^]*?)\r?\nendstream/g);
  const texts = [...streams].flatMap(([, packed = '']) => {
    try {
      return [inflateSync(Buffer.from(packed, 'latin1')).toString('latin1')];
    } catch {
      return [];
    }
  });
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/<((?:[\da-f]{4})+)> ?Tj/gi)].flatMap(([, glyphs = '']) => glyphs.match(/.{4}/g) ?? [])),
  );
}

it('letters of every writing system of the table are drawn by a font that has them in a PDF', async () => {
  // The first glyph of a font stands for what it does not have.
  await open('/box');
  assert.ok((await readGlyphs()).has('0000'), 'a letter that no font has is drawn as a box');
  await open('/letters');
  const glyphs = await readGlyphs();
  assert.ok(glyphs.size > letters.length, `${glyphs.size} glyphs`);
  assert.ok(!glyphs.has('0000'), 'a letter is missing');
});

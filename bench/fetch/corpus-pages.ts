/** The pages that fetches are measured on. */
import type { OutgoingHttpHeaders } from 'node:http';

/** The server's response for a path. */
export interface Serving {
  status?: number;
  type?: string;
  body?: string | Buffer;
  headers?: OutgoingHttpHeaders;
  /** Delay before the first byte. */
  delayMs?: number;
  /** Parts instead of `body`: they are sent one after the other, `partsMs` apart. */
  parts?: readonly string[];
  partsMs?: number;
}

export interface PlainPage {
  name: string;
  path: string;
  /** What differs from an HTML page with status 200 and no redirect. */
  truth: { status?: number; finalPath?: string; contains?: string; contentType?: string | null; scripted?: true };
  /** The page and all that it loads. */
  servings: Record<string, Serving>;
}

const html = 'text/html; charset=utf-8';
const slowMs = 400;
const imageCount = 30;
const imageSide = 64;
const largeBytes = 2 * 1024 * 1024;
const longWatches = 107;

const frame = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body>${body}</body></html>`;

const one = (name: string, path: string, contains: string, serving: Serving): PlainPage => ({
  name,
  path,
  truth: { contains, ...(serving.status && { status: serving.status }) },
  servings: { [path]: { type: html, ...serving } },
});

export const plainPages: readonly PlainPage[] = [
  one('article', '/article', 'So ends the account of the tides', { body: article() }),
  scripted(one('script-rendered', '/rendered', 'Row 24 was drawn after the load', { body: rendered() })),
  one('slow', '/slow', 'Worth the wait', { body: frame('Slow', '<p>Worth the wait.</p>'), delayMs: slowMs }),
  redirected(),
  one('not found', '/missing', 'No chart of these waters', { status: 404, body: frame('Missing', '<h1>No chart of these waters</h1>') }),
  one('server error', '/broken', 'The pump has stopped', { status: 500, body: frame('Broken', '<h1>The pump has stopped</h1>') }),
  { name: 'no content', path: '/nothing', truth: { status: 204, contentType: null }, servings: { '/nothing': { status: 204 } } },
  pictures(),
  one('2 MB of HTML', '/large', 'The last line of a long log', { body: large() }),
  ledger(),
  scripted(apiDriven()),
  one('latin-1', '/latin', 'Crème brûlée à Besançon', {
    type: 'text/html; charset=iso-8859-1',
    body: Buffer.from(
      '<!doctype html><html lang="fr"><head><title>Dîner</title></head><body><h1>Crème brûlée à Besançon</h1></body></html>',
      'latin1',
    ),
  }),
];

/** The size of a long encyclopaedia page. */
export const longPage: PlainPage = one('100 KB of HTML', '/long', 'So ends the account of the tides', { body: article(longWatches) });

function scripted({ truth, ...page }: PlainPage): PlainPage {
  return { ...page, truth: { ...truth, scripted: true } };
}

/** Text with headings, a table and links, about a kilobyte for each watch. */
function article(watches = 12): string {
  const sentence = 'The harbour master wrote down the height of the water at every bell, and the ink has kept better than the paper.';
  const sections = Array.from({ length: watches }, (_, n) => {
    const paragraphs = Array.from(
      { length: 3 },
      (_, p) => `<p>${sentence} Entry ${n * 3 + p + 1} is <a href="/article#entry-${n}-${p}">kept here</a>. ${sentence}</p>`,
    );
    return `<h2>Watch ${n + 1}</h2>${paragraphs.join('')}`;
  });
  const rows = Array.from({ length: 20 }, (_, n) => `<tr><td>${n}:00</td><td>${((n * 37) % 61) / 10} m</td></tr>`);
  const head = '<thead><tr><th>Bell</th><th>Height</th></tr></thead>';
  const table = `<table><caption>Heights</caption>${head}<tbody>${rows.join('')}</tbody></table>`;
  return frame(
    'An account of the tides',
    `<main><article><h1>An account of the tides</h1>${sections.join('')}${table}<p>So ends the account of the tides.</p></article></main>`,
  );
}

/** A script renders all text after the load, from data in the page. */
function rendered(): string {
  const data = JSON.stringify({ count: 25, words: ['was drawn', 'after the load'] });
  const script = `addEventListener('load', () => {
    const { count, words } = JSON.parse(document.getElementById('data').textContent);
    for (let n = 0; n < count; n += 1) {
      const textContent = ['Row', n, ...words].join(' ');
      document.getElementById('root').append(Object.assign(document.createElement('p'), { textContent }));
    }
  });`;
  return frame('Rendered', `<div id="root"></div><script type="application/json" id="data">${data}</script><script>${script}</script>`);
}

function redirected(): PlainPage {
  const servings = {
    '/moved': { status: 301, headers: { location: '/moved/again' } },
    '/moved/again': { status: 302, headers: { location: '/moved/here' } },
    '/moved/here': { type: html, body: frame('Here', '<p>Moored at last.</p>') },
  };
  return { name: 'redirects', path: '/moved', truth: { finalPath: '/moved/here', contains: 'Moored at last' }, servings };
}

function pictures(): PlainPage {
  const paths = Array.from({ length: imageCount }, (_, n) => `/pictures/${n}.bmp`);
  const size = `width="${imageSide}" height="${imageSide}"`;
  const tags = paths.map((path, n) => `<img src="${path}" alt="Picture ${n}" ${size}>`);
  const body = frame('Pictures', `<h1>Thirty pictures of the quay</h1>${tags.join('')}`);
  const images = paths.map((path, n): [string, Serving] => [path, { type: 'image/bmp', body: bitmap(n) }]);
  return {
    name: 'image-heavy',
    path: '/pictures',
    truth: { contains: 'Thirty pictures of the quay' },
    servings: { '/pictures': { type: html, body }, ...Object.fromEntries(images) },
  };
}

/** A square of one colour, uncompressed: 12 kB. */
function bitmap(n: number): Buffer {
  const header = Buffer.alloc(54);
  const pixels = Buffer.alloc(imageSide * imageSide * 3, Buffer.from([(n * 83) % 256, (n * 149) % 256, (n * 47) % 256]));
  header.write('BM', 'latin1');
  header.writeUInt32LE(header.length + pixels.length, 2);
  header.writeUInt32LE(header.length, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(imageSide, 18);
  header.writeInt32LE(imageSide, 22);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(24, 28);
  return Buffer.concat([header, pixels]);
}

function large(): string {
  const line = (n: number): string => `<p>${String(n).padStart(6, '0')} A line of the log like the one before it and the one after.</p>\n`;
  const lines = Array.from({ length: Math.floor(largeBytes / line(0).length) }, (_, n) => line(n));
  return frame('A long log', `${lines.join('')}<p>The last line of a long log.</p>`);
}

function ledger(): PlainPage {
  const body = JSON.stringify({
    name: 'A ledger of tides',
    heights: Array.from({ length: 40 }, (_, n) => ({ bell: n, metres: ((n * 37) % 61) / 10 })),
  });
  return {
    name: 'JSON',
    path: '/ledger',
    truth: { contains: 'A ledger of tides', contentType: 'application/json' },
    servings: { '/ledger': { type: 'application/json', body } },
  };
}

/** A script loads its data before it renders anything. */
function apiDriven(): PlainPage {
  const script = `fetch('/boats/list').then((answer) => answer.json()).then(({ boats }) => {
    for (const { name, berth } of boats) {
      const textContent = name + ' lies at ' + berth;
      document.getElementById('boats').append(Object.assign(document.createElement('li'), { textContent }));
    }
  });`;
  const boats = Array.from({ length: 30 }, (_, n) => ({ name: `Boat ${n + 1}`, berth: `mooring ${((n * 7) % 30) + 1}` }));
  const servings = {
    '/boats': { type: html, body: frame('Boats', `<h1>Boats</h1><ul id="boats"></ul><script>${script}</script>`) },
    '/boats/list': { type: 'application/json', body: JSON.stringify({ boats }) },
  };
  return { name: 'API-driven', path: '/boats', truth: { contains: 'Boat 30 lies at mooring 24' }, servings };
}

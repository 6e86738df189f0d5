/** Generated product pictures, each with its own colour. */
import { crc32, deflateSync } from 'node:zlib';
import { productOf, type Product } from '../data.ts';
import { text, type Call, type Reply, type Routes } from '../wire.ts';

export const imageRoutes: Routes = {
  'GET /img/:file': image,
  'GET /favicon.ico': () => ({
    ...text(png(16, 200), 'image/png'),
    headers: { 'content-type': 'image/png', 'cache-control': 'public, max-age=86400' },
  }),
  'GET /favicon.svg': () =>
    drawing(`<rect width="32" height="32" rx="7" fill="#0f4c5c"/><path d="M6 21h20l-4 6H10zM15 5v13H8z" fill="#fff"/>`, 32),
};

/** Neighbours in a list have distant hues. */
const hueOf = (id: number): number => Math.round(id * 137.508) % 360;

const shapes: Record<string, string> = {
  lighting: '<path d="M120 70h80l40 80H80z"/><path d="M155 150h10v80h-10z"/><rect x="115" y="230" width="90" height="14" rx="7"/>',
  seating:
    '<rect x="105" y="70" width="110" height="90" rx="18"/><rect x="90" y="160" width="140" height="36" rx="12"/><path d="M100 196h14l-8 54h-12zM206 196h14l6 54h-12z"/>',
  kitchen:
    '<path d="M95 110h110v90a40 40 0 0 1-40 40h-30a40 40 0 0 1-40-40z"/><path d="M205 130h20a28 28 0 0 1 0 64h-20v-18h18a11 11 0 0 0 0-28h-18z"/>',
  garden:
    '<path d="M100 180h120l-16 70h-88z"/><path d="M155 180V110h10v70z"/><path d="M160 130c-60 0-64-50-64-50s60-6 64 50zM160 120c50 0 60-56 60-56s-62 0-60 56z"/>',
  audio:
    '<path d="M110 60h100a12 12 0 0 1 12 12v176a12 12 0 0 1-12 12H110a12 12 0 0 1-12-12V72a12 12 0 0 1 12-12zm50 30a22 22 0 1 0 0 44 22 22 0 0 0 0-44zm0 62a44 44 0 1 0 0 88 44 44 0 0 0 0-88z" fill-rule="evenodd"/>',
  paper:
    '<path d="M96 64h116a12 12 0 0 1 12 12v168a12 12 0 0 1-12 12H96z"/><path d="M84 80h10v10H84zM84 110h10v10H84zM84 140h10v10H84zM84 170h10v10H84zM84 200h10v10H84zM84 230h10v10H84z"/>',
};

function image({ params }: Call): Reply {
  const [, id, kind] = /^p(\d+)\.(svg|png)$/.exec(params.file ?? '') ?? [];
  const product = productOf(Number(id));
  if (!product) return { status: 404 };
  return kind === 'svg' ? picture(product) : text(png(160, hueOf(product.id)), 'image/png', { 'cache-control': 'public, max-age=86400' });
}

function picture({ id, category }: Product): Reply {
  const hue = hueOf(id);
  const ground = `<rect width="320" height="320" fill="hsl(${hue} 45% 90%)"/><circle cx="160" cy="160" r="128" fill="hsl(${hue} 45% 82%)"/>`;
  return drawing(`${ground}<g fill="hsl(${hue} 48% 38%)">${shapes[category.slug] ?? ''}</g>`, 320);
}

const drawing = (inside: string, side: number): Reply =>
  text(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}" viewBox="0 0 ${side} ${side}">${inside}</svg>`,
    'image/svg+xml',
    {
      'cache-control': 'public, max-age=86400',
    },
  );

/** A square PNG that fades from the hue to white. */
export function png(side: number, hue: number): Buffer {
  const colour = rgbOf(hue);
  const rows = Array.from({ length: side }, (_, y) => {
    const pixel = colour.map((value) => Math.round(value + ((255 - value) * y) / side));
    return Buffer.from([0, ...Array.from({ length: side }, () => pixel).flat()]);
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  // Eight bits, three channels.
  header.set([8, 2], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.concat(rows))), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

const rgbOf = (hue: number): number[] =>
  [0, 8, 4].map((n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (0.5 - 0.3 * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });

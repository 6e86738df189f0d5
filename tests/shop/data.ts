/** Products and reviews, generated from a fixed seed. */
export interface Category {
  slug: string;
  name: string;
  nouns: readonly string[];
}

export interface Product {
  /** 1…300 */
  id: number;
  slug: string;
  sku: string;
  name: string;
  category: Category;
  /** Price in cents of a euro. */
  price: number;
  stock: number;
  /** 1…5, in halves. */
  rating: number;
  material: string;
  weightGrams: number;
  size: { width: number; depth: number; height: number };
  description: string;
}

export interface Review {
  /** 1…, over all products. */
  id: number;
  productId: number;
  author: string;
  rating: number;
  title: string;
  text: string;
  /** `2026-01-31` */
  date: string;
}

export interface Article {
  slug: string;
  title: string;
  author: string;
  date: string;
  paragraphs: string[];
}

export const categories: readonly Category[] = [
  { slug: 'lighting', name: 'Lighting', nouns: ['Desk Lamp', 'Floor Lamp', 'Pendant Light', 'Wall Sconce', 'Lantern'] },
  { slug: 'seating', name: 'Seating', nouns: ['Armchair', 'Dining Chair', 'Bar Stool', 'Bench', 'Rocking Chair'] },
  { slug: 'kitchen', name: 'Kitchen', nouns: ['Tea Kettle', 'Mug', 'Cutting Board', 'Saucepan', 'Bread Bin'] },
  { slug: 'garden', name: 'Garden', nouns: ['Planter', 'Watering Can', 'Bird House', 'Hammock', 'Garden Spade'] },
  { slug: 'audio', name: 'Audio', nouns: ['Bookshelf Speaker', 'Headphones', 'Turntable', 'Radio', 'Soundbar'] },
  { slug: 'paper', name: 'Paper', nouns: ['Notebook', 'Sketchbook', 'Desk Calendar', 'Letter Set', 'Atlas'] },
];
const firstNames = ['Amber', 'Nordic', 'Harbour', 'Linen', 'Copper', 'Midnight', 'Meadow', 'Slate', 'Coral', 'Winter'];
export const materials: readonly string[] = ['Oak', 'Steel', 'Ceramic', 'Cotton', 'Glass'];
const authors = ['Ines', 'Tomas', 'Mira', 'Jonas', 'Aoife', 'Léa', 'Björn', 'Katarzyna'];
const opinions = [
  { rating: 5, title: 'Just right', text: 'Arrived well packed and looks better than in the pictures.' },
  { rating: 4, title: 'Good, with a small remark', text: 'Solid work. The instructions could be clearer.' },
  { rating: 5, title: 'Would buy again', text: 'We use it every day and it has not lost its shine.' },
  { rating: 3, title: 'It is all right', text: 'Does what it says. A little heavier than I expected.' },
  { rating: 2, title: 'Not for us', text: 'The colour did not match our room; returning it was easy.' },
];

/** mulberry32: 0 ≤ n < 1, the same for the same seed. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pick = <T>(list: readonly T[], at: number): T => {
  const item = list[at % list.length];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};

function makeProduct(category: Category, id: number): Product {
  const roll = dice(id * 7919);
  const within = (low: number, high: number): number => low + Math.floor(roll() * (high - low + 1));
  const number = (id - 1) % 50;
  const name = `${pick(firstNames, Math.floor(number / 5))} ${pick(category.nouns, number)}`;
  const material = pick(materials, within(0, 4));
  return {
    id,
    slug: name.toLowerCase().replaceAll(' ', '-'),
    sku: `QS-${String(id).padStart(4, '0')}`,
    name,
    category,
    price: within(6, 480) * 100 + pick([0, 50, 90], within(0, 2)),
    stock: roll() < 0.08 ? 0 : within(1, 40),
    rating: within(5, 10) / 2,
    material,
    weightGrams: within(120, 9000),
    size: { width: within(8, 90), depth: within(8, 70), height: within(10, 160) },
    description: `The ${name} is made of ${material.toLowerCase()} in a small workshop by the water. It is built to be repaired: every part can be had for ten years.`,
  };
}

export const products: readonly Product[] = categories.flatMap((category, c) =>
  Array.from({ length: 50 }, (_, n) => makeProduct(category, c * 50 + n + 1)),
);

const byId = new Map(products.map((product) => [product.id, product]));
const bySlug = new Map(products.map((product) => [product.slug, product]));
export const productOf = (id: number): Product | undefined => byId.get(id);
export const productNamed = (slug: string): Product | undefined => bySlug.get(slug);
export const categoryOf = (slug: string): Category | undefined => categories.find((category) => category.slug === slug);

const reviewsPerProduct = 4;
const twoDigits = (n: number): string => String(n).padStart(2, '0');

export const reviews: readonly Review[] = products.flatMap((product) =>
  Array.from({ length: reviewsPerProduct }, (_, n) => {
    const id = (product.id - 1) * reviewsPerProduct + n + 1;
    const date = `2025-${twoDigits((id % 12) + 1)}-${twoDigits((id % 28) + 1)}`;
    return { id, productId: product.id, author: pick(authors, id * 5 + n), date, ...pick(opinions, id + n) };
  }),
);
export const reviewsOf = (id: number): Review[] => reviews.filter(({ productId }) => productId === id);

const euros = new Intl.NumberFormat('en-IE', { style: 'currency', currency: 'EUR' });
/** `€1,234.50` */
export const price = (cents: number): string => euros.format(cents / 100);

export const articles: readonly Article[] = [
  'Caring for oak',
  'A lamp for every hour',
  'The long life of a kettle',
  'Planting a balcony',
  'Paper that lasts',
  'Listening at low volume',
].map((title, n) => ({
  slug: title.toLowerCase().replaceAll(' ', '-'),
  title,
  author: pick(authors, n),
  date: `2026-0${n + 1}-15`,
  paragraphs: Array.from(
    { length: 8 },
    (_, p) =>
      `${pick(['In the workshop', 'By the quay', 'On a grey morning', 'After twenty years'], n + p)} it is the small habits that count. ${title} is a matter of patience: look at the thing, clean it with a dry cloth, and leave it alone for a week. Our restorers have written down what they do on day ${p + 1}, and none of it needs a special tool.`,
  ),
}));

export interface Job {
  title: string;
  team: string;
  place: string;
}

export const jobs: readonly Job[] = Array.from({ length: 12 }, (_, n) => ({
  title: `${pick(['Cabinet maker', 'Buyer', 'Warehouse lead', 'Illustrator'], n)} ${['I', 'II', 'III'][Math.floor(n / 4)] ?? ''}`.trim(),
  team: pick(categories, n).name,
  place: pick(['Rotterdam', 'Porto', 'Gdańsk'], n),
}));

import { z } from 'zod';
import { Url } from '../inputs.ts';
import { defineTemplate } from '../template.ts';
import { Selector } from './inputs.ts';

const open = { type: 'navigate', url: '{{inputs.url}}', description: 'Open the page.' };
const final_url = z.string().describe('URL of the page.');

export const priceMonitor = defineTemplate({
  name: 'price_monitor',
  title: 'Watch a price',
  description: 'Reads the name and the price of a product, and whether it can be bought.',
  version: '1',
  category: 'monitoring',
  inputs: z.strictObject({
    url: Url,
    price_selector: Selector.default('[data-testid="price"], [itemprop="price"], .price').describe('CSS selector of the price.'),
    stock_selector: Selector.default('#stock, [itemprop="availability"], .stock').describe('CSS selector of the availability.'),
  }),
  output: z.object({
    product: z
      .object({
        name: z.string().nullable().describe('Name.'),
        price: z.number().nullable().describe('Price as a number.'),
        price_text: z.string().nullable().describe('Price as shown.'),
        stock: z.string().nullable().describe('Availability as shown.'),
      })
      .describe('The product; null for what is not there.'),
    final_url,
  }),
  example: { url: 'https://example.com/products/lamp' },
  steps: [
    open,
    {
      type: 'extract',
      fields: {
        name: { selectors: ['h1'] },
        price: { selectors: ['{{inputs.price_selector}}'], as: 'number' },
        price_text: { selectors: ['{{inputs.price_selector}}'] },
        stock: { selectors: ['{{inputs.stock_selector}}'] },
      },
      save_as: 'product',
      description: 'Read name, price and availability.',
    },
  ],
});

export const productDetails = defineTemplate({
  name: 'product_details',
  title: 'Read a product',
  description: 'Reads what a product page says, and its structured data.',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({ url: Url }),
  output: z.object({
    product: z.record(z.string(), z.unknown()).describe('Name, description, image and price as the page shows them.'),
    json_ld: z.array(z.unknown()).describe('JSON-LD documents of the page.'),
    final_url,
  }),
  example: { url: 'https://example.com/products/lamp' },
  steps: [
    open,
    {
      type: 'extract',
      fields: {
        name: { selectors: ['h1'] },
        description: { selectors: ['meta[name="description"]'], attribute: 'content' },
        image: { selectors: ['meta[property="og:image"]'], attribute: 'content', as: 'url' },
        price: { selectors: ['[data-testid="price"]', '[itemprop="price"]', '.price'], as: 'number' },
      },
      save_as: 'product',
      description: 'Read the visible details.',
    },
    { type: 'extract', json_ld: true, save_as: 'json_ld', description: 'Read the structured data.' },
  ],
});

import { z } from 'zod';
import { defineFlow } from '../flow.ts';
import { Url, literal, selectorsInput } from '../inputs.ts';

export const scrollToEnd = defineFlow({
  name: 'scroll_to_end',
  title: 'Scroll to the end',
  description: 'Opens a page that loads more as it is scrolled, scrolls until nothing more comes, and returns its items or HTML.',
  version: '1',
  category: 'navigation',
  inputs: z.strictObject({
    url: Url,
    item_selectors: selectorsInput('The items to return:').optional(),
    max_scrolls: z.int().min(1).max(500).default(50).describe('Maximum number of scrolls, 1 to 500. Default: 50.'),
    idle_ms: z
      .int()
      .min(100)
      .max(10_000)
      .default(1000)
      .describe('Milliseconds without growth that count as the end, 100 to 10000. Default: 1000.'),
  }),
  output: z.object({
    items: z.array(z.string()).nullable().describe('Texts of the items; null without `item_selectors`.'),
    html: z.string().nullable().describe('HTML of the page; null with `item_selectors`.'),
    scrolls: z.int().describe('Number of scrolls.'),
    reached_end: z.boolean().describe('Whether nothing more came.'),
    final_url: z.string().describe('URL of the page.'),
  }),
  example: { url: 'https://example.com/', item_selectors: ['p'] },
  run: async (run, { url, item_selectors: selectors, max_scrolls: max, idle_ms }) => {
    await run.open(url);
    const scroll = { type: 'scroll', to: 'bottom', until: { stable: true }, max, idle_ms, timeout_ms: 120_000, save_as: 'scroll' };
    const read = selectors
      ? { type: 'extract', selectors: literal(selectors), list: true, limit: 10_000, save_as: 'items' }
      : { type: 'html', save_as: 'html' };
    const { vars } = await run.run([scroll, read]);
    const { scrolls, reached_end } = vars['scroll'] as { scrolls: number; reached_end: boolean };
    const items = selectors ? (vars['items'] as string[]) : null;
    return { items, html: selectors ? null : String(vars['html']), scrolls, reached_end, final_url: run.url() };
  },
});

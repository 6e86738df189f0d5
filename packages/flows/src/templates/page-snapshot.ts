import { z } from 'zod';
import { defineSteps } from '../flow.ts';
import { Url } from '../inputs.ts';

export const pageSnapshot = defineSteps({
  name: 'page_snapshot',
  title: 'Keep a page as text',
  description: 'Opens a page and returns its main content as Markdown with its links.',
  version: '1',
  category: 'capture',
  inputs: z.strictObject({ url: Url }),
  output: z.object({
    markdown: z.string().describe('Main content as Markdown.'),
    links: z.array(z.unknown()).describe('Links of the page.'),
    final_url: z.string().describe('URL of the page.'),
  }),
  example: { url: 'https://example.com/' },
  steps: [
    { type: 'navigate', url: '{{inputs.url}}', description: 'Open the page.' },
    { type: 'markdown', only_main_content: true, save_as: 'markdown', description: 'Read the main content.' },
    { type: 'links', save_as: 'links', description: 'Read the links.' },
  ],
});

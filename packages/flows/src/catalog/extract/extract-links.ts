import { Link } from '@berth/contract';
import { z } from 'zod';
import { defineSteps } from '../../flow.ts';
import { Url } from '../../inputs.ts';

export const extractLinks = defineSteps({
  name: 'extract_links',
  title: 'Extract links',
  description: 'Opens a page and returns its links with absolute URLs.',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({ url: Url }),
  output: z.object({ links: z.array(Link).describe('Links of the page.'), final_url: z.string().describe('URL of the page.') }),
  example: { url: 'https://example.com/' },
  steps: [
    { type: 'navigate', url: '{{inputs.url}}' },
    { type: 'links', save_as: 'links' },
  ],
});

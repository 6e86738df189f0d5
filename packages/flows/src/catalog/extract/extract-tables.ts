import { z } from 'zod';
import { defineSteps } from '../../flow.ts';
import { Url } from '../../inputs.ts';
import { Tables } from '../../read/structured-data.ts';

export const extractTables = defineSteps({
  name: 'extract_tables',
  title: 'Extract tables',
  description: 'Opens a page and returns its tables with headers and rows.',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({ url: Url }),
  output: z.object({ tables: Tables.describe('Tables of the page.'), final_url: z.string().describe('URL of the page.') }),
  example: { url: 'https://example.com/' },
  steps: [
    { type: 'navigate', url: '{{inputs.url}}' },
    { type: 'extract', table: true, save_as: 'tables' },
  ],
});

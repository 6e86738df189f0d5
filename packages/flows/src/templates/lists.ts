import { z } from 'zod';
import { search } from '../catalog/search.ts';
import { defineFlow } from '../flow.ts';
import { Url } from '../inputs.ts';
import { defineTemplate } from '../template.ts';
import { Selector } from './inputs.ts';

const open = { type: 'navigate', url: '{{inputs.url}}', description: 'Open the page.' };
const final_url = z.string().describe('URL of the page.');
const nullableText = z.string().nullable();

export const jobListings = defineTemplate({
  name: 'job_listings',
  title: 'List jobs',
  description: 'Reads the openings of a jobs page: title, team, place and link.',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({
    url: Url,
    item_selector: Selector.default('.job, [itemtype$="JobPosting"]').describe('CSS selector of an opening.'),
  }),
  output: z.object({
    jobs: z
      .array(
        z.object({
          title: nullableText.describe('Title.'),
          team: nullableText.describe('Team.'),
          place: nullableText.describe('Place.'),
          url: nullableText.describe('Link.'),
        }),
      )
      .describe('Openings, in the order of the page.'),
    final_url,
  }),
  example: { url: 'https://example.com/jobs' },
  steps: [
    open,
    {
      type: 'extract',
      selectors: ['{{inputs.item_selector}}'],
      list: true,
      fields: {
        title: { selectors: ['h2', 'h3', 'a'] },
        team: { selectors: ['.team', '.department'] },
        place: { selectors: ['.place', '.location'] },
        url: { selectors: ['a[href]'], attribute: 'href', as: 'url' },
      },
      save_as: 'jobs',
      description: 'Read each opening.',
    },
  ],
});

export const newsHeadlines = defineTemplate({
  name: 'news_headlines',
  title: 'List headlines',
  description: 'Reads the headlines of a page of articles: title, link and date.',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({
    url: Url,
    item_selector: Selector.default('article').describe('CSS selector of an article. Default: `article`.'),
  }),
  output: z.object({
    headlines: z
      .array(
        z.object({
          title: nullableText.describe('Title.'),
          url: nullableText.describe('Link.'),
          date: nullableText.describe('Date, ISO 8601.'),
        }),
      )
      .describe('Headlines, in the order of the page.'),
    final_url,
  }),
  example: { url: 'https://example.com/news' },
  steps: [
    open,
    {
      type: 'extract',
      selectors: ['{{inputs.item_selector}}'],
      list: true,
      fields: {
        title: { selectors: ['h1', 'h2', 'h3'] },
        url: { selectors: ['a[href]'], attribute: 'href', as: 'url' },
        date: { selectors: ['time'], as: 'date' },
      },
      save_as: 'headlines',
      description: 'Read each headline.',
    },
  ],
});

const Table = z.object({ headers: z.array(z.string()), rows: z.array(z.array(z.string())) }).loose();

/** Only for templates: no page is needed for it. */
const toCsvFlow = defineFlow({
  name: 'to_csv',
  title: 'Convert a table to CSV',
  description: 'Writes a table as CSV (RFC 4180).',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({ table: Table }),
  output: z.string(),
  example: { table: { headers: ['a'], rows: [['1']] } },
  run: (_run, { table: { headers, rows } }) => Promise.resolve(toCsv(headers.length > 0 ? [headers, ...rows] : rows)),
});

/** RFC 4180. A cell that a spreadsheet would run as a formula is written as text. */
export const toCsv = (rows: readonly (readonly string[])[]): string => rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');

function toCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.,]+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const tableToCsv = defineTemplate({
  name: 'table_to_csv',
  title: 'Save a table as CSV',
  description: 'Reads a table of a page and returns it as CSV.',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({
    url: Url,
    table_selector: Selector.default('table').describe('CSS selector of the table. Default: the first.'),
  }),
  output: z.object({ csv: z.string().describe('The table, RFC 4180.'), final_url }),
  example: { url: 'https://example.com/prices' },
  uses: [toCsvFlow],
  steps: [
    open,
    { type: 'extract', selectors: ['{{inputs.table_selector}}'], table: true, save_as: 'table', description: 'Read the table.' },
    { type: 'call', task: 'to_csv', inputs: { table: '{{vars.table}}' }, save_as: 'csv', description: 'Write it as CSV.' },
  ],
});

export const searchAndCollect = defineTemplate({
  name: 'search_and_collect',
  title: 'Search and collect results',
  description: 'Searches a site and returns title, link and text of the results.',
  version: '1',
  category: 'forms',
  inputs: search.inputs as z.ZodObject,
  output: z.object({ search: search.output.describe('Results.'), final_url }),
  example: search.example,
  uses: [search],
  steps: [
    {
      type: 'call',
      task: 'search',
      inputs: {
        url: '{{inputs.url}}',
        query: '{{inputs.query}}',
        input: '{{inputs.input}}',
        results: '{{inputs.results}}',
        max_results: '{{inputs.max_results}}',
      },
      save_as: 'search',
      description: 'Search, and read the results.',
    },
  ],
});

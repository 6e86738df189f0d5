import { boundedString, type Selectors } from '@berth/contract';
import { z } from 'zod';
import type { SimilarList } from '@berth/page-scripts/read/structured-data.ts';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url, literal, selectorsInput } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';

const searchFields = [
  '[role="search"] input[type="search"]',
  'input[type="search"]',
  '[role="search"] input',
  'input[name="q"]',
  'input[name="query"]',
  'input[name="search"]',
  'aria/Search[role="textbox"]',
  'placeholder/Search',
];

/** Where the page also describes its search. */
const fieldMsMax = 3000;

export const search = defineFlow({
  name: 'search',
  title: 'Search a site',
  description: 'Enters a query into the search field of a page, or into the URL of its OpenSearch description, and returns the results.',
  version: '1',
  category: 'forms',
  inputs: z.strictObject({
    url: Url,
    query: boundedString(1, 1000).describe('Text to search for, 1 to 1000 characters.'),
    input: selectorsInput(
      'The search field. Default: found by its role and type, else the OpenSearch description that the page links.',
    ).optional(),
    results: selectorsInput('The results. Default: the most prominent list of the page.').optional(),
    max_results: z.int().min(1).max(200).default(50).describe('Maximum number of results, 1 to 200. Default: 50.'),
  }),
  output: z.object({
    results: z
      .array(
        z.object({
          title: z.string().describe('Title: the first line, or the whole text.'),
          url: z.string().nullable().describe('First link of the result; null if it has none.'),
          snippet: z.string().describe('Text of the result.'),
        }),
      )
      .describe('Results, in the order of the page.'),
    final_url: z.string().describe('URL of the page with the results.'),
  }),
  example: { url: 'https://example.com/', query: 'lamp' },
  run: async (run, { url, query, input, results, max_results: max }) => {
    await run.open(url);
    await enterQuery(run, { query, input });
    if (!results) return { results: toResults(await findResults(), max), final_url: run.url() };
    const fields = { text: {}, url: { selectors: ['a[href]'], attribute: 'href', as: 'url' } };
    const { vars } = await run.run([{ type: 'extract', selectors: literal(results), list: true, fields, limit: max, save_as: 'rows' }]);
    return { results: toResults(vars['rows'] as Row[], max), final_url: run.url() };

    async function findResults(): Promise<Row[]> {
      const lists = await run.act('find_results', () => run.call<SimilarList[]>(flowScripts.findLists, [1, max]));
      return lists[0]?.items ?? [];
    }
  },
});

/** Into the search field; where the flow finds none, by the OpenSearch description of the page. */
async function enterQuery(run: FlowRun, { query, input }: { query: string; input: Selectors | undefined }): Promise<void> {
  const template = input ? null : await run.act('read_search', () => run.call<string | null>(flowScripts.readSearchTemplate));
  const url = template === null ? null : fillSearchTemplate(template, query, run.url());
  const field = { type: 'fill', selectors: input ? literal(input) : searchFields, value: '{{inputs.query}}' };
  const quiet = { type: 'wait', network_idle: true, timeout_ms: 5000, optional: true };
  const entering = [{ type: 'press', keys: 'Enter' }, quiet];
  if (url === null) return void (await run.run([field, ...entering], { query }));
  const { results } = await run.run([{ ...field, timeout_ms: fieldMsMax, optional: true }], { query });
  const isEntered = results[0]?.status === 'ok';
  await run.run(isEntered ? entering : [{ type: 'navigate', url: '{{inputs.url}}' }, quiet], { url });
}

/** OpenSearch 1.1: optional parameters are left out. Null where it is no URL, or needs another value. */
export function fillSearchTemplate(template: string, query: string, base: string): string | null {
  const filled = template.replaceAll(/\{(?:searchTerms|[\w:]+\?)\??\}/g, (name) =>
    name.startsWith('{searchTerms') ? encodeURIComponent(query) : '',
  );
  const url = URL.parse(filled, base);
  return url && /^https?:$/.test(url.protocol) && !/[{}]/.test(filled) ? url.href : null;
}

interface Row {
  text: string;
  url: string | null;
}

const titleCharsMax = 120;
export const toResults = (rows: readonly Row[], max: number) =>
  rows.slice(0, max).map(({ text, url }) => {
    const [line = ''] = text.trim().split('\n');
    return { title: line.slice(0, titleCharsMax).trim(), url, snippet: text.replace(/\s+/g, ' ').trim() };
  });

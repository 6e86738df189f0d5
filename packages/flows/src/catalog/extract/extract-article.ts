import { z } from 'zod';
import { defineFlow } from '../../flow.ts';
import { Url } from '../../inputs.ts';
import { convertPage } from '../../read/structured-data.ts';

export const extractArticle = defineFlow({
  name: 'extract_article',
  title: 'Extract an article',
  description: 'Opens a page and returns its main content as Markdown, with title and metadata.',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({ url: Url }),
  output: z.object({
    title: z.string().describe('Title of the page.'),
    description: z.string().nullable().describe('Description from the metadata; null if there is none.'),
    language: z.string().nullable().describe('Language of the page; null if not stated.'),
    markdown: z.string().describe('Main content as Markdown.'),
    words: z.int().describe('Number of words of the main content.'),
    final_url: z.string().describe('URL of the page.'),
  }),
  example: { url: 'https://example.com/' },
  run: async (run, { url }) => {
    await run.open(url);
    const { title, page, markdown = '', warnings } = await convertPage(run, ['markdown', 'metadata'], { onlyMainContent: true });
    for (const warning of warnings) run.warn(warning);
    const words = markdown.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    return { title, description: page?.description ?? null, language: page?.language ?? null, markdown, words, final_url: run.url() };
  },
});

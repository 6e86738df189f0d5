/** Gives Starlight the pages of the repository, with titles from their first heading. */
import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro:content';
import { pages } from './sources.ts';

/** Wide tables scroll by themselves, also with the keyboard. */
const toFocusable = <Rendered extends { html: string }>(rendered: Rendered): Rendered => ({
  ...rendered,
  html: rendered.html.replaceAll('<table>', '<table tabindex="0">'),
});

export const collections = {
  docs: defineCollection({
    schema: docsSchema(),
    loader: {
      name: 'repository',
      load: async ({ store, parseData, renderMarkdown, generateDigest }) => {
        store.clear();
        for (const { id, file, title, description, body } of pages) {
          const data = await parseData({ id, data: { title, description, editUrl: false } });
          const filePath = `../../${file}`;
          store.set({ id, data, body, filePath, digest: generateDigest(body), rendered: toFocusable(await renderMarkdown(body)) });
        }
      },
    },
  }),
};

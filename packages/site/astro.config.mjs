/** The documentation as static files. Pagefind indexes them at the end of the build; nothing is loaded from another host. */
import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import { readSections } from './src/sources.ts';

const sidebar = readSections().map(({ title, links }) => ({
  label: title,
  items: links.map(({ label, id }) => ({ label: label[0].toUpperCase() + label.slice(1), link: `/${id}/` })),
}));

export default defineConfig({
  // Images are as they are in the repository.
  image: { service: passthroughImageService() },
  integrations: [
    starlight({
      title: 'Berth',
      description: 'A self-hosted browser cloud: remote browsers, each in a machine of its own.',
      favicon: '/favicon.svg',
      sidebar,
      customCss: ['./src/styles/site.css'],
      lastUpdated: false,
      // Long lines wrap, so that a phone shows all of them; drawings keep their shape.
      expressiveCode: { defaultProps: { wrap: true, overridesByLang: { plaintext: { wrap: false } } } },
      components: { Footer: './src/Footer.astro' },
    }),
  ],
});

/** The list of pages for language models. */
import type { APIRoute } from 'astro';
import { readSections } from '../sources.ts';

export const GET: APIRoute = () => {
  const parts = readSections().map(
    ({ title, links }) =>
      `## ${title}\n\n${links.map(({ label, id, description }) => `- [${label}](/${id}.md): ${description}`).join('\n')}`,
  );
  return new Response(`# Berth\n\n> A self-hosted browser cloud: remote browsers over HTTP and DevTools.\n\n${parts.join('\n\n')}\n`);
};

/** All pages that the list names, in one text. */
import type { APIRoute } from 'astro';
import { pages, readSections } from '../sources.ts';

export const GET: APIRoute = () => {
  const listed = new Set(readSections().flatMap(({ links }) => links.map(({ id }) => id)));
  const texts = [...listed].map((id) => pages.find((page) => page.id === id)?.markdown ?? '');
  return new Response(texts.join('\n\n'));
};

/** Each page as Markdown below its address. */
import type { APIRoute } from 'astro';
import { pages } from '../sources.ts';

export const getStaticPaths = () => pages.map(({ id, markdown }) => ({ params: { file: id }, props: { markdown } }));
export const GET: APIRoute = ({ props }) => new Response(String(props['markdown']));

/** The images of docs/. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { APIRoute } from 'astro';
import { repository } from '../../sources.ts';

const folder = join(repository, 'docs/images');
export const getStaticPaths = () => readdirSync(folder).map((name) => ({ params: { name } }));
export const GET: APIRoute = ({ params }) => new Response(readFileSync(join(folder, params['name'] ?? '')));

/** The icon of the service. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { APIRoute } from 'astro';
import { repository } from '../sources.ts';

export const GET: APIRoute = () => new Response(readFileSync(join(repository, 'packages/web/src/shared/berth.svg')));

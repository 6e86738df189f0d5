import { z } from 'zod';
import { endpoint } from './endpoint.ts';

export const Region = z
  .object({
    code: z.string().meta({ examples: ['local'] }),
    name: z.string(),
    country: z.string().nullable().meta({ description: 'ISO 3166-1 alpha-2.' }),
    default: z.boolean().meta({ description: 'Used when a session names no region.' }),
    egress: z.object({
      managed: z.boolean().meta({ description: 'Whether `proxy.type: managed` can be asked for here.' }),
      rotating: z.boolean().meta({ description: 'Whether `proxy.type: rotating` can be asked for here without a list of one’s own.' }),
      countries: z.array(z.string()),
    }),
  })
  .meta({ id: 'Region' });
export type Region = z.infer<typeof Region>;

export const listRegions = endpoint({
  id: 'listRegions',
  method: 'GET',
  path: '/v1/regions',
  tag: 'Regions',
  summary: 'Region codes that a session may name',
  auth: 'bearer',
  reply: z.object({ version: z.string(), regions: z.array(Region) }).meta({ id: 'Regions' }),
  replyHeaders: { 'X-Service-Region-Registry-Version': 'Version of the registry, so that workers with different files are noticed.' },
  status: 200,
  errors: [],
});

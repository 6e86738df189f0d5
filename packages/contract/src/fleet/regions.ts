import { z } from 'zod';
import { endpoint } from '../endpoint.ts';

export const Region = z
  .object({
    code: z.string().meta({ description: 'Code of the region, for `region` of a session or fetch.', examples: ['local'] }),
    name: z.string().describe('Display name of the region.'),
    country: z.string().nullable().describe('Country of the region, ISO 3166-1 alpha-2; null if not configured.'),
    default: z.boolean().describe('Whether this region is used when a request names none.'),
    egress: z
      .object({
        direct: z.boolean().describe('Whether traffic leaves without a proxy: the worker that answered is in this region.'),
        managed: z.boolean().describe('Whether `proxy.type: managed` is available.'),
        rotating: z.boolean().describe('Whether `proxy.type: rotating` is available without a proxy list of your own.'),
        countries: z.array(z.string()).describe('Countries of the region’s proxies, ISO 3166-1 alpha-2.'),
      })
      .describe('Egress options of the region.'),
  })
  .meta({ id: 'Region' });
export type Region = z.infer<typeof Region>;

export const listRegions = endpoint({
  id: 'listRegions',
  method: 'GET',
  path: '/v1/regions',
  tag: 'Regions',
  summary: 'List regions',
  description:
    'Returns the regions from which the traffic of sessions and fetches can leave, with their egress options. A region ' +
    'without `direct` is left through its `managed` proxies, which need a plan with premium egress.',
  auth: 'bearer',
  reply: z
    .object({ version: z.string().describe('Version of the regions file.'), regions: z.array(Region).describe('The regions.') })
    .meta({ id: 'RegionsResponse' }),
  replyHeaders: { 'X-Service-Region-Registry-Version': 'Version of the regions file. It differs between workers with different files.' },
  status: 200,
  errors: [],
});

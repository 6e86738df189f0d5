/** The settings as the service runs with them, for its operator. */
import { z } from 'zod';
import { endpoint } from '../endpoint.ts';

export const settingSources = ['environment', 'command_line', 'default'] as const;

const Setting = z.object({
  name: z.string().meta({ description: 'Name of the environment variable.', examples: ['BERTH_PORT'] }),
  group: z.string().meta({ description: 'Part of the service that it belongs to.', examples: ['Server'] }),
  value: z
    .string()
    .nullable()
    .describe(
      'Value as the service uses it; null if there is none. For a secret only `set` or `not set`. URLs are without user, password, ' +
        'query and fragment.',
    ),
  source: z.enum(settingSources).describe('Where the value comes from.'),
  default: z.string().nullable().describe('Value without any setting; null: the description says what applies.'),
  secret: z.boolean().describe('Whether the value is never shown.'),
  description: z.string().describe('What the setting does, with its unit, in Markdown.'),
});

export const Settings = z
  .object({
    object: z.literal('settings').describe('Always `settings`.'),
    worker_id: z.string().describe('Id of the worker that responds.'),
    settings: z.array(Setting).describe('All settings, in the order of the documentation.'),
  })
  .meta({ id: 'SettingsResponse' });
export type SettingsResponse = z.infer<typeof Settings>;

export const getSettings = endpoint({
  id: 'getSettings',
  method: 'GET',
  path: '/admin/settings',
  tag: 'Operators',
  summary: 'List settings',
  description: 'Returns all settings of the worker that responds, as it runs with them, without secrets. Settings are read at the start.',
  auth: 'admin',
  reply: Settings,
  status: 200,
  errors: [],
});

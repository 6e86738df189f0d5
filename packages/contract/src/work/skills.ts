/** Endpoints of skills: what flows have learned about the elements of sites. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, pageHeaders, pageQuery } from '../fields.ts';

export const skillStates = ['active', 'stale', 'quarantined'] as const;

export const Skill = z
  .object({
    skill_id: z.string().meta({ description: 'Id of the skill.', examples: ['skl_3k2v9q0d7m5x1c8b4n6z2f7h'] }),
    name: z.string().describe('Step that the skill is for: its `id` or type, and its first selector.'),
    domain: z.string().meta({ description: 'Registrable domain of the site.', examples: ['example.com'] }),
    task: z.string().meta({ description: 'Flow or template that the step belongs to.', examples: ['login'] }),
    version: z.int().describe('Version of the skill, from 1. A new one begins when other selectors replace the ones in use.'),
    state: z
      .enum(skillStates)
      .describe(
        'State of the skill: `active`, `stale` (not used for 30 days) or `quarantined` (failed three times in a row, and not used ' +
          'until the step’s own selectors match again).',
      ),
    selectors: z
      .array(z.union([z.string(), z.array(z.string())]))
      .describe('Selectors that find the element, best first. They are tried after those of the step.'),
    success_count: z.int().describe('Number of runs in which the element was found.'),
    failure_count: z.int().describe('Number of runs in which it was not found.'),
    success_rate: z.number().nullable().describe('Share of runs in which the element was found, 0 to 1; null before the first run.'),
    last_used_at: Timestamp.nullable().describe('When a run last used the step (RFC 3339, UTC).'),
    last_healed_at: Timestamp.nullable().describe(
      'When the element was last found although no selector of the step matched; null if never.',
    ),
    created_at: Timestamp.describe('When the skill was learned (RFC 3339, UTC).'),
  })
  .meta({ id: 'SkillResponse' });
export type SkillResponse = z.infer<typeof Skill>;

export const listSkills = endpoint({
  id: 'listSkills',
  method: 'GET',
  path: '/v1/skills',
  tag: 'Agent',
  summary: 'List skills',
  description:
    'Returns what your flows have learned about the elements of sites, most recently learned first, 100 per page by default. ' +
    'A flow uses its skills to find an element again after a site has changed.',
  auth: 'bearer',
  query: z.strictObject({
    ...pageQuery,
    domain: boundedString(1, 253).optional().describe('Only skills of this site. Default: of all sites.'),
    task: boundedString(1, 64).optional().describe('Only skills of this flow or template. Default: of all.'),
  }),
  reply: z.array(Skill),
  replyHeaders: pageHeaders,
  status: 200,
  errors: ['store_unavailable'],
});

export const deleteSkill = endpoint({
  id: 'deleteSkill',
  method: 'DELETE',
  path: '/v1/skills/{skill_id}',
  tag: 'Agent',
  summary: 'Delete a skill',
  description: 'Deletes a skill. The next run of its flow learns the element anew.',
  auth: 'bearer',
  params: z.object({ skill_id: PathId.describe('Id of the skill.') }),
  status: 204,
  replyKind: 'empty',
  errors: ['skill_not_found', 'store_unavailable'],
});

import { deleteSkill, listSkills, type SkillResponse } from '@berth/contract';
import { z } from 'zod';
import type { Routes } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId } from '@berth/lib/ids.ts';
import { domainOfHost } from '../selfheal/selfheal.ts';
import { stateOf } from './skill.ts';
import type { Skill, Skills } from './skills.ts';

/** The last millisecond of the year 9999, the latest that the database reads. */
const timestampMsMax = 253_402_300_799_999;
const Position = z.tuple([z.int().min(0).max(timestampMsMax), z.string().refine((text) => isId('skl', text))]);

export function mountSkills(routes: Routes, skills: Skills, clock: Clock): void {
  routes.on(listSkills, async (call) => {
    const { limit, cursor, task, domain } = call.query;
    const [createdMs, skillId] = cursor === undefined ? [] : decodeCursor(cursor, Position);
    const rows = await skills.list({
      owner: ownerOf(call.principal),
      domain: domain === undefined ? undefined : domainOfHost(domain),
      task,
      after: createdMs === undefined || skillId === undefined ? undefined : { createdAt: new Date(createdMs), skillId },
      limit: limit + 1,
    });
    const now = clock.now();
    return pageHeaders(call, rows, limit, ({ createdAt, skillId: id }) => [createdAt.getTime(), id]).map((skill) => toReply(skill, now));
  });
  routes.on(deleteSkill, ({ params, principal }) => skills.delete(ownerOf(principal), params.skill_id).then(() => undefined));
}

function toReply(skill: Skill, now: Date): SkillResponse {
  const runs = skill.successCount + skill.failureCount;
  return {
    skill_id: skill.skillId,
    name: skill.step,
    domain: skill.domain,
    task: skill.task,
    version: skill.version,
    state: stateOf(skill, now),
    selectors: skill.selectors,
    success_count: skill.successCount,
    failure_count: skill.failureCount,
    success_rate: runs === 0 ? null : skill.successCount / runs,
    last_used_at: skill.lastUsedAt.toISOString(),
    last_healed_at: skill.lastHealedAt?.toISOString() ?? null,
    created_at: skill.createdAt.toISOString(),
  };
}

import { sql, type Selectable } from 'kysely';
import type { Selector } from '@berth/contract';
import type { Fingerprint } from '@berth/page-scripts/locate/fingerprint.ts';
import type { Tables } from '../../store/store.ts';
import type { Skill } from './skill.ts';

interface SkillTables {
  skills: {
    skill_id: string;
    owner_id: string;
    domain: string;
    task: string;
    step: string;
    version: number;
    quarantined: boolean;
    selectors: Selector[];
    fingerprint: Fingerprint;
    learned_at: Date;
    candidate: Skill['candidate'];
    success_count: number;
    failure_count: number;
    consecutive_failures: number;
    last_used_at: Date;
    last_healed_at: Date | null;
    created_at: Date;
  };
  skill_heals: {
    heal_id: string;
    owner_id: string;
    domain: string;
    task: string;
    step: string;
    run_id: string;
    from_selector: string;
    to_selector: string | null;
    level: number | null;
    score: number | null;
    result: HealResult;
    created_at: Date;
  };
}

export type HealResult = 'verified' | 'unverified' | 'failed' | 'skipped';

/** How an element was found again, or was not. */
export interface Heal {
  healId: string;
  owner: string;
  domain: string;
  task: string;
  step: string;
  runId: string;
  fromSelector: string;
  toSelector: string | null;
  level: number | null;
  score: number | null;
  result: HealResult;
  at: Date;
}

export interface SiteOfTask {
  owner: string;
  domain: string;
  task: string;
}

const own = (tables: Tables) => tables.tables<SkillTables>();

const toSkill = (row: Selectable<SkillTables['skills']>): Skill => ({
  skillId: row.skill_id,
  owner: row.owner_id,
  domain: row.domain,
  task: row.task,
  step: row.step,
  version: row.version,
  isQuarantined: row.quarantined,
  selectors: row.selectors,
  fingerprint: row.fingerprint,
  learnedAt: row.learned_at,
  candidate: row.candidate,
  successCount: row.success_count,
  failureCount: row.failure_count,
  consecutiveFailures: row.consecutive_failures,
  lastUsedAt: row.last_used_at,
  lastHealedAt: row.last_healed_at,
  createdAt: row.created_at,
});

const fromSkill = (skill: Skill) => ({
  skill_id: skill.skillId,
  owner_id: skill.owner,
  domain: skill.domain,
  task: skill.task,
  step: skill.step,
  version: skill.version,
  quarantined: skill.isQuarantined,
  selectors: sql<Selector[]>`${JSON.stringify(skill.selectors)}::jsonb`,
  fingerprint: sql<Fingerprint>`${JSON.stringify(skill.fingerprint)}::jsonb`,
  learned_at: skill.learnedAt,
  candidate: sql<Skill['candidate']>`${JSON.stringify(skill.candidate)}::jsonb`,
  success_count: skill.successCount,
  failure_count: skill.failureCount,
  consecutive_failures: skill.consecutiveFailures,
  last_used_at: skill.lastUsedAt,
  last_healed_at: skill.lastHealedAt,
  created_at: skill.createdAt,
});

const skillsOf = (tables: Tables, { owner, domain, task }: SiteOfTask) =>
  own(tables).selectFrom('skills').selectAll().where('owner_id', '=', owner).where('domain', '=', domain).where('task', '=', task);

export async function findSkills(tables: Tables, site: SiteOfTask): Promise<Skill[]> {
  const rows = await skillsOf(tables, site).execute();
  return rows.map(toSkill);
}

/** The same, locked until the transaction ends. */
export async function lockSkills(tx: Tables, site: SiteOfTask): Promise<Skill[]> {
  const rows = await skillsOf(tx, site).orderBy('skill_id').forUpdate().execute();
  return rows.map(toSkill);
}

/** A skill that another run has learned in the meantime stays as it is. */
export async function insertSkill(tx: Tables, skill: Skill): Promise<void> {
  await own(tx)
    .insertInto('skills')
    .values(fromSkill(skill))
    .onConflict((on) => on.columns(['owner_id', 'domain', 'task', 'step']).doNothing())
    .execute();
}

export async function updateSkill(tx: Tables, skill: Skill): Promise<void> {
  await own(tx).updateTable('skills').set(fromSkill(skill)).where('skill_id', '=', skill.skillId).execute();
}

export interface SkillFilter {
  owner: string;
  domain: string | undefined;
  task: string | undefined;
  after: { createdAt: Date; skillId: string } | undefined;
  limit: number;
}

/** Newest first. */
export async function listSkills(tables: Tables, { owner, domain, task, after, limit }: SkillFilter): Promise<Skill[]> {
  let query = own(tables).selectFrom('skills').selectAll().where('owner_id', '=', owner);
  if (domain !== undefined) query = query.where('domain', '=', domain);
  if (task !== undefined) query = query.where('task', '=', task);
  if (after) query = query.where(sql<boolean>`(created_at, skill_id) < (${after.createdAt}, ${after.skillId})`);
  return (await query.orderBy('created_at', 'desc').orderBy('skill_id', 'desc').limit(limit).execute()).map(toSkill);
}

/** False where the owner has no such skill. */
export async function deleteSkill(tables: Tables, owner: string, skillId: string): Promise<boolean> {
  const { numDeletedRows } = await own(tables)
    .deleteFrom('skills')
    .where('skill_id', '=', skillId)
    .where('owner_id', '=', owner)
    .executeTakeFirstOrThrow();
  return numDeletedRows === 1n;
}

export async function insertHeals(tx: Tables, heals: readonly Heal[]): Promise<void> {
  if (heals.length === 0) return;
  await own(tx)
    .insertInto('skill_heals')
    .values(
      heals.map((heal) => ({
        heal_id: heal.healId,
        owner_id: heal.owner,
        domain: heal.domain,
        task: heal.task,
        step: heal.step,
        run_id: heal.runId,
        from_selector: heal.fromSelector,
        to_selector: heal.toSelector,
        level: heal.level,
        score: heal.score,
        result: heal.result,
        created_at: heal.at,
      })),
    )
    .execute();
}

/** Deletes skills beyond the owner's maximum, least recently used first. */
export async function deleteSurplus(tx: Tables, owner: string, max: number): Promise<void> {
  await own(tx)
    .deleteFrom('skills')
    .where('skill_id', 'in', (query) =>
      query.selectFrom('skills').select('skill_id').where('owner_id', '=', owner).orderBy('last_used_at', 'desc').offset(max).limit(1000),
    )
    .execute();
}

export async function deleteUnused(tables: Tables, before: { skills: Date; heals: Date }): Promise<void> {
  await own(tables).deleteFrom('skills').where('last_used_at', '<', before.skills).execute();
  await own(tables).deleteFrom('skill_heals').where('created_at', '<', before.heals).execute();
}

export async function countHeals(tables: Tables, since: Date): Promise<Record<HealResult, number>> {
  const rows = await own(tables)
    .selectFrom('skill_heals')
    .select(({ fn }) => ['result', fn.countAll<number>().as('count')])
    .where('created_at', '>=', since)
    .groupBy('result')
    .execute();
  const counts = { verified: 0, unverified: 0, failed: 0, skipped: 0 };
  for (const { result, count } of rows) counts[result] = count;
  return counts;
}

export async function countSkills(tables: Tables): Promise<{ active: number; quarantined: number }> {
  const rows = await own(tables)
    .selectFrom('skills')
    .select(({ fn }) => ['quarantined', fn.countAll<number>().as('count')])
    .groupBy('quarantined')
    .execute();
  const countOf = (isQuarantined: boolean): number => rows.find(({ quarantined }) => quarantined === isQuarantined)?.count ?? 0;
  return { active: countOf(false), quarantined: countOf(true) };
}

/** A skill: what flows of an owner know about the element of one step on one site. Transitions, without I/O. */
import type { Selector } from '@berth/contract';
import type { Fingerprint } from '@berth/page-scripts/locate/fingerprint.ts';
import type { Finding } from '@berth/devtools';

export interface Skill {
  skillId: string;
  owner: string;
  /** Registrable domain. */
  domain: string;
  task: string;
  step: string;
  version: number;
  isQuarantined: boolean;
  /** Tried after the step's own, best first. */
  selectors: Selector[];
  fingerprint: Fingerprint;
  /** When the fingerprint was taken. */
  learnedAt: Date;
  /** What healing found, until enough runs have verified it. */
  candidate: { selectors: Selector[]; verified: number } | null;
  successCount: number;
  failureCount: number;
  consecutiveFailures: number;
  lastUsedAt: Date;
  lastHealedAt: Date | null;
  createdAt: Date;
}

/** `verified`: the run in which it was found succeeded. */
export interface FindingOfRun {
  finding: Finding;
  isVerified: boolean;
  at: Date;
}

const selectorsMax = 5;
const verifiedRuns = 2;
const failuresInARowMax = 3;
const staleMs = 30 * 86_400_000;
const freshMs = 86_400_000;

export const isFresh = ({ learnedAt }: Skill, now: Date): boolean => now.getTime() - learnedAt.getTime() < freshMs;

export function stateOf({ isQuarantined, lastUsedAt }: Skill, now: Date): 'active' | 'stale' | 'quarantined' {
  if (isQuarantined) return 'quarantined';
  return now.getTime() - lastUsedAt.getTime() > staleMs ? 'stale' : 'active';
}

/** null where there is nothing to learn. */
export function newSkill(
  key: Pick<Skill, 'skillId' | 'owner' | 'domain' | 'task' | 'step'>,
  { finding, at }: Pick<FindingOfRun, 'finding' | 'at'>,
): Skill | null {
  if (finding.result === 'failed' || finding.fingerprint === null) return null;
  const isHealed = finding.result === 'healed';
  return {
    ...key,
    version: 1,
    isQuarantined: false,
    selectors: isHealed ? [] : finding.selectors.slice(0, selectorsMax),
    fingerprint: finding.fingerprint,
    learnedAt: at,
    candidate: isHealed ? { selectors: finding.selectors.slice(0, selectorsMax), verified: 0 } : null,
    successCount: 0,
    failureCount: 0,
    consecutiveFailures: 0,
    lastUsedAt: at,
    lastHealedAt: null,
    createdAt: at,
  };
}

export function applyFinding(skill: Skill, { finding, isVerified, at }: FindingOfRun): Skill {
  if (finding.result === 'failed') return finding.reason === 'not_allowed' ? { ...skill, lastUsedAt: at } : failed(skill, at);
  const used = { ...skill, successCount: skill.successCount + 1, consecutiveFailures: 0, lastUsedAt: at };
  if (finding.result === 'healed') return healed(used, finding, { isVerified, at });
  if (finding.fingerprint === null) return { ...used, isQuarantined: false };
  const selectors = finding.selectors.slice(0, selectorsMax);
  return { ...used, isQuarantined: false, candidate: null, selectors, fingerprint: finding.fingerprint, learnedAt: at };
}

function failed(skill: Skill, at: Date): Skill {
  const consecutiveFailures = skill.consecutiveFailures + 1;
  const isQuarantined = skill.isQuarantined || consecutiveFailures >= failuresInARowMax;
  return { ...skill, failureCount: skill.failureCount + 1, consecutiveFailures, isQuarantined, lastUsedAt: at };
}

type Healed = Extract<Finding, { result: 'healed' }>;

function healed(skill: Skill, finding: Healed, { isVerified, at }: Pick<FindingOfRun, 'isVerified' | 'at'>): Skill {
  const before = skill.candidate;
  const [best] = finding.selectors;
  const isSame = before !== null && before.selectors.some((selector) => JSON.stringify(selector) === JSON.stringify(best));
  const candidate = {
    selectors: finding.selectors.slice(0, selectorsMax),
    verified: (isSame ? before.verified : 0) + (isVerified ? 1 : 0),
  };
  const used = { ...skill, lastHealedAt: at };
  // What the skill already offers has been verified before.
  if (finding.level === 2) return used;
  if (candidate.verified < verifiedRuns || candidate.selectors.length === 0) return { ...used, candidate };
  const others = skill.selectors.filter((old) => !candidate.selectors.some((selector) => JSON.stringify(selector) === JSON.stringify(old)));
  return {
    ...used,
    version: skill.version + 1,
    selectors: [...candidate.selectors, ...others].slice(0, selectorsMax),
    fingerprint: finding.fingerprint ?? skill.fingerprint,
    learnedAt: at,
    candidate: null,
  };
}

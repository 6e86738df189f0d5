/** Skills: what flows learn about the elements of sites, per owner. A run recalls them, and reports at its end how it went. */
import { ServiceError } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import { isId, newId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import { cutText } from '@berth/lib/text/text.ts';
import { domainOfHost } from '../selfheal/selfheal.ts';
import type { Finding, KnownElement, StepMemory, StepKey } from '@berth/devtools';
import type { Store } from '../../store/store.ts';
import { applyFinding, isFresh, newSkill, type Skill } from './skill.ts';
import * as skillStore from './store.ts';

export type { Skill } from './skill.ts';
export type { HealResult } from './store.ts';

export interface SkillsDeps {
  store: Store;
  clock: Clock;
  log: Log;
}

export interface RunOfTask {
  owner: string;
  /** Name of the flow or template. */
  task: string;
  /** Id of the run, for the record of heals. */
  runId: string;
  /** Takes the secrets of the run out of what is stored. */
  redact: (finding: Finding) => Promise<Finding>;
}

const skillsPerOwnerMax = 5000;
const unusedDays = 180;
const healDays = 30;
const dayMs = 86_400_000;
const pruneMs = 3_600_000;
/** Selectors in records are for people. */
const selectorCharsMax = 500;
const stepCharsMax = 200;
/** A run of thousands of steps is a loop, whose turns share their steps. */
const stepsPerRunMax = 500;

export class Skills {
  readonly pruning: Loop;
  /** Heals by result since the start of the worker. */
  readonly heals: Record<skillStore.HealResult, number> = { verified: 0, unverified: 0, failed: 0, skipped: 0 };
  readonly #deps: SkillsDeps;

  constructor(deps: SkillsDeps) {
    this.#deps = deps;
    this.pruning = new Loop('skill-pruning', pruneMs, () => this.#prune());
  }

  start(): void {
    this.pruning.start();
  }

  stop(): Promise<void> {
    return this.pruning.stop();
  }

  list(filter: skillStore.SkillFilter): Promise<Skill[]> {
    return skillStore.listSkills(this.#deps.store, filter);
  }

  /** @throws ServiceError skill_not_found, alike for unknown ids and those of other owners */
  async delete(owner: string, skillId: string): Promise<void> {
    if (isId('skl', skillId) && (await skillStore.deleteSkill(this.#deps.store, owner, skillId))) return;
    throw new ServiceError('skill_not_found', 'You have no skill with this id. List your skills.');
  }

  openRun(run: RunOfTask): SkillRun {
    return new SkillRun(this.#deps, run, (result) => (this.heals[result] += 1));
  }

  /** Counts for the operator's overview. */
  async totals(since: Date): Promise<{ heals: Record<skillStore.HealResult, number>; skills: { active: number; quarantined: number } }> {
    const { store } = this.#deps;
    const [heals, skills] = await Promise.all([skillStore.countHeals(store, since), skillStore.countSkills(store)]);
    return { heals, skills };
  }

  async #prune(): Promise<void> {
    const { store, clock } = this.#deps;
    const ago = (days: number): Date => new Date(clock.now().getTime() - days * dayMs);
    await skillStore.deleteUnused(store, { skills: ago(unusedDays), heals: ago(healDays) });
  }
}

interface Noted {
  domain: string;
  step: string;
  finding: Finding;
}

/** The memory of one run. What it learned is written when the run has ended. */
export class SkillRun implements StepMemory {
  readonly #deps: SkillsDeps;
  readonly #run: RunOfTask;
  readonly #skills = new Map<string, Promise<Map<string, Skill>>>();
  readonly #noted = new Map<string, Noted>();
  readonly #onHeal: (result: skillStore.HealResult) => void;

  constructor(deps: SkillsDeps, run: RunOfTask, onHeal: (result: skillStore.HealResult) => void) {
    this.#deps = deps;
    this.#run = run;
    this.#onHeal = onHeal;
  }

  async recall(key: StepKey): Promise<KnownElement | null> {
    if (key.site === '') return null;
    const skill = (await this.#skillsOf(domainOfHost(key.site))).get(cutText(key.step, stepCharsMax));
    if (!skill || skill.isQuarantined) return null;
    return { selectors: skill.selectors, fingerprint: skill.fingerprint, isFresh: isFresh(skill, this.#deps.clock.now()) };
  }

  learn(key: StepKey, finding: Finding): void {
    if (key.site === '') return;
    const [domain, step] = [domainOfHost(key.site), cutText(key.step, stepCharsMax)];
    const name = `${domain} ${step}`;
    if (this.#noted.size < stepsPerRunMax || this.#noted.has(name)) this.#noted.set(name, { domain, step, finding });
  }

  /** Never throws: a run does not fail because it could not learn. */
  async finish(succeeded: boolean): Promise<void> {
    const noted = [...this.#noted.values()];
    this.#noted.clear();
    const domains = [...new Set(noted.map(({ domain }) => domain))];
    for (const domain of domains) {
      const ofDomain = noted.filter((each) => each.domain === domain);
      await this.#redact(ofDomain)
        .then((redacted) => this.#write(domain, redacted, succeeded))
        .catch((error: unknown) => this.#deps.log.warn({ err: error, task: this.#run.task }, 'skills not written'));
    }
  }

  async #redact(noted: readonly Noted[]): Promise<Noted[]> {
    const redacted: Noted[] = [];
    for (const each of noted) redacted.push({ ...each, finding: await this.#run.redact(each.finding) });
    return redacted;
  }

  /** Returns the skills of one site. If the store does not answer, the run continues without them. */
  #skillsOf(domain: string): Promise<Map<string, Skill>> {
    const loaded = this.#skills.get(domain);
    if (loaded) return loaded;
    const { store, log } = this.#deps;
    const { owner, task } = this.#run;
    const loading = skillStore
      .findSkills(store, { owner, domain, task })
      .catch((error: unknown) => {
        log.warn({ err: error, task }, 'skills not read');
        return [];
      })
      .then((skills) => new Map(skills.map((skill) => [skill.step, skill])));
    this.#skills.set(domain, loading);
    return loading;
  }

  async #write(domain: string, noted: readonly Noted[], isVerified: boolean): Promise<void> {
    const { store, clock } = this.#deps;
    const { owner, task, runId } = this.#run;
    const at = clock.now();
    const heals = noted.flatMap(({ step, finding }) => toHeal({ owner, domain, task, step, runId, at }, finding, isVerified));
    await store.transaction(async (tx) => {
      const known = new Map((await skillStore.lockSkills(tx, { owner, domain, task })).map((skill) => [skill.step, skill]));
      for (const { step, finding } of noted) {
        const before = known.get(step) ?? newSkill({ skillId: newId('skl'), owner, domain, task, step }, { finding, at });
        if (!before) continue;
        const skill = applyFinding(before, { finding, isVerified, at });
        await (known.has(step) ? skillStore.updateSkill(tx, skill) : skillStore.insertSkill(tx, skill));
      }
      await skillStore.insertHeals(tx, heals);
      await skillStore.deleteSurplus(tx, owner, skillsPerOwnerMax);
    });
    for (const { result } of heals) this.#onHeal(result);
  }
}

type HealRun = Pick<skillStore.Heal, 'owner' | 'domain' | 'task' | 'step' | 'runId' | 'at'>;

function toHeal(key: HealRun, finding: Finding, isVerified: boolean): skillStore.Heal[] {
  if (finding.result === 'listed') return [];
  const common = { ...key, healId: newId('hea') };
  const none = { toSelector: null, level: null, score: null };
  if (finding.result === 'failed')
    return [{ ...common, ...none, fromSelector: key.step, result: finding.reason === 'not_allowed' ? 'skipped' : 'failed' }];
  const text = (selector: string | readonly string[] | undefined): string =>
    cutText(typeof selector === 'string' ? selector : (selector ?? []).join(' → '), selectorCharsMax);
  const { level, score, from, selectors } = finding;
  return [
    {
      ...common,
      fromSelector: text(from),
      toSelector: selectors.length === 0 ? null : text(selectors[0]),
      level,
      score,
      result: isVerified ? 'verified' : 'unverified',
    },
  ];
}

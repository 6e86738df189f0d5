/** Skills: what the owner's flows have learned about the elements of sites. */
import { useSignal } from '@preact/signals';
import type { SkillResponse } from '@berth/contract';
import { call, callPage } from '../../../api.ts';
import { hrefOf } from '../../../href.ts';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { Time } from '../../../ui/values/time.tsx';
import { toasts } from '../../../ui/toasts.ts';
import { useMore } from '../../../use-more.ts';
import '../automation.css';

const tones: Readonly<Record<SkillResponse['state'], Tone>> = { active: 'good', stale: 'neutral', quarantined: 'warn' };

const columns: readonly Column<SkillResponse>[] = [
  { title: 'Site', cell: ({ domain }) => domain, text: ({ domain }) => domain },
  { title: 'Step', cell: ({ name }) => <code class="automation-foreign">{name}</code>, text: ({ name }) => name },
  { title: 'Flow', cell: ({ task }) => task, text: ({ task }) => task, isMinor: true },
  { title: 'State', cell: ({ state }) => <Badge tone={tones[state]}>{state}</Badge>, text: ({ state }) => state },
  {
    title: 'Success',
    cell: ({ success_rate: rate, success_count: good, failure_count: bad }) =>
      rate === null ? '–' : `${Math.round(rate * 100)} % of ${good + bad}`,
    text: ({ success_rate: rate }) => rate,
    isNumber: true,
    isMinor: true,
  },
  { title: 'Selectors', cell: ({ selectors }) => <Selectors selectors={selectors} />, isMinor: true },
  { title: 'Used', cell: ({ last_used_at: at }) => <Time at={at} />, text: ({ last_used_at: at }) => at, isMinor: true },
  { title: 'Healed', cell: ({ last_healed_at: at }) => <Time at={at} />, text: ({ last_healed_at: at }) => at, isMinor: true },
];

/** The first is what a run tries next. */
const Selectors = ({ selectors: [first, ...others] }: { selectors: SkillResponse['selectors'] }) => (
  <>
    <code class="automation-foreign">{[first ?? '–'].flat().join(' › ')}</code>
    {others.length > 0 && <span class="muted"> and {others.length} more</span>}
  </>
);

export default function SkillsPage() {
  const deleting = useSignal<SkillResponse | null>(null);
  const { live, rows, onMore } = useMore<SkillResponse>((cursor, signal) => callPage('listSkills', { query: { cursor }, signal }));
  const remove = async (): Promise<void> => {
    const skill = deleting.value;
    if (!skill) return;
    await call('deleteSkill', { params: { skill_id: skill.skill_id } });
    toasts.show(`The skill for ${skill.domain} is deleted.`);
    await live.reload();
  };
  return (
    <div class="page">
      <div class="page-head">
        <h1>Skills</h1>
      </div>
      <p class="muted">
        What your flows have learned about the elements of sites. A flow uses its skills to find an element after a site has changed.
      </p>
      <Loaded live={live} loading="Loading skills">
        {() => (
          <Table
            caption="Skills"
            columns={[...columns, deleteColumn((skill) => (deleting.value = skill))]}
            rows={rows}
            keyOf={({ skill_id: id }) => id}
            onMore={onMore}
            empty={
              <Empty icon="star" title="No skills yet">
                They are learned by <a href={hrefOf('/flows')}>flows and templates</a> whose steps name elements.
              </Empty>
            }
          />
        )}
      </Loaded>
      <Confirm
        title="Delete the skill"
        text={`The next run of ${deleting.value?.task ?? ''} on ${deleting.value?.domain ?? ''} learns the element anew.`}
        action="Delete the skill"
        isOpen={deleting.value !== null}
        onClose={() => (deleting.value = null)}
        onConfirm={remove}
      />
    </div>
  );
}

const deleteColumn = (onDelete: (skill: SkillResponse) => void): Column<SkillResponse> => ({
  title: 'Delete',
  cell: (skill) => (
    <button
      type="button"
      class="button"
      aria-label={`Delete the skill for ${skill.name} on ${skill.domain}`}
      onClick={() => onDelete(skill)}
    >
      Delete
    </button>
  ),
});

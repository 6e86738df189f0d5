/** Flows and templates: what can be run, by category. */
import { useSignal } from '@preact/signals';
import { useLocation } from 'preact-iso';
import type { AgentTaskResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { hrefOf } from '../../../href.ts';
import { TextField } from '../../../ui/form/fields.tsx';
import { Hint } from '../../../ui/hint.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { wordsOf } from '../../../ui/values/texts.ts';
import { History } from '../jobs/history.tsx';
import '../automation.css';

export type RunKind = 'flows' | 'templates';

export const hrefOfRun = (kind: RunKind, name: string, jobId?: string): string =>
  hrefOf(`/${kind}/${encodeURIComponent(name)}`) + (jobId === undefined ? '' : `?${new URLSearchParams({ job: jobId })}`);

/** `?list=templates` begins with the templates. */
export default function FlowsPage() {
  const { query, route } = useLocation();
  const kind: RunKind = query['list'] === 'templates' ? 'templates' : 'flows';
  const filter = useSignal('');
  const live = useLive(
    async (signal): Promise<readonly AgentTaskResponse[]> =>
      kind === 'flows' ? call('listTasks', { signal }) : call('listTemplates', { signal }),
    { inputs: [kind] },
  );
  return (
    <div class="page">
      <div class="page-head">
        <h1>Flows and templates</h1>
      </div>
      <Tabs
        label="Kind"
        current={kind}
        onChange={(id) => route(`${hrefOf('/flows')}?list=${id}`)}
        tabs={[
          { id: 'flows', title: 'Flows' },
          { id: 'templates', title: 'Templates' },
        ]}
      >
        <p class="muted">
          {kind === 'flows'
            ? 'Named work in a browser, without a language model: enter what it needs, and run it.'
            : 'Step lists for common tasks, to run as they are or to change and run with the flow “custom”.'}
        </p>
        <TextField label="Filter" type="search" value={filter.value} onInput={(text) => (filter.value = text)} />
        <Loaded live={live} loading={`Loading ${kind}`}>
          {(items) => <Categories kind={kind} items={matching(items, filter.value)} />}
        </Loaded>
      </Tabs>
      <History kind={kind === 'flows' ? 'agent' : 'template'} hrefOfJob={({ job_id: id, target }) => hrefOfRun(kind, target ?? '', id)} />
    </div>
  );
}

function matching(items: readonly AgentTaskResponse[], filter: string): AgentTaskResponse[] {
  const wanted = filter.trim().toLowerCase();
  return items.filter(({ name, title, description }) => `${name} ${title} ${description}`.toLowerCase().includes(wanted));
}

function Categories({ kind, items }: { kind: RunKind; items: readonly AgentTaskResponse[] }) {
  const categories = [...new Set(items.map(({ category }) => category))];
  if (items.length === 0) return <Empty icon="search" title={`No ${kind} match`} />;
  return (
    <>
      {categories.map((category) => (
        <section key={category} aria-label={wordsOf(category)} class="automation-category">
          <h2>{wordsOf(category)}</h2>
          <ul class="automation-cards">
            {items
              .filter((item) => item.category === category)
              .map(({ name, title, description }) => (
                <li key={name}>
                  <a href={hrefOfRun(kind, name)}>{title}</a>
                  <code>{name}</code>
                  <p class="muted">
                    <Hint text={description} />
                  </p>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </>
  );
}

import type { SettingsResponse } from '@berth/contract';
import { call } from '../../api.ts';
import { useLive } from '../../live.ts';
import { Badge } from '../../ui/badge.tsx';
import { CheckField } from '../../ui/form/fields.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Described, PageFrame } from './parts.tsx';
import { useQuery } from '../../query.ts';

export default function SettingsPage() {
  const { values, set } = useQuery({ changed: /^yes$/ });
  const live = useLive((signal) => call('getSettings', { signal }));
  return (
    <PageFrame
      title="Settings"
      about="As this worker runs with them. They are environment variables, read at the start; of secrets only whether they are set is shown."
    >
      <Loaded live={live} loading="Loading settings">
        {({ settings }) => (
          <Table
            caption="Settings"
            columns={columns}
            rows={values.changed ? settings.filter(({ source }) => source !== 'default') : settings}
            keyOf={({ name }) => name}
            rowsPerPage={100}
            tools={
              <CheckField
                label="Only those that are not the default"
                isChecked={values.changed !== undefined}
                onInput={(isChecked) => set({ changed: isChecked ? 'yes' : '' })}
              />
            }
            empty={<p class="muted">All settings have their default.</p>}
          />
        )}
      </Loaded>
    </PageFrame>
  );
}

type Setting = SettingsResponse['settings'][number];

const sources: Record<Setting['source'], string> = { environment: 'Environment', command_line: 'Command line', default: 'Default' };

const columns: readonly Column<Setting>[] = [
  { title: 'Setting', cell: ({ name }) => <code class="operator-name">{name}</code>, text: ({ name }) => name },
  {
    title: 'Value',
    cell: ({ value, secret }) => {
      if (secret) return <Badge tone={value === 'set' ? 'good' : 'neutral'}>{value}</Badge>;
      return value === null || value === '' ? <span class="muted">none</span> : <code>{value}</code>;
    },
    text: ({ value }) => value,
  },
  {
    title: 'From',
    cell: ({ source }) => <Badge tone={source === 'default' ? 'neutral' : 'accent'}>{sources[source]}</Badge>,
    text: ({ source }) => sources[source],
  },
  { title: 'Part', cell: ({ group }) => group, text: ({ group }) => group, isMinor: true },
  { title: 'Meaning', cell: ({ description }) => <Described text={description} />, text: ({ description }) => description, isMinor: true },
];

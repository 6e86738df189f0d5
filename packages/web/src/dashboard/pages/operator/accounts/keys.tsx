import { useSignal } from '@preact/signals';
import { callPage } from '../../../api.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { TextField } from '../../../ui/form/fields.tsx';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { FilterField } from '../filter-field.tsx';
import { CreateKey } from './create-key.tsx';
import { KeyTable } from './key-table.tsx';
import { PageFrame, Panel, UsedFilters, slowRefreshMs } from '../parts.tsx';
import { useQuery } from '../../../query.ts';
import { usePages } from '../../../use-pages.ts';

export default function KeysPage() {
  const { values, set } = useQuery({ owner: 'text', last4: /^.{4}$/ });
  const { owner, last4 } = values;
  const isCreating = useSignal(false);
  const list = usePages(({ cursor, signal }) => callPage('listKeys', { query: { owner, last4, cursor }, signal }), {
    everyMs: slowRefreshMs,
    inputs: [owner, last4],
  });
  return (
    <PageFrame
      title="All keys"
      about="API keys of all owners. Their secrets are stored nowhere."
      actions={
        <button type="button" class="button button-main" onClick={() => (isCreating.value = true)}>
          Create a key
        </button>
      }
    >
      <Panel title="Find a leaked key">
        <Find onFind={(end) => set({ last4: end, owner: '' })} />
      </Panel>
      <div class="filter-fields">
        <FilterField label="Owner" value={owner} onChange={(value) => set({ owner: value })} />
      </div>
      <UsedFilters values={{ 'ends in': last4 ?? '' }} onClear={() => set({ last4: '' })} />
      <Loaded live={list.live} loading="Loading keys">
        {(keys) => (
          <KeyTable
            list={list}
            keys={keys}
            empty={
              <Empty icon="key" title="No key matches">
                <p>
                  {last4
                    ? 'No key of this service ends like that. It may belong to another installation.'
                    : owner
                      ? 'This owner has no key.'
                      : 'No key has been created yet.'}
                </p>
              </Empty>
            }
          />
        )}
      </Loaded>
      <Dialog title="Create a key" isOpen={isCreating.value} onClose={() => (isCreating.value = false)}>
        <CreateKey onCreated={() => list.live.reload()} />
      </Dialog>
    </PageFrame>
  );
}

const endLength = 4;

/** Only the end of what is pasted leaves the field: a leaked key is not spread further, not even to this service's logs. */
function Find({ onFind }: { onFind: (last4: string) => void }) {
  const text = useSignal('');
  const end = text.value.trim().slice(-endLength);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    text.value = '';
    onFind(end);
  };
  return (
    <form class="form" onSubmit={submit}>
      <TextField
        label="The key, or its last four characters"
        type="password"
        hint="Only the last four characters are used. The rest does not leave this field."
        value={text.value}
        onInput={(value) => (text.value = value)}
      />
      <div>
        <button type="submit" class="button" disabled={end.length < endLength}>
          Find the key
        </button>
      </div>
    </form>
  );
}

/** Where new work of an owner runs. */
import { useSignal } from '@preact/signals';
import type { OwnerResponse } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive, type Live } from '../../../live.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { SelectField } from '../../../ui/form/fields.tsx';
import { ErrorNote } from '../../../ui/states.tsx';
import { toasts } from '../../../ui/toasts.ts';
import { useSending } from '../../../ui/form/use-sending.ts';
import { SendForm } from '../form.tsx';
import { Note, Panel, slowRefreshMs } from '../parts.tsx';

interface PlacementProps {
  owner: OwnerResponse;
  live: Live<OwnerResponse>;
}

/** Nothing where there is one worker, and so no choice. */
export function Placement({ owner: { owner, pinned_worker_id: pinned }, live }: PlacementProps) {
  const workers = useLive((signal) => call('listWorkers', { signal }), { everyMs: slowRefreshMs });
  const isPinning = useSignal(false);
  const { error, send } = useSending();
  const list = workers.data ?? [];
  if (pinned === null && list.length < 2) return null;
  const worker = list.find(({ worker_id: id }) => id === pinned);
  const takesWork = worker?.alive === true && worker.state === 'active';
  const unpin = () =>
    send(async () => {
      await call('unpinOwner', { params: { owner } });
      toasts.show(`New work of ${owner} runs on any worker again.`);
      await live.reload();
    });
  const pin = async (id: string): Promise<void> => {
    await call('pinOwner', { params: { owner }, body: { worker_id: id } });
    toasts.show(`${owner} is pinned to ${id}.`);
    isPinning.value = false;
    await live.reload();
  };
  return (
    <Panel
      title="Placement"
      actions={
        <>
          {pinned !== null && (
            <button type="button" class="button" onClick={() => void unpin()}>
              Unpin
            </button>
          )}
          <button type="button" class="button" onClick={() => (isPinning.value = true)}>
            Pin to a worker
          </button>
        </>
      }
    >
      {error && <ErrorNote error={error} />}
      <p>New work runs on {pinned === null ? 'any worker' : <code>{pinned}</code>}.</p>
      {pinned !== null && workers.data && !takesWork && <Note tone="bad">That worker takes no new work: it is refused until it does.</Note>}
      <Dialog title={`Pin ${owner} to a worker`} isOpen={isPinning.value} onClose={() => (isPinning.value = false)}>
        <PinForm ids={list.map(({ worker_id: id }) => id)} onPin={pin} />
      </Dialog>
    </Panel>
  );
}

function PinForm({ ids, onPin }: { ids: readonly string[]; onPin: (id: string) => Promise<void> }) {
  const chosen = useSignal(ids[0] ?? '');
  return (
    <SendForm action="Pin the owner" onSend={() => onPin(chosen.value)} isReady={chosen.value !== ''}>
      <SelectField
        label="Worker"
        value={chosen.value}
        options={ids.map((id) => ({ value: id, label: id }))}
        onInput={(value) => (chosen.value = value)}
      />
      <p>
        New sessions, fetches and jobs run there only, and are refused while that worker is full, cordoned or away. What runs elsewhere goes
        on.
      </p>
    </SendForm>
  );
}

/** Rows of a list that somebody chose, and what is done to all of them at once. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { toShown } from '../api-error.ts';
import { Confirm } from './dialog.tsx';
import { toasts } from './toasts.ts';

/** Calls at once: a customer's limit of requests is not used up by one click. */
const callsMax = 4;

export interface Selection {
  ids: ReadonlySet<string>;
  set: (ids: Iterable<string>, isChosen: boolean) => void;
}

export function useSelection(): Selection {
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  return {
    ids: chosen.value,
    set: (ids, isChosen) => {
      const next = new Set(chosen.peek());
      for (const id of ids)
        if (isChosen) next.add(id);
        else next.delete(id);
      chosen.value = next;
    },
  };
}

interface BulkProps {
  selection: Selection;
  /** Ids that the act applies to now; what was chosen and is no longer among them is left out. */
  possible: readonly string[];
  /** One and many, such as `session` and `sessions`. */
  nouns: readonly [string, string];
  /** An infinitive and a participle, such as `End` and `ended`. */
  verbs: readonly [string, string];
  /** What happens, and whether it can be undone. */
  text: ComponentChildren;
  act: (id: string) => Promise<unknown>;
  onDone: () => Promise<void>;
}

/** Says how many rows are chosen, and does one act to all of them after a question. Nothing while none is chosen. */
export function BulkBar({ selection, possible, nouns, verbs, text, act, onDone }: BulkProps) {
  const isAsking = useSignal(false);
  const ids = possible.filter((id) => selection.ids.has(id));
  const counted = (count: number): string => `${count} ${nouns[count === 1 ? 0 : 1]}`;
  const run = async (): Promise<void> => {
    const failures = await actOnAll(ids, act);
    selection.set(
      ids.filter((id) => !failures.has(id)),
      false,
    );
    await onDone();
    const done = ids.length - failures.size;
    if (done > 0) toasts.show(`${counted(done)} ${verbs[1]}.`);
    const [reason] = failures.values();
    if (reason !== undefined) throw new Error(`${counted(failures.size)} could not be ${verbs[1]}: ${reason}`);
  };
  const action = `${verbs[0]} ${counted(ids.length)}`;
  return (
    <>
      {ids.length > 0 && (
        <div class="bulk-bar" role="region" aria-label="Chosen rows">
          <span role="status">{ids.length} chosen</span>
          <button type="button" class="button button-danger" onClick={() => (isAsking.value = true)}>
            {action}
          </button>
          <button type="button" class="button" onClick={() => selection.set(selection.ids, false)}>
            Choose none
          </button>
        </div>
      )}
      <Confirm
        title={`${action}?`}
        text={text}
        action={action}
        isOpen={isAsking.value}
        onClose={() => (isAsking.value = false)}
        onConfirm={run}
      />
    </>
  );
}

/** Goes through all ids, whatever fails; returns why it failed for those that did. */
async function actOnAll(ids: readonly string[], act: (id: string) => Promise<unknown>): Promise<ReadonlyMap<string, string>> {
  const failures = new Map<string, string>();
  const queue = [...ids];
  const work = async (): Promise<void> => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      try {
        await act(id);
      } catch (error) {
        failures.set(id, toShown(error).message);
      }
    }
  };
  await Promise.all(Array.from({ length: callsMax }, work));
  return failures;
}

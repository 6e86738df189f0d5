/** Deletes recordings whose time is up, and sets right what rows and folders say of each other. */
import { access, readdir } from 'node:fs/promises';
import { isId } from '../lib/ids.ts';
import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import { folderOf, removeFolder } from './folder.ts';
import { deleteRecordings, expiredRecordings, forgetExpired, knownRecordings, recordingIdsOf } from './store.ts';

export interface PruneDeps {
  store: Store;
  clock: Clock;
  workerId: string;
  root: string;
  /** Whether this worker records it, or is about to write down what it came to. */
  isHeld(recId: string): boolean;
}

const batch = 200;
/** A worker that has not deleted its own by then does not come back. */
const otherWorkersMs = 24 * 3_600_000;

export async function pruneRecordings(deps: PruneDeps, signal: AbortSignal): Promise<void> {
  const { store, clock } = deps;
  await deleteExpired(deps, signal);
  const forgotten = new Date(clock.now().getTime() - otherWorkersMs);
  while (!signal.aborted && (await forgetExpired(store, forgotten, batch)) === batch);
  // Read before the rows are: a recording that begins in between has its row before it is looked for.
  const folders = (await readdir(deps.root)).filter((name) => isId('rec', name));
  await removeStrayFolders(deps, folders, signal);
  await forgetWithoutFolder(deps, signal);
}

/** Rows go after their files: a worker that dies in between finds them again. */
async function deleteExpired({ store, clock, workerId, root }: PruneDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    const expired = await expiredRecordings(store, workerId, { now: clock.now(), limit: batch });
    for (const recId of expired) {
      if (signal.aborted) return;
      await removeFolder(folderOf(root, recId));
    }
    await deleteRecordings(store, expired);
    if (expired.length < batch) return;
  }
}

async function removeStrayFolders({ store, root, isHeld }: PruneDeps, folders: string[], signal: AbortSignal): Promise<void> {
  for (let at = 0; at < folders.length; at += batch) {
    const some = folders.slice(at, at + batch);
    const known = await knownRecordings(store, some);
    for (const recId of some) {
      if (signal.aborted) return;
      if (!known.has(recId) && !isHeld(recId)) await removeFolder(folderOf(root, recId));
    }
  }
}

async function forgetWithoutFolder({ store, workerId, root }: PruneDeps, signal: AbortSignal): Promise<void> {
  for (let after = ''; !signal.aborted;) {
    const recIds = await recordingIdsOf(store, workerId, { after, limit: batch });
    const gone: string[] = [];
    for (const recId of recIds) if (!(await isThere(folderOf(root, recId)))) gone.push(recId);
    await deleteRecordings(store, gone);
    if (recIds.length < batch) return;
    after = recIds.at(-1) ?? after;
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

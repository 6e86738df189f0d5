/** Deletes expired recordings, folders without a row and rows without a folder. */
import { readdir } from 'node:fs/promises';
import { isId } from '@berth/lib/ids.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Store } from '../../../store/store.ts';
import { folderOf, hasFolder, removeFolder } from './folder.ts';
import { deleteRecordings, expiredRecordings, deleteExpiredRecordings, existingRecordings, recordingIdsOf } from '../store.ts';

export interface PruneDeps {
  store: Store;
  clock: Clock;
  workerId: string;
  root: string;
  /** Whether this worker is recording or finalizing it. */
  isActive(recId: string): boolean;
  /** Deletes the objects of a recording; null: there is no object storage. */
  deleteObjects: ((recId: string) => Promise<void>) | null;
}

const batchSize = 200;
/** A worker that has not deleted its own recordings by then is lost. */
const otherWorkersGraceMs = 24 * 3_600_000;

export async function pruneRecordings(deps: PruneDeps, signal: AbortSignal): Promise<void> {
  const { store, clock } = deps;
  await deleteExpired(deps, signal);
  const expiredBefore = new Date(clock.now().getTime() - otherWorkersGraceMs);
  while (!signal.aborted && (await deleteExpiredRecordings(store, expiredBefore, batchSize)) === batchSize);
  // Read before the rows, so that the row of a recording that starts meanwhile is found.
  const folders = (await readdir(deps.root)).filter((name) => isId('rec', name));
  await removeOrphanFolders(deps, folders, signal);
  await deleteRowsWithoutFolder(deps, signal);
  if (deps.deleteObjects) await deleteExpiredObjects(deps, deps.deleteObjects, signal);
}

/** Deletes expired recordings in object storage, of any worker. Called last, because the storage may be unavailable. */
async function deleteExpiredObjects(
  { store, clock }: PruneDeps,
  deleteObjects: (recId: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const expired = await expiredRecordings(store, 'uploaded', { now: clock.now(), limit: batchSize });
    for (const recId of expired) {
      if (signal.aborted) return;
      await deleteObjects(recId);
    }
    await deleteRecordings(store, expired);
    if (expired.length < batchSize) return;
  }
}

/** Deletes rows after their files, so that an interrupted run is resumed. */
async function deleteExpired({ store, clock, workerId, root }: PruneDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    const expired = await expiredRecordings(store, { workerId }, { now: clock.now(), limit: batchSize });
    for (const recId of expired) {
      if (signal.aborted) return;
      await removeFolder(folderOf(root, recId));
    }
    await deleteRecordings(store, expired);
    if (expired.length < batchSize) return;
  }
}

async function removeOrphanFolders({ store, root, isActive }: PruneDeps, folders: string[], signal: AbortSignal): Promise<void> {
  for (let start = 0; start < folders.length; start += batchSize) {
    const chunk = folders.slice(start, start + batchSize);
    const existing = await existingRecordings(store, chunk);
    for (const recId of chunk) {
      if (signal.aborted) return;
      if (!existing.has(recId) && !isActive(recId)) await removeFolder(folderOf(root, recId));
    }
  }
}

async function deleteRowsWithoutFolder({ store, workerId, root }: PruneDeps, signal: AbortSignal): Promise<void> {
  for (let after = ''; !signal.aborted;) {
    const recIds = await recordingIdsOf(store, workerId, { after, limit: batchSize });
    const missing: string[] = [];
    for (const recId of recIds) if (!(await hasFolder(folderOf(root, recId)))) missing.push(recId);
    await deleteRecordings(store, missing);
    if (recIds.length < batchSize) return;
    after = recIds.at(-1) ?? after;
  }
}

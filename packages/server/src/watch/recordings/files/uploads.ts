/** Moves finished recordings to object storage, and compares what is there with the rows. */
import { readdir } from 'node:fs/promises';
import { ServiceError } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import { isId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Objects } from '../../../objects/objects.ts';
import type { Store } from '../../../store/store.ts';
import { folderOf, hasFolder } from './folder.ts';
import { existingRecordings, markUploaded, pendingUploads, uploadsAmong } from '../store.ts';
import { indexKey, recordingsPrefix, type UploadedRecordings } from './uploaded.ts';

export interface UploadDeps {
  store: Store;
  objects: Objects;
  uploaded: UploadedRecordings;
  clock: Clock;
  log: Log;
  workerId: string;
  root: string;
  /** Whether this worker is recording or finalizing it. */
  isActive(recId: string): boolean;
  /** Removes its folder, or returns false while the folder is being read. */
  removeFolder(recId: string): Promise<boolean>;
  /** Returns the ids of workers without a current heartbeat. */
  silentWorkers(): Promise<string[]>;
}

const batchSize = 200;
/** Objects that are younger may be of an upload whose row is not written yet. */
const orphanMs = 24 * 3_600_000;

/**
 * Uploads what is on this disk alone, the oldest first, and then removes the folders of what is uploaded. A folder whose
 * row could not be written is uploaded again. Returns how many recordings wait.
 *
 * @throws ServiceError store_unavailable; what was not uploaded waits for the next iteration
 */
export async function uploadRecordings(deps: UploadDeps, signal: AbortSignal, onPending: (count: number) => void): Promise<void> {
  const { store, uploaded, clock, log, workerId, root } = deps;
  const pending: string[] = [];
  for (const recId of await pendingUploads(store, workerId, batchSize))
    if (!deps.isActive(recId) && (await hasFolder(folderOf(root, recId)))) pending.push(recId);
  onPending(pending.length);
  for (const [position, recId] of pending.entries()) {
    if (signal.aborted) return;
    const folder = folderOf(root, recId);
    try {
      await uploaded.upload(recId, folder, signal);
      await markUploaded(store, [recId], clock.now());
      onPending(pending.length - position - 1);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ServiceError) throw error;
      log.warn({ err: error, recording: recId }, 'recording upload failed');
    }
  }
}

/** Removes the folders of uploaded recordings that nobody reads. Returns whether there were any. */
export async function removeUploaded(deps: UploadDeps, signal: AbortSignal): Promise<boolean> {
  const { store, root, isActive } = deps;
  const folders = (await readdir(root)).filter((name) => isId('rec', name));
  let hasRemoved = false;
  for (let start = 0; start < folders.length && !signal.aborted; start += batchSize) {
    const { uploaded } = await uploadsAmong(store, folders.slice(start, start + batchSize), []);
    for (const recId of uploaded) {
      if (!isActive(recId) && (await deps.removeFolder(recId))) hasRemoved = true;
    }
  }
  return hasRemoved;
}

/**
 * Deletes objects of recordings without a row, and marks as uploaded what a worker that is lost had uploaded without saying so.
 *
 * @throws ServiceError store_unavailable
 */
export async function reconcileObjects(deps: UploadDeps, signal: AbortSignal): Promise<void> {
  const { store, objects, uploaded, clock, log } = deps;
  const silent = await deps.silentWorkers();
  const before = new Date(clock.now().getTime() - orphanMs);
  for await (const page of objects.list(recordingsPrefix, signal)) {
    const recIds = [...new Set(page.map(({ key }) => key.split('/')[1] ?? ''))].filter((recId) => isId('rec', recId));
    const existing = await existingRecordings(store, recIds);
    const old = new Set(page.filter(({ modifiedAt }) => modifiedAt < before).map(({ key }) => key.split('/')[1]));
    for (const recId of recIds) {
      if (signal.aborted) return;
      if (existing.has(recId) || !old.has(recId)) continue;
      await uploaded.delete(recId);
      log.warn({ recording: recId }, 'objects without a recording deleted');
    }
    const { unmarked } = await uploadsAmong(store, recIds, silent);
    const whole = new Set(page.map(({ key }) => key));
    const complete = unmarked.filter((recId) => whole.has(indexKey(recId)));
    if (complete.length > 0) await markUploaded(store, complete, clock.now());
  }
}

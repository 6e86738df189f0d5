/** Where the files of a recording are: on its worker's disk until they are uploaded, then in object storage. */
import type { FileReply } from '../../../http/call.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Objects } from '../../../objects/objects.ts';
import { assetNames, openAsset } from '../assets.ts';
import { folderOf, hasFolder, removeFolder } from './folder.ts';
import type { RecordingRecord } from '../recording.ts';
import { UploadedRecordings } from './uploaded.ts';
import { reconcileObjects, removeUploaded, uploadRecordings, type UploadDeps } from './uploads.ts';

export interface RecordingFilesDeps extends Omit<UploadDeps, 'objects' | 'uploaded' | 'removeFolder'> {
  /** null: they stay on this worker's disk. */
  objects: Objects | null;
  /** Called when folders of uploaded recordings have been removed. */
  onRemoved(): Promise<void>;
}

const uploadMs = 10_000;
const reconcileMs = 6 * 3_600_000;

export class RecordingFiles {
  /** Empty without object storage. */
  readonly loops: readonly Loop[];
  /** Finished recordings that are on this disk alone, as far as it is known. */
  pending = 0;
  readonly #root: string;
  readonly #uploaded: UploadedRecordings | null;
  readonly #uploads: Loop | null;
  /** Open files and listings of folders, by recording. */
  readonly #readers = new Map<string, number>();
  /** Recordings whose folders are being removed. */
  readonly #removing = new Set<string>();

  constructor({ objects, ...deps }: RecordingFilesDeps) {
    this.#root = deps.root;
    this.#uploaded = objects && new UploadedRecordings(objects);
    const shared = objects && this.#uploaded && { ...deps, objects, uploaded: this.#uploaded };
    const upload = shared && { ...shared, removeFolder: (recId: string) => this.#removeFolder(recId) };
    this.#uploads = upload && new Loop('recording-uploads', uploadMs, (signal) => this.#upload(upload, deps, signal));
    this.loops =
      upload && this.#uploads
        ? [this.#uploads, new Loop('recording-objects', reconcileMs, (signal) => reconcileObjects(upload, signal))]
        : [];
  }

  /** Uploads what is finished, soon. */
  nudge(): void {
    this.#uploads?.nudge();
  }

  /** Resolves when nothing is being uploaded. */
  async idle(): Promise<void> {
    await this.#uploads?.idle();
  }

  /** The names of all assets, the player first. @throws ServiceError store_unavailable */
  async assetNames(record: RecordingRecord): Promise<string[]> {
    const close = this.#beginReading(record.recId);
    try {
      const uploaded = await this.#uploadedOf(record);
      return await (uploaded ? uploaded.assetNames(record.recId) : assetNames(folderOf(this.#root, record.recId)));
    } finally {
      close();
    }
  }

  /** The caller closes it. @throws ServiceError asset_not_found, store_unavailable */
  async open(record: RecordingRecord, name: string): Promise<FileReply> {
    const { recId } = record;
    const close = this.#beginReading(recId);
    try {
      const uploaded = await this.#uploadedOf(record);
      if (!uploaded) {
        const file = await openAsset(folderOf(this.#root, recId), name, record);
        return { ...file, close: () => file.close().finally(close) };
      }
      const file = await uploaded.open(record, name);
      close();
      return file;
    } catch (error) {
      close();
      throw error;
    }
  }

  /** @throws ServiceError store_unavailable */
  async deleteObjects(recId: string): Promise<void> {
    await this.#uploaded?.delete(recId);
  }

  /**
   * null: they are read from this disk. A folder may be removed between the reading of the row and that of its files, so
   * the caller has begun reading: of a folder whose removal had begun by then, a part may be gone.
   */
  async #uploadedOf({ recId, uploadedAt }: RecordingRecord): Promise<UploadedRecordings | null> {
    const isMoved = uploadedAt !== null || this.#removing.has(recId) || !(await hasFolder(folderOf(this.#root, recId)));
    return isMoved ? this.#uploaded : null;
  }

  /** Nobody begins to read a folder that is being removed. */
  async #removeFolder(recId: string): Promise<boolean> {
    if (this.#readers.has(recId)) return false;
    this.#removing.add(recId);
    try {
      await removeFolder(folderOf(this.#root, recId));
      return true;
    } finally {
      this.#removing.delete(recId);
    }
  }

  /** While a folder is read, it is not removed. */
  #beginReading(recId: string): () => void {
    this.#readers.set(recId, (this.#readers.get(recId) ?? 0) + 1);
    return () => {
      const left = (this.#readers.get(recId) ?? 1) - 1;
      if (left > 0) this.#readers.set(recId, left);
      else this.#readers.delete(recId);
    };
  }

  async #upload(upload: UploadDeps, { onRemoved }: Pick<RecordingFilesDeps, 'onRemoved'>, signal: AbortSignal): Promise<void> {
    try {
      await uploadRecordings(upload, signal, (count) => (this.pending = count));
    } finally {
      if (await removeUploaded(upload, signal)) await onRemoved();
    }
  }
}

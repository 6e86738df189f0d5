import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@berth/contract';
import type { DownloadInfo } from '@berth/devtools';
import type { FileReply } from '../../../http/call.ts';
import { NoSuchFileError, type OpenFile } from '@berth/machines';
import type { Machine } from '../../sessions/sessions.ts';

export interface DownloadedFile {
  download: DownloadInfo;
  file: OpenFile;
  /** Digest in hex. */
  sha256: string;
}

interface OpenOptions {
  digests: Digests;
  signal: AbortSignal;
}

/** @throws ServiceError download_not_found, download_not_ready */
export async function openDownload(machine: Machine, id: string, { digests, signal }: OpenOptions): Promise<DownloadedFile> {
  const download = machine.browser.downloads().find((candidate) => candidate.id === id);
  if (download?.status === 'in_progress')
    throw new ServiceError('download_not_ready', 'The download is still in progress. Wait for its `download.finished` event.', {
      details: { received_bytes: download.receivedBytes, total_bytes: download.totalBytes },
      retryAfterSeconds: 1,
    });
  if (!download || download.status !== 'completed') throw notFound(download);
  try {
    const sha256 = await digests.of(machine, id, signal);
    return { download, sha256, file: await machine.vm.files.openDownload(id) };
  } catch (error) {
    if (error instanceof NoSuchFileError) throw notFound(download, error);
    throw error;
  }
}

/** The site's content type is not trusted, so that no browser renders the file. */
export const toFileReply = ({ download, file }: DownloadedFile): FileReply => ({
  bytes: file.bytes,
  contentType: 'application/octet-stream',
  filename: download.suggestedFilename,
  stream: () => file.stream(),
  close: () => file.close(),
});

const notFound = (download: DownloadInfo | undefined, cause?: unknown): ServiceError =>
  new ServiceError('download_not_found', 'No such download, or its file no longer exists. List the downloads of the session.', {
    cause,
    details: download ? { status: download.status } : {},
  });

/** Caches the SHA-256 digests of completed downloads, which no longer change. */
export class Digests {
  readonly #cache = new WeakMap<Machine, Map<string, string>>();

  async of(machine: Machine, id: string, signal: AbortSignal): Promise<string> {
    const digests = this.#cache.get(machine) ?? new Map<string, string>();
    this.#cache.set(machine, digests);
    const cached = digests.get(id);
    if (cached !== undefined) return cached;
    const file = await machine.vm.files.openDownload(id);
    try {
      const hash = createHash('sha256');
      await pipeline(file.stream(), hash, { signal });
      const sha256 = hash.digest('hex');
      digests.set(id, sha256);
      return sha256;
    } finally {
      await file.close();
    }
  }
}

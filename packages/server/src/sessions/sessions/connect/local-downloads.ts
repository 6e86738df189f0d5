/**
 * Downloads for Playwright on this computer.
 *
 * Over DevTools, Playwright makes a folder for its connection, names it to the
 * browser and later looks there for each download, by its id. A browser in a
 * machine cannot write there, so the worker does it, where the service is only
 * reachable from this computer. It writes into nothing else: the name must be
 * one that Playwright makes up, in the folder for temporary files. See ADR 0049.
 */
import { constants } from 'node:fs';
import { open, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname } from 'node:path';
import { withFolder } from '@berth/guest';
import type { Machine } from '../../../fleet/pool/pool.ts';

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const folderName = /^playwright-artifacts-[A-Za-z0-9]{6}$/;

/** Whether a folder that a client names for downloads is one that Playwright has made on this computer. */
export const isPlaywrightFolder = (folder: string): boolean => dirname(folder) === tmpdir() && folderName.test(basename(folder));

/**
 * Copies a completed download into the folder, as a new file of whoever the folder belongs to. Does nothing for any other folder.
 * @throws Error where there is no such folder or download, or the file exists
 */
export async function copyDownload({ vm }: Machine, id: string, folder: string): Promise<void> {
  if (!isPlaywrightFolder(folder)) return;
  const file = await vm.files.openDownload(id);
  try {
    await withFolder(folder, async (bound) => {
      const { uid, gid } = await stat(bound);
      const copy = await open(`${bound}/${id}`, newFile, 0o600);
      try {
        await copy.chown(uid, gid);
        await writeFile(copy, file.stream());
      } finally {
        await copy.close();
      }
    });
  } finally {
    await file.close();
  }
}

/**
 * A machine's folder. It is created before the first process and removed after
 * the last. Its marker holds the owner and the process identity.
 */
import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeStaleDisplaySockets } from '@berth/guest';
import { isRoot } from './users.ts';

export interface MachineMarker {
  id: string;
  workerId: string;
  bootId: string;
  /** The user that the machine's programs run as. */
  uid: number;
  /** The outermost process; null until it has been started. */
  pid: number | null;
  startTime: string | null;
  /** A second folder for the browser's files, where its user cannot reach the first. */
  workPath: string | null;
}

/** The parent folder of all machine folders. */
export interface MachinesFolder {
  /** Real path, without links. */
  dataDir: string;
  /** Separates our machines' processes from those of another service on this host. */
  dataDigest: string;
}

/** Creates the folder if it is missing. */
export async function openMachinesFolder(path: string): Promise<MachinesFolder> {
  await mkdir(machinesPath(path), { recursive: true });
  await letBrowsersEnter(machinesPath(path));
  const dataDir = await realpath(path);
  return { dataDir, dataDigest: createHash('sha256').update(dataDir).digest('hex').slice(0, 16) };
}

/** Afterwards, because the umask cuts what `mkdir` is asked for: it is 0077 in the units of systemd. */
const letBrowsersEnter = (path: string): Promise<void> => chmod(path, 0o711);

const machinesPath = (dataDir: string): string => join(dataDir, 'machines');
export const machinePath = (dataDir: string, id: string): string => join(machinesPath(dataDir), id);
export const hostDownloadsPath = (dataDir: string, id: string): string => join(machinePath(dataDir, id), 'downloads');
export const hostUploadsPath = (dataDir: string, id: string): string => join(machinePath(dataDir, id), 'uploads');
/** Folder of the display's socket, for machines with a display. */
export const hostDisplayPath = (dataDir: string, id: string): string => join(machinePath(dataDir, id), 'display');
const markerPath = (dataDir: string, id: string): string => join(machinePath(dataDir, id), 'marker.json');

/** Creates the folder and its marker. @throws EEXIST when the id was used before */
export async function createMachineFolder(dataDir: string, marker: MachineMarker): Promise<void> {
  await mkdir(machinePath(dataDir, marker.id));
  await letBrowsersEnter(machinePath(dataDir, marker.id));
  await writeMarker(dataDir, marker);
}

/** Creates the folders that the worker shares with a browser running directly on this host. */
export async function createSharedFolders(dataDir: string, marker: MachineMarker): Promise<void> {
  // Closed to other users of the host. In its jail the browser has uploads read-only.
  for (const path of [hostDownloadsPath, hostUploadsPath, hostDisplayPath].map((pathOf) => pathOf(dataDir, marker.id))) {
    await mkdir(path, { mode: 0o700 });
    if (isRoot()) await chown(path, marker.uid, marker.uid);
  }
}

/** Replaces the marker atomically, so that a reader never sees half of it. */
export async function writeMarker(dataDir: string, marker: MachineMarker): Promise<void> {
  const path = markerPath(dataDir, marker.id);
  await writeFile(`${path}.new`, JSON.stringify(marker));
  await rename(`${path}.new`, path);
}

export async function readMarker(dataDir: string, id: string): Promise<MachineMarker | undefined> {
  try {
    return JSON.parse(await readFile(markerPath(dataDir, id), 'utf8')) as MachineMarker;
  } catch {
    // A worker that died before it wrote the marker leaves only the folder.
    return undefined;
  }
}

export async function listMachineFolders(dataDir: string): Promise<string[]> {
  const entries = await readdir(machinesPath(dataDir), { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Removes the folders, after all processes. Retries cover delays of the file system. */
export async function removeMachineFolder(dataDir: string, id: string): Promise<void> {
  const marker = await readMarker(dataDir, id);
  if (marker?.workPath) {
    await rm(marker.workPath, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    if (isRoot()) await removeStaleDisplaySockets(marker.uid);
  }
  await rm(machinePath(dataDir, id), { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
}

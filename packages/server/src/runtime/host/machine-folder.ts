/**
 * A machine's folder: the anchor that is there before the first process and
 * gone after the last. Its marker says whose it is and which incarnation.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, realpath, rename, rm, writeFile, chown } from 'node:fs/promises';
import { join } from 'node:path';
import { removeDisplayRemains } from '@berth/guest';
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
  /** A second folder for the browser's own files, where it cannot reach the first. */
  workPath: string | null;
}

/** Where machines have their folders. */
export interface MachinesPlace {
  /** Without links. */
  dataDir: string;
  /** Tells our machines' processes from those of another service on this host. */
  dataDigest: string;
}

/** Makes the folder of machines where there is none yet. */
export async function openMachinesPlace(path: string): Promise<MachinesPlace> {
  await mkdir(machinesPath(path), { recursive: true, mode: 0o711 });
  const dataDir = await realpath(path);
  return { dataDir, dataDigest: createHash('sha256').update(dataDir).digest('hex').slice(0, 16) };
}

const machinesPath = (dataDir: string): string => join(dataDir, 'machines');
export const machinePath = (dataDir: string, id: string): string => join(machinesPath(dataDir), id);
export const hostDownloadsPath = (dataDir: string, id: string): string => join(machinePath(dataDir, id), 'downloads');
export const hostUploadsPath = (dataDir: string, id: string): string => join(machinePath(dataDir, id), 'uploads');
/** Where the machine has its display's socket, when it has a display. */
export const hostDisplayPath = (dataDir: string, id: string): string => join(machinePath(dataDir, id), 'display');
const markerPath = (dataDir: string, id: string): string => join(machinePath(dataDir, id), 'marker.json');

/** The folder and its marker. Throws EEXIST when the id was used before. */
export async function createMachineFolder(dataDir: string, marker: MachineMarker): Promise<void> {
  await mkdir(machinePath(dataDir, marker.id), { mode: 0o711 });
  await writeMarker(dataDir, marker);
}

/** For a browser that runs on this host itself: what it and the worker reach of each other's files. */
export async function createSharedFolders(dataDir: string, marker: MachineMarker): Promise<void> {
  for (const path of [hostDownloadsPath(dataDir, marker.id), hostDisplayPath(dataDir, marker.id)]) {
    await mkdir(path, { mode: 0o700 });
    if (isRoot()) await chown(path, marker.uid, marker.uid);
  }
  // What the worker puts in, the browser may read and nothing else.
  await mkdir(hostUploadsPath(dataDir, marker.id), { mode: 0o755 });
}

/** Written aside and moved into place, so that a reader never meets half a marker. */
export async function writeMarker(dataDir: string, marker: MachineMarker): Promise<void> {
  const path = markerPath(dataDir, marker.id);
  await writeFile(`${path}.new`, JSON.stringify(marker));
  await rename(`${path}.new`, path);
}

export async function readMarker(dataDir: string, id: string): Promise<MachineMarker | undefined> {
  try {
    return JSON.parse(await readFile(markerPath(dataDir, id), 'utf8')) as MachineMarker;
  } catch {
    // A worker that died between folder and marker leaves none; the folder is then all there is.
    return undefined;
  }
}

export async function listMachineFolders(dataDir: string): Promise<string[]> {
  const entries = await readdir(machinesPath(dataDir), { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** The folders go last of all: what holds them open is dead by now, so a retry is for the file system's sake only. */
export async function removeMachineFolder(dataDir: string, id: string): Promise<void> {
  const marker = await readMarker(dataDir, id);
  if (marker?.workPath) {
    await rm(marker.workPath, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    if (isRoot()) await removeDisplayRemains(marker.uid);
  }
  await rm(machinePath(dataDir, id), { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
}

/** `recording.json`: describes a recording to readers that have only its files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordingStatus, RecordingVideo } from '@berth/contract';
import { fileNames } from './assets.ts';
import { readText, replaceFile } from './files/folder.ts';
import type { RecordingRecord } from './recording.ts';

const infoName = 'recording.json';
const bytesMax = 64 * 1024;

export interface RecordingInfo {
  rec_id: string;
  session_id: string;
  status: RecordingStatus;
  video: RecordingVideo | null;
  started_at: string;
  ended_at: string | null;
  duration_ms: number;
  size_bytes: number;
  truncated: boolean;
  /** File names, without video segments, which the playlist lists. */
  assets: string[];
}

export const toRecordingInfo = (record: RecordingRecord, assets: string[]): RecordingInfo => ({
  rec_id: record.recId,
  session_id: record.sessionId,
  status: record.status,
  video: record.video,
  started_at: record.startedAt.toISOString(),
  ended_at: record.endedAt?.toISOString() ?? null,
  duration_ms: record.durationMs,
  size_bytes: record.sizeBytes,
  truncated: record.truncated,
  assets,
});

/** Writes the first version synchronously, before the recording can be requested. The folder must be new. */
export const writeInitialInfo = (folder: string, record: RecordingRecord): void =>
  writeFileSync(join(folder, infoName), serializeInfo(record, [infoName]), { flag: 'wx', mode: 0o600 });

export async function writeInfo(folder: string, record: RecordingRecord): Promise<void> {
  await replaceFile(folder, infoName, serializeInfo(record, [...new Set([infoName, ...(await fileNames(folder))])]));
}

/** Returns null when the file is missing or not valid JSON. */
export async function readInfo(folder: string): Promise<RecordingInfo | null> {
  try {
    const text = await readText(folder, infoName, bytesMax);
    return text === null ? null : (JSON.parse(text) as RecordingInfo);
  } catch {
    return null;
  }
}

const serializeInfo = (record: RecordingRecord, assets: string[]): string => `${JSON.stringify(toRecordingInfo(record, assets))}\n`;

/** `recording.json`: what a recording says of itself to whoever has its files and nothing else. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordingStatus, RecordingVideo } from '@berth/contract';
import { fileNames } from './assets.ts';
import { readText, replaceFile } from './folder.ts';
import type { RecordingRecord } from './recording.ts';

const factsName = 'recording.json';
const bytesMax = 64 * 1024;

export interface RecordingFacts {
  rec_id: string;
  session_id: string;
  status: RecordingStatus;
  video: RecordingVideo | null;
  started_at: string;
  ended_at: string | null;
  duration_ms: number;
  size_bytes: number;
  truncated: boolean;
  /** Names of its files, without the segments of a video: its playlist has them. */
  assets: string[];
}

export const toFacts = (record: RecordingRecord, assets: string[]): RecordingFacts => ({
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

/** The first of them, before anybody can ask. The folder must be new. */
export const writeFirstFacts = (folder: string, record: RecordingRecord): void =>
  writeFileSync(join(folder, factsName), textOf(record, [factsName]), { flag: 'wx', mode: 0o600 });

export async function writeFacts(folder: string, record: RecordingRecord): Promise<void> {
  await replaceFile(folder, factsName, textOf(record, [...new Set([factsName, ...(await fileNames(folder))])]));
}

/** null where there are none, or not whole. */
export async function readFacts(folder: string): Promise<RecordingFacts | null> {
  try {
    const text = await readText(folder, factsName, bytesMax);
    return text === null ? null : (JSON.parse(text) as RecordingFacts);
  } catch {
    return null;
  }
}

const textOf = (record: RecordingRecord, assets: string[]): string => `${JSON.stringify(toFacts(record, assets))}\n`;

/** The entry point of a report thread: one report per call. */
import type { MessagePort } from 'node:worker_threads';
import { toPieces, type Piece } from '@berth/lib/turns/pieces.ts';
import { readHar } from './har/read-har.ts';
import { type Capture, fitReport, createReport, type Report, type ReportOptions } from '@berth/site-report';

/** A capture, or an uploaded HAR as an object or its text. */
export type ReportSource = { capture: Capture } | { har: unknown; maxBodyBytes: number };

/** The source as it reaches the thread: JSON, which costs the main thread no turn of its event loop. */
type SourceText = { capture: string } | { har: string; maxBodyBytes: number };

export interface ReportTask {
  source: SourceText;
  options: ReportOptions;
  /** Gets a message when the work begins, after the thread's start. */
  started?: MessagePort;
}

/** A HAR that cannot be read has a message for the caller. */
export type ReportResult = { pieces: Piece[] } | { problem: string };

export default function run({ source, options, started }: ReportTask): ReportResult {
  started?.postMessage(null, []);
  if ('capture' in source) return toResult(createReport(JSON.parse(source.capture) as Capture, options));
  const reading = readHar(source.har, { bodyBytesMax: options.capture_bodies === 'none' ? 0 : source.maxBodyBytes });
  return 'problem' in reading ? reading : toResult(createReport(reading.capture, options));
}

const toResult = (report: Report): ReportResult => ({ pieces: toPieces(fitReport(report)) });

/** The entry point of a report thread: one report per call. */
import type { MessagePort } from 'node:worker_threads';
import { readHar } from './har/read-har.ts';
import type { Capture } from './model.ts';
import { createReport, type Report, type ReportOptions } from './report/report.ts';

/** A capture, or an uploaded HAR as an object or its text. */
export type ReportSource = { capture: Capture } | { har: unknown; maxBodyBytes: number };

export interface ReportTask {
  source: ReportSource;
  options: ReportOptions;
  /** Gets a message when the work begins, after the thread's start. */
  started?: MessagePort;
}

/** A HAR that cannot be read has a message for the caller. */
export type ReportResult = { report: Report } | { problem: string };

export default function run({ source, options, started }: ReportTask): ReportResult {
  started?.postMessage(null, []);
  if ('capture' in source) return { report: createReport(source.capture, options) };
  const reading = readHar(source.har, { bodyBytesMax: options.capture_bodies === 'none' ? 0 : source.maxBodyBytes });
  return 'problem' in reading ? reading : { report: createReport(reading.capture, options) };
}

/** A completed inspection, for the metrics. */

export const inspectionStatuses = ['ok', 'blocked', 'error', 'cancelled'] as const;

export interface CompletedInspection {
  status: (typeof inspectionStatuses)[number];
  durationMs: number;
  /** Making the report, with the wait for a thread; null where none was made. */
  reportMs: number | null;
}

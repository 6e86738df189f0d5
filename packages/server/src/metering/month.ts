/** Months of the calendar in UTC, whatever the time zone of the machine or of the owner. */

/** `2026-11`: as text it sorts as in time. */
export const monthOf = (at: Date): string => at.toISOString().slice(0, 7);

/** The first instant of the month that is `distance` months after that of `at`. */
export const monthFrom = (at: Date, distance: number): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + distance, 1));

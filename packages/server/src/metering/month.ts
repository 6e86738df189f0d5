/** Calendar months in UTC. */

/** `2026-11`: sorts as text. */
export const monthOf = (at: Date): string => at.toISOString().slice(0, 7);

/** The first instant of the month that is `distance` months after that of `at`. */
export const monthFrom = (at: Date, distance: number): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + distance, 1));

/** One day. */
const retryAfterSecondsMax = 86_400;

/** Parses `Retry-After` (RFC 9110): seconds, or a date relative to the response's own `Date`. null when absent or invalid. */
export function retryAfterSeconds(headers: Readonly<Record<string, string>>): number | null {
  const value = headers['retry-after']?.trim() ?? '';
  const seconds = /^\d{1,9}$/.test(value) ? Number(value) : (Date.parse(value) - Date.parse(headers['date'] ?? '')) / 1000;
  return Number.isFinite(seconds) ? Math.min(retryAfterSecondsMax, Math.max(0, Math.round(seconds))) : null;
}

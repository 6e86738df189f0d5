/** Runs work under a signal that aborts with the given one, or with `reason` when the time has passed. */
export async function withDeadline<T>(
  signal: AbortSignal,
  { ms, reason }: { ms: number; reason: () => Error },
  work: (either: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(reason()), ms);
  try {
    return await work(AbortSignal.any([signal, deadline.signal]));
  } finally {
    clearTimeout(timer);
  }
}

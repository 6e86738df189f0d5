/** Waits for work that cannot be told to stop, and no longer than until the signal comes. Throws the signal's reason, or what the work throws. */
export function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    const done = (): void => signal.removeEventListener('abort', onAbort);
    work
      .then(resolve, reject)
      .finally(done)
      .catch(() => undefined);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

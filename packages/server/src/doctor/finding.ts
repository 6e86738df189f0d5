/** What the doctor finds. */
export interface Finding {
  check: string;
  status: 'ok' | 'warning' | 'problem';
  /** What was found. */
  note: string;
  /** What it costs, and what to do. */
  advice?: string;
  /** What to do where nothing is a problem. */
  next?: string;
}

export const ok = (check: string, note: string): Finding => ({ check, status: 'ok', note });
export const warning = (check: string, note: string, advice?: string): Finding => ({
  check,
  status: 'warning',
  note,
  ...(advice ? { advice } : {}),
});
export const problem = (check: string, note: string, advice?: string): Finding => ({
  check,
  status: 'problem',
  note,
  ...(advice ? { advice } : {}),
});

/** What a step of the start refuses is a problem in its own words. */
export async function attempt<T>(check: string, step: () => Promise<T> | T): Promise<{ value: T } | { refused: Finding }> {
  try {
    return { value: await step() };
  } catch (error) {
    return { refused: problem(check, error instanceof Error ? error.message : String(error)) };
  }
}

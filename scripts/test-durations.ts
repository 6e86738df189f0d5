/** A reporter for the test runner: one line of JSON for each test file, `{file, ms}`, whether it ran alone or in a batch. */
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

export interface FileDuration {
  file: string;
  ms: number;
}

export default async function* durations(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    const line = (file: string, ms: number): string => `${JSON.stringify({ file, ms: Math.round(ms) } satisfies FileDuration)}\n`;
    if (type === 'test:summary' && data.file !== undefined) yield line(relative(process.cwd(), data.file), data.duration_ms);
    const isBatched = (type === 'test:pass' || type === 'test:fail') && data.nesting === 0 && data.name.endsWith('.test.ts');
    if (isBatched) yield line(data.name, data.details.duration_ms);
  }
}

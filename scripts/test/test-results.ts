/** A reporter for the test runner: one line of JSON for each test file, whether it ran alone or in a batch. */
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

export interface FileResult {
  file: string;
  ms: number;
  passed: boolean;
}

export default async function* results(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    const line = (result: FileResult): string => `${JSON.stringify(result)}\n`;
    if (type === 'test:summary' && data.file !== undefined && !data.file.endsWith('test-batch.ts'))
      yield line({ file: relative(process.cwd(), data.file), ms: data.duration_ms, passed: data.success });
    // A batch has a suite for each file, which bears the file's name.
    if ((type === 'test:pass' || type === 'test:fail') && data.nesting === 0 && /\.(?:test|microvm)\.ts$/.test(data.name))
      yield line({ file: data.name, ms: data.details.duration_ms, passed: type === 'test:pass' });
  }
}

/** Ends a process of tests that something holds open after the last one: a file whose `before` failed closes nothing. */
import { after } from 'node:test';

const reportMsMax = 2000;
let isWatching = false;

/** Called at the top of a test's process. Its exit code is 1 when it was held open longer than what a file has closed takes to be gone. */
export function endAfterTests(graceMs = 30_000): void {
  if (isWatching) return;
  isWatching = true;
  after(() => {
    const end = (): void => {
      console.error(`The tests are over, but this holds their process open: ${process.getActiveResourcesInfo().join(', ')}`);
      process.exitCode = 1;
      // The runner writes its report when nothing holds the process open any more.
      process.emit('beforeExit', 1);
      setTimeout(() => process.exit(), reportMsMax).unref();
    };
    // Does not hold it open itself.
    setTimeout(end, graceMs).unref();
  });
}
